//===- ReplayTest.cpp - Steps in time -------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;

namespace {

constexpr unsigned n = 24;

TEST(Replay, DependentStepsTakeTheirLatencies) {
  Kernel kernel{repeat(n, "fma.rn.f32 %f1, %f1, %f1, %f1;")};
  EXPECT_EQ(clocksOf(kernel), n * figure(Figure::FmaLatency));
}

TEST(Replay, IndependentStepsTakeTheIntervalsOfTheirPipe) {
  Kernel kernel{repeat(n, "ex2.approx.f32 %f#, %f200;")};
  double expected =
      (n - 1) * figure(Figure::MufuInterval) + figure(Figure::MufuLatency);
  EXPECT_EQ(clocksOf(kernel), expected);
}

TEST(Replay, ASubPartitionIssuesOneStepAClock) {
  // Two pipes that alone would take no longer: FMA 1 clock, ALU 2 clocks.
  std::string body = repeat(n, "fma.rn.f32 %f#, %f200, %f200, %f200;\n"
                               "fma.rn.f32 %f2#, %f200, %f200, %f200;\n"
                               "xor.b32 %r#, %r200, 1;");
  Recording recording = record({body});
  EXPECT_EQ(schedule(recording, *figuresOf("sm_100a", Level::Middle)).clocks,
            3 * n + figure(Figure::AluLatency) - 1);
}

TEST(Replay, WarpsShareThePipesOfTheirSubPartition) {
  std::string body = repeat(n, "ex2.approx.f32 %f#, %f200;");
  double one = clocksOf({body, 32});
  EXPECT_EQ(clocksOf({body, 128}), one);
  EXPECT_EQ(clocksOf({body, 256}), one + n * figure(Figure::MufuInterval));
}

TEST(Replay, YoungerWarpsHaveMoreTurns) {
  // results/h200-issue-order-2026-11-30.csv: two warps that began together end
  // after 944 and 1028 clocks.
  std::string body = repeat(64, "ex2.approx.ftz.f32 %f#, %f200;");
  Recording recording = record({body, 256, "sm_90a"});
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  double older = 0, younger = 0;
  for (size_t i = 0; i < recording.warps.size(); ++i) {
    double &end = recording.warps[i].warp < 4 ? older : younger;
    end = std::max(end, steps.steps[i].back().issue);
  }
  EXPECT_NEAR(younger / older, 944.0 / 1028, 0.03);
}

/// Returns when the last exponential of each of three CTAs issues, which have
/// `warps` warps on a sub-partition each.
std::vector<double> endsOfCtas(unsigned warps) {
  Kernel kernel{repeat(240, "ex2.approx.ftz.f32 %f#, %f250;"), 128 * warps,
                "sm_90a"};
  kernel.ctas = 3;
  Recording recording = record(kernel);
  Figures figures = *figuresOf("sm_90a", Level::Middle);
  figures[Figure::OldestCtaIssues] = 2;
  Schedule steps = schedule(recording, figures);
  std::vector<double> ends(3);
  for (size_t i = 0; i < recording.warps.size(); ++i)
    for (const Timed &step : steps.steps[i])
      ends[recording.warps[i].cluster] =
          std::max(ends[recording.warps[i].cluster], step.issue);
  return ends;
}

TEST(Replay, OlderCtasIssueFirst) {
  // results/h200-cta-order-2026-11-30.csv: with one warp each on a
  // sub-partition, the oldest of three has about two thirds of the turns and
  // the second most of the others; with two warps each, younger ones have next
  // to none until the older ones have ended.
  std::vector<double> one = endsOfCtas(1), two = endsOfCtas(2);
  double all = 3 * 240 * 8, both = 2 * all;
  EXPECT_NEAR(one[0], all / 2, all / 16);
  EXPECT_NEAR(one[2], all, all / 8);
  EXPECT_LT(one[0], one[1]);
  EXPECT_NEAR(two[0], both / 3, both / 16);
  EXPECT_NEAR(two[1], 2 * both / 3, both / 16);
  EXPECT_NEAR(two[2], both, both / 8);
}

TEST(Replay, IndependentWorkPassesALongLatency) {
  // The exponential and its use come first in the text. The chain needs
  // neither, and loses a clock to each.
  std::string chain = repeat(n, "fma.rn.f32 %f1, %f1, %f1, %f1;");
  std::string use = "ex2.approx.f32 %f2, %f3;\nadd.f32 %f4, %f2, %f2;\n";
  EXPECT_EQ(clocksOf({use + chain}), n * figure(Figure::FmaLatency) + 2);
}

TEST(Replay, NothingPassesABranch) {
  std::string chain = repeat(n, "fma.rn.f32 %f1, %f1, %f1, %f1;");
  // Lanes fall through; the second chain needs nothing from the first.
  std::string other = repeat(n, "fma.rn.f32 %f2, %f2, %f2, %f2;");
  std::string branch = "setp.eq.f32 %p1, %f1, 0f40000000;\n@%p1 bra END;\n";
  double together = clocksOf({chain + other});
  double apart = clocksOf({chain + branch + other + "END:\n"});
  EXPECT_LT(together, 1.2 * n * figure(Figure::FmaLatency));
  EXPECT_GE(apart, 2 * n * figure(Figure::FmaLatency));
}

TEST(Replay, TheWindowBoundsHowFarStepsAreReordered) {
  std::string chain = repeat(n, "fma.rn.f32 %f1, %f1, %f1, %f1;");
  std::string other = repeat(n, "fma.rn.f32 %f2, %f2, %f2, %f2;");
  Recording recording = record({chain + other});
  Figures figures = *figuresOf("sm_100a", Level::Middle);
  double wide = schedule(recording, figures).clocks;
  figures[Figure::Window] = 1;
  double narrow = schedule(recording, figures).clocks;
  EXPECT_EQ(narrow, (2 * n - 1) * figure(Figure::FmaLatency) + 1);
  EXPECT_LT(wide, narrow);
}

TEST(Replay, PairedRegistersCostNothing) {
  std::string body = "cvt.u64.u32 %q1, %r1;\nshl.b64 %q2, %q1, 32;\n"
                     "cvt.u64.u32 %q3, %r2;\nor.b64 %q4, %q2, %q3;\n";
  EXPECT_EQ(clocksOf({body}), 0);
  EXPECT_GT(clocksOf({"shl.b64 %q2, %q1, 3;\n"}), 0);
}

TEST(Replay, BankConflictsTakeOneClockARow) {
  auto loads = [](unsigned stride) {
    return "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, " +
           std::to_string(stride) +
           ";\nmov.u32 %r3, smem;\nadd.u32 %r3, %r3, %r2;\n" +
           repeat(n, "ld.shared.b32 %r1#, [%r3];");
  };
  // All in one bank: 32 rows in place of one.
  EXPECT_EQ(clocksOf({loads(128)}) - clocksOf({loads(4)}), n * 31);
}

TEST(Replay, LoadsOfAKnownLineComeFromL2) {
  Kernel kernel{"ld.param.u64 %q1, [in];\nld.global.b32 %r1, [%q1];\n"
                "ld.global.b32 %r2, [%q1];\n"};
  kernel.parameters = ".param .u64 in";
  Device device;
  kernel.values = {bytesOf(device.allocate(4096))};
  Recording recording = record(kernel, device);
  Schedule steps = schedule(recording, *figuresOf("sm_100a", Level::Middle));
  const std::vector<Timed> &timed = steps.steps[0];
  ASSERT_EQ(timed.size(), 4u);
  double sector = 32 / figure(Figure::TmaBytes);
  EXPECT_DOUBLE_EQ(timed[1].end, sector + figure(Figure::DramLatency));
  EXPECT_DOUBLE_EQ(timed[2].end - timed[2].issue,
                   sector + figure(Figure::L2Latency));
}

TEST(Replay, NothingComesFromDeviceMemoryIfL2IsWarm) {
  Kernel kernel{"ld.param.u64 %q1, [in];\nld.global.b32 %r1, [%q1];\n"};
  kernel.parameters = ".param .u64 in";
  Device device;
  kernel.values = {bytesOf(device.allocate(4096))};
  Recording recording = record(kernel, device, true);
  EXPECT_EQ(recording.loadedBytes, 0u);
  Schedule steps = schedule(recording, *figuresOf("sm_100a", Level::Middle));
  EXPECT_DOUBLE_EQ(steps.steps[0][1].end,
                   32 / figure(Figure::TmaBytes) + figure(Figure::L2Latency));
}

/// Products of 128 x 128 x 16 one after the other, of one thread.
std::string products(unsigned count) {
  return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], "
         "128;\nld.shared.b32 %r1, [smem];\nmov.u32 %r2, %tid.x;\n"
         "setp.ne.u32 %p1, %r2, 0;\nmov.b64 %q1, 0x4000404000010040;\n"
         "@%p1 bra DONE;\nmbarrier.init.shared::cta.b64 [smem+8], 1;\n"
         "setp.ne.u32 %p2, %r2, %r2;\n" +
         repeat(count, "tcgen05.mma.cta_group::1.kind::f16 [%r1], %q1, %q1, "
                       "0x08200490, %p2;") +
         "mov.u32 %r3, smem;\nadd.u32 %r3, %r3, 8;\n"
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
         "b64 [%r3];\n" +
         waitFor(8, "0", "WAIT") +
         "DONE:\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;\n";
}

TEST(Replay, ProductsFollowOneAnother) {
  double each = 128 / figure(Figure::MmaColumns) + figure(Figure::MmaExtra);
  EXPECT_NEAR(clocksOf({products(20)}) - clocksOf({products(10)}), 10 * each,
              1);
}

TEST(Replay, AProductAndItsWaitTakeWhatIsMeasured) {
  // SemiAnalysis: 136 clocks and N / 2 from the issue to the end of the wait.
  Recording recording = record({products(1)});
  Schedule steps = schedule(recording, *figuresOf("sm_100a", Level::Middle));
  double issue = 0, end = 0;
  for (size_t i = 0; i < steps.steps[0].size(); ++i) {
    const Code &code = recording.codes[recording.warps[0].steps[i].code];
    if (code.of->action == Action::Mma)
      issue = steps.steps[0][i].issue;
    if (code.of->name == "Wait")
      end = steps.steps[0][i].end;
  }
  EXPECT_NEAR(end - issue, 136 + 64, 2);
}

/// A warp that issues two products of one shape, without a program.
Recording twoProducts(const ProductShape &shape) {
  Recording recording;
  timing::Code code;
  code.opcode = "tcgen05.mma";
  code.of = &classOf(code.opcode);
  recording.codes = {code};
  recording.warps.resize(1);
  WarpRecord &warp = recording.warps[0];
  warp.steps.resize(2);
  for (uint32_t step : {0u, 1u}) {
    Fact fact;
    fact.step = step;
    fact.kind = Fact::Kind::Product;
    fact.shape = shape;
    warp.facts.push_back(fact);
  }
  return recording;
}

TEST(Replay, ProductsTakeTheMeasuredClocks) {
  // SemiAnalysis' microbench-blackwell: m, n, CTAs, A in tensor memory, clocks.
  const std::tuple<ProductShape, double> measured[] = {
      {{128, 64, 1, false}, 48.6},   {{128, 80, 1, false}, 52.6},
      {{128, 112, 1, false}, 60.6},  {{128, 128, 1, false}, 64.6},
      {{128, 256, 1, false}, 128.6}, {{64, 64, 1, false}, 32.6},
      {{64, 128, 1, false}, 64.6},   {{128, 64, 1, true}, 32.5},
      {{128, 96, 1, true}, 48.5},    {{128, 256, 1, true}, 128.5},
      {{256, 128, 2, false}, 64.8},  {{256, 256, 2, false}, 128.8},
      {{128, 64, 2, false}, 25.7},   {{128, 256, 2, false}, 64.7}};
  for (const auto &[shape, clocks] : measured) {
    Recording recording = twoProducts(shape);
    Schedule steps = schedule(recording, *figuresOf("sm_100a", Level::Middle));
    EXPECT_NEAR(steps.steps[0][1].end - steps.steps[0][0].end, clocks, 1.2)
        << shape.m << " x " << shape.n << ", " << shape.ctas << " CTAs";
  }
}

TEST(Replay, WgmmaOccupiesTheTensorCoreOfEachSubPartition) {
  auto body = [](unsigned count) {
    std::string d = "{";
    for (unsigned i = 0; i < 64; ++i)
      d += (i ? ", %f" : "%f") + std::to_string(i);
    return "mov.b64 %q1, 0x0000001000080040;\nwgmma.fence.sync.aligned;\n" +
           repeat(count,
                  "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " + d +
                      "}, %q1, %q1, 0, 1, 1, 0, 0;") +
           "wgmma.commit_group.sync.aligned;\n"
           "wgmma.wait_group.sync.aligned 0;\n";
  };
  double each = 64 + figure(Figure::WgmmaExtra, "sm_90a");
  double ten = clocksOf({body(10), 128, "sm_90a"});
  EXPECT_NEAR(clocksOf({body(20), 128, "sm_90a"}) - ten, 10 * each, 1);
  // Another warpgroup has the same tensor cores.
  EXPECT_NEAR(clocksOf({body(10), 256, "sm_90a"}) - ten, 10 * each, 2);
}

TEST(Replay, AWaitForOlderProductsOverlapsNewerOnes) {
  // After the first of two groups a chain runs, shorter than the second group,
  // which accumulates to the same registers.
  std::string d = "{";
  for (unsigned i = 0; i < 64; ++i)
    d += (i ? ", %f" : "%f") + std::to_string(i);
  std::string group =
      repeat(8, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " + d +
                    "}, %q1, %q1, 1, 1, 1, 0, 0;") +
      "wgmma.commit_group.sync.aligned;\n";
  std::string body = "mov.b64 %q1, 0x0000001000080040;\n"
                     "mov.f32 %f100, 0f3F800000;\n"
                     "wgmma.fence.sync.aligned;\n" +
                     group + group + "wgmma.wait_group.sync.aligned 1;\n" +
                     repeat(100, "fma.rn.f32 %f100, %f100, %f100, %f100;") +
                     "wgmma.wait_group.sync.aligned 0;\n";
  double each = 64 + figure(Figure::WgmmaExtra, "sm_90a");
  EXPECT_NEAR(clocksOf({body, 128, "sm_90a"}), 16 * each, 100);
}

TEST(Replay, AWaitForWgmmaIsForAllWarpsOfTheGroup) {
  // Warp 0 comes late; the products of its warpgroup end with its part. The
  // newest group has no products.
  std::string d = "{";
  for (unsigned i = 0; i < 4; ++i)
    d += (i ? ", %f" : "%f") + std::to_string(i);
  std::string body =
      "mov.b64 %q1, 0x0000001000080040;\nmov.u32 %r1, %tid.x;\n"
      "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra GROUP;\n" +
      repeat(n, "ex2.approx.f32 %f200, %f200;") +
      "setp.eq.f32 %p2, %f200, 0f7f800000;\n@%p2 bra GROUP;\nGROUP:\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " +
      d +
      "}, %q1, %q1, 0, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n";
  Recording recording = record({body, 128, "sm_90a"});
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  double late = n * figure(Figure::MufuLatency, "sm_90a");
  for (const std::vector<Timed> &warp : steps.steps)
    EXPECT_GT(warp[warp.size() - 2].end, late);
}

TEST(Replay, TensorMemoryMovesItsBytesAClock) {
  std::string alloc =
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 128;\n"
      "ld.shared.b32 %r1, [smem];\n";
  std::string free =
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;\n";
  std::string d = "{";
  for (unsigned i = 0; i < 32; ++i)
    d += (i ? ", %r1" : "%r1") + std::to_string(i + 10);
  std::string load =
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 " + d + "}, [%r1];\n";
  std::string wait = "tcgen05.wait::ld.sync.aligned;\n";
  double one = clocksOf({alloc + repeat(1, load) + wait + free});
  double nine = clocksOf({alloc + repeat(9, load) + wait + free});
  EXPECT_NEAR(nine - one, 8 * 32 * 128 / figure(Figure::TmemBytes), 1);
}

} // namespace

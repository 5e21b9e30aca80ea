//===- ProductsTest.cpp - wgmma while other warps work --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected clocks are rows of results/h200-wgmma-speed-2026-11-28.csv, and of
// results/h200-wgmma-small-2026-11-29.csv for products of few columns.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include <algorithm>
#include <limits>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;

namespace {

/// Two warpgroups with `products` each, and one that does `work` meanwhile.
Kernel kernelOf(unsigned products, const std::string &work) {
  return {"mov.b64 %q1, 0x0000001000080040;\nmov.u32 %r1, %tid.x;\n"
          "setp.ge.u32 %p1, %r1, 256;\n@%p1 bra WORK;\n" +
              chain(products) + "bra DONE;\nWORK:\n" + work + "DONE:\n",
          384, "sm_90a"};
}

/// When the last step ends of the warps that multiply, and of those that work.
struct Ends {
  double products = 0, work = 0;
};

Ends endsOf(const Kernel &kernel) {
  Recording recording = record(kernel);
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  Ends ends;
  for (size_t i = 0; i < recording.warps.size(); ++i) {
    double &end = recording.warps[i].warp < 8 ? ends.products : ends.work;
    for (const Timed &step : steps.steps[i])
      end = std::max(end, step.end);
  }
  return ends;
}

constexpr unsigned kProducts = 32, kWork = 960;
const std::string kFma = "fma.rn.f32 %f1#, %f1#, %f0, %f0;\n",
                  kMax = "max.f32 %f1#, %f1#, %f0;\n",
                  kExp = "ex2.approx.ftz.f32 %f1#, %f1#;\n";

/// `count` steps on 96 registers.
std::string steps(unsigned count, const std::string &step) {
  std::string text;
  for (unsigned i = 0; i < count / 96; ++i)
    text += repeat(96, step);
  return text;
}

TEST(Products, FmasInARowDelayThem) {
  double alone = endsOf(kernelOf(kProducts, "")).products;
  double delayed = endsOf(kernelOf(kProducts, steps(kWork, kFma))).products;
  // Measured: 64 clocks for 64 FMAs.
  EXPECT_NEAR(delayed - alone, kWork, 0.25 * kWork);
}

TEST(Products, OtherPipesGiveWay) {
  double alone = endsOf(kernelOf(kProducts, "")).products;
  for (const std::string &step : {kMax, kExp}) {
    double delayed = endsOf(kernelOf(kProducts, steps(288, step))).products;
    EXPECT_NEAR(delayed, alone, 8) << step;
  }
}

TEST(Products, OtherPipesAreSlower) {
  // Measured: 262 clocks in place of 132 for 64 maxima, 687 in place of 516 for
  // 64 exponentials, 87 in place of 69 for 64 FMAs in a row.
  for (auto [step, least, most] :
       {std::tuple(kMax, 1.93, 2.05), std::tuple(kExp, 1.31, 1.36),
        std::tuple(kFma, 1.26, 1.55)}) {
    double alone = endsOf(kernelOf(0, steps(192, step))).work;
    double slower = endsOf(kernelOf(kProducts, steps(192, step))).work;
    EXPECT_GT(slower / alone, least) << step;
    EXPECT_LT(slower / alone, most) << step;
  }
}

TEST(Products, ExponentialsOfAWarpDoNotOverlapWithItsFmas) {
  // Measured: 782.6 clocks for 64 FMAs and exponentials, 687 for the
  // exponentials alone; 535.6 and 516 without products.
  std::string both = kFma + "ex2.approx.ftz.f32 %f2#, %f2#;\n";
  for (auto [products, measured] :
       {std::pair(kProducts, 782.6 / 687.2), {0u, 535.6 / 515.6}}) {
    double fast = endsOf(kernelOf(products, steps(192, kExp))).work;
    double slow = endsOf(kernelOf(products, steps(192, both))).work;
    EXPECT_NEAR(slow / fast, measured, 0.04) << products;
  }
}

TEST(Products, MaximaAddToTheDelayByFmas) {
  // Measured: 192 clocks for 64 times FMA, maximum and FMA; 128 of them are the
  // FMAs'.
  std::string three = kFma + kMax + kFma;
  double alone = endsOf(kernelOf(kProducts, "")).products;
  double delayed = endsOf(kernelOf(kProducts, steps(384, three))).products;
  EXPECT_NEAR((delayed - alone) / 384, 192. / 64, 0.6);
}

TEST(Products, AreAheadOfShortBursts) {
  // Measured: 6 clocks for a burst of 64 FMAs and a pause of ten exponentials.
  auto bursts = [](unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += repeat(64, kFma) + "@%p9 bra DONE;\n" +
              repeat(10, "ex2.approx.ftz.f32 %f299, %f299;") +
              "@%p9 bra DONE;\n";
    return "setp.ne.u32 %p9, %r1, %r1;\n" + text;
  };
  double alone = endsOf(kernelOf(kProducts, "")).products;
  double delayed = endsOf(kernelOf(kProducts, bursts(5))).products;
  EXPECT_LT(delayed - alone, 5 * 20);
}

TEST(Products, OperandsInSharedMemoryBoundNarrowOnes) {
  auto clocksOfOne = [](unsigned columns, const std::string &a) {
    auto clocks = [&](unsigned count) {
      return clocksOf(
          {"mov.b64 %q1, 0x0000001000080040;\n" + chain(count, columns, a), 384,
           "sm_90a"});
    };
    return (clocks(32) - clocks(16)) / 16 / 3;
  };
  for (auto [columns, measured] : {std::pair(8u, 18.07),
                                   {16u, 20.08},
                                   {32u, 24.08},
                                   {48u, 28.08},
                                   {64u, 32.08},
                                   {96u, 48.06}})
    EXPECT_NEAR(clocksOfOne(columns, "%q1"), measured, 0.3) << columns;
  for (auto [columns, measured] :
       {std::pair(8u, 13.11), {32u, 16.1}, {48u, 24.2}, {96u, 48.2}})
    EXPECT_NEAR(clocksOfOne(columns, "{%r1, %r2, %r3, %r4}"), measured, 0.3)
        << columns;
}

TEST(Products, DescriptorsAreComputedInTheUniformPipe) {
  std::string descriptor = "mov.b64 %q3, 0x000000100008003e;\n"
                           "xor.b64 %q2, %q3, 0;\nadd.s64 %q1, %q2, 2;\n";
  auto pipeOf = [](const Recording &recording, std::string_view opcode) {
    return std::ranges::find(recording.codes, opcode, &Code::opcode)->of->pipe;
  };
  Recording alone = record({descriptor + chain(1), 128, "sm_90a"});
  EXPECT_EQ(pipeOf(alone, "add.s64"), Pipe::Uniform);
  EXPECT_EQ(pipeOf(alone, "xor.b64"), Pipe::Uniform);
  // Another use needs it in a register of the thread.
  Recording shared = record(
      {descriptor + chain(1) + "st.shared.b64 [smem], %q2;\n", 128, "sm_90a"});
  EXPECT_EQ(pipeOf(shared, "add.s64"), Pipe::Uniform);
  EXPECT_EQ(pipeOf(shared, "xor.b64"), Pipe::Alu);
  // Registers of another function are others, whatever their numbers are.
  Recording called =
      record({descriptor + chain(1) + "call f;\n",
              128,
              "sm_90a",
              "",
              65536,
              {},
              ".func f() {\n.reg .b64 %z<800>;\n" +
                  repeat(800, "st.shared.b64 [smem], %z#;") + "ret;\n}\n"});
  EXPECT_EQ(pipeOf(called, "add.s64"), Pipe::Uniform);
  EXPECT_EQ(pipeOf(called, "xor.b64"), Pipe::Uniform);
}

TEST(Products, AChainIssuesInARow) {
  // If two chains of four alternated, the first would end after seven products.
  Recording recording =
      record({"mov.b64 %q1, 0x0000001000080040;\n" + chain(4), 256, "sm_90a"});
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (const std::vector<Timed> &warp : steps.steps) {
    first = std::min(first, warp.back().issue);
    last = std::max(last, warp.back().issue);
  }
  EXPECT_LT(first, 4 * 64 + 80);
  EXPECT_GT(last, 8 * 64);
}

TEST(Products, OtherDescriptorsAreComputedBetweenThem) {
  auto clocksBetween = [](const std::string &a, const std::string &second) {
    std::string three = chain(3, 8, a);
    three.replace(three.rfind("%q1, 1, 1, 1"), 3, second);
    Recording recording = record({"mov.b64 %q1, 0x0000001000080040;\n"
                                  "mov.b64 %q2, 0x0000001000080042;\n" +
                                      three,
                                  128, "sm_90a"});
    Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
    std::vector<double> issues;
    for (size_t i = 0; i < recording.warps[0].steps.size(); ++i)
      if (recording.codes[recording.warps[0].steps[i].code].opcode.starts_with(
              "wgmma.mma_async"))
        issues.push_back(steps.steps[0][i].issue);
    return issues.at(2) - issues.at(1);
  };
  EXPECT_EQ(clocksBetween("%q1", "%q2"),
            figure(Figure::WgmmaSmemInterval, "sm_90a"));
  EXPECT_EQ(clocksBetween("{%r1, %r2, %r3, %r4}", "%q2"),
            figure(Figure::WgmmaRegisterInterval, "sm_90a"));
  EXPECT_EQ(clocksBetween("%q1", "%q1"),
            figure(Figure::WgmmaInterval, "sm_90a"));
}

TEST(Products, WarpgroupsTakeTurnsWhenTheQueueIsFull) {
  // The second warpgroup has one product. It does not wait for all of the
  // first one's.
  std::string body = "mov.b64 %q1, 0x0000001000080040;\nmov.u32 %r1, %tid.x;\n"
                     "setp.ge.u32 %p1, %r1, 128;\n@%p1 bra ONE;\n" +
                     chain(40) + "bra DONE;\nONE:\n" + chain(1) + "DONE:\n";
  Recording recording = record({body, 256, "sm_90a"});
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  double first = 0, second = 0;
  for (size_t i = 0; i < recording.warps.size(); ++i)
    for (const Timed &step : steps.steps[i]) {
      double &end = recording.warps[i].warp < 4 ? first : second;
      end = std::max(end, step.end);
    }
  EXPECT_GT(first, 41 * 64);
  EXPECT_LT(second, 12 * 64);
}

TEST(Products, TheQueueHoldsUpTheIssue) {
  Recording recording =
      record({"mov.b64 %q1, 0x0000001000080040;\n" + chain(20), 128, "sm_90a"});
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  std::vector<double> issues;
  for (size_t i = 0; i < recording.warps[0].steps.size(); ++i)
    if (recording.codes[recording.warps[0].steps[i].code].opcode.starts_with(
            "wgmma.mma_async"))
      issues.push_back(steps.steps[0][i].issue);
  ASSERT_EQ(issues.size(), 20u);
  size_t depth = size_t(figure(Figure::WgmmaQueue, "sm_90a"));
  EXPECT_LT(issues[depth - 1], 64);
  EXPECT_GT(issues[depth], 64);
  EXPECT_NEAR(issues[19] - issues[18], 64, 2);
}

TEST(Products, TheFenceKeepsTheOrder) {
  // Exponentials before the fence are no part of the time of the products.
  auto clocks = [](unsigned exponentials) {
    std::string body =
        "mov.b64 %q1, 0x0000001000080040;\n" +
        repeat(exponentials, "ex2.approx.ftz.f32 %f200, %f201;") + chain(16);
    return clocksOf({body, 128, "sm_90a"});
  };
  double each = figure(Figure::MufuInterval, "sm_90a");
  EXPECT_NEAR(clocks(60) - clocks(10), 50 * each, 4);
}

} // namespace

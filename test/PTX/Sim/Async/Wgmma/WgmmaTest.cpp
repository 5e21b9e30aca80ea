//===- WgmmaTest.cpp - Warpgroup MMA: products, order and findings --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Product.h"

#include <map>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

constexpr unsigned m = 64, k = 16, offsetB = 2048;

using Image = std::vector<uint8_t>;

/// A and B with K innermost and no swizzle: 8 rows of 16 bytes after each
/// other, the second half of K 128 bytes on, the next 8 rows 256.
constexpr const char *fields = "0x0000001000080000";

void place(Image &image, unsigned offset, const std::vector<uint16_t> &matrix) {
  for (unsigned i = 0; i < matrix.size(); ++i) {
    unsigned row = i / k, column = i % k;
    unsigned at = offset + row / 8 * 256 + column / 8 * 128 + row % 8 * 16 +
                  column % 8 * 2;
    std::memcpy(&image[at], &matrix[i], 2);
  }
}

Image imageOf(const Problem &p) {
  Image image(offsetB + p.b.size() * 2);
  place(image, 0, p.a);
  place(image, offsetB, p.b);
  return image;
}

/// Every thread copies 16 bytes in 2048 from the buffer `from` to shared
/// memory.
std::string copyIn(size_t bytes) {
  std::string text = "ld.param.u64 %q0, [from];\nshl.b32 %r3, %r0, 4;\n";
  for (size_t at = 0; at < bytes; at += 2048) {
    std::string offset = std::to_string(at);
    text += "add.u32 %r4, %r3, " + offset + ";\nsetp.lt.u32 %p0, %r4, " +
            std::to_string(bytes) +
            ";\ncvt.u64.u32 %q1, %r4;\nadd.u64 %q1, %q1, %q0;\n"
            "add.u32 %r5, %r2, %r4;\n"
            "@%p0 ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%q1];\n"
            "@%p0 st.shared.v4.b32 [%r5], {%r6, %r7, %r8, %r9};\n";
  }
  return text + "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
}

/// %q4 and %q5 describe A and B.
std::string descriptors() {
  return descriptor(4, 0, fields) + descriptor(5, offsetB, fields);
}

std::string wgmma(unsigned n, unsigned first, const std::string &a = "%q4",
                  unsigned scaleD = 0) {
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) +
         "k16.f32.bf16.bf16 " + registerList(first, n / 2) + ", " + a +
         ", %q5, " + std::to_string(scaleD) + ", 1, 1" +
         (a[0] == '{' ? ", 0;\n" : ", 0, 0;\n");
}

const std::string fence = "wgmma.fence.sync.aligned;\n",
                  commit = "wgmma.commit_group.sync.aligned;\n",
                  parameters = ".param .u64 from, .param .u64 out";

std::string wait(unsigned pending) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";\n";
}

/// Each thread stores n / 2 registers from %r<first> to its part of `out`.
std::string copyOut(unsigned n, unsigned first) {
  std::string text = "ld.param.u64 %q2, [out];\nmul.wide.u32 %q3, %r0, " +
                     std::to_string(2 * n) + ";\nadd.u64 %q2, %q2, %q3;\n";
  for (unsigned i = 0; i < n / 2; ++i)
    text += "st.global.b32 [%q2+" + std::to_string(4 * i) + "], %r" +
            std::to_string(first + i) + ";\n";
  return text;
}

struct Launched {
  LaunchResult result;
  std::vector<uint32_t> out;
};

Launched run(const std::string &body, const Image &image, unsigned n,
             const Options &options, unsigned threads = 128) {
  Device device;
  Launched launched;
  launched.out.assign(size_t(128) * n / 2, 0xCDCDCDCD);
  uint64_t from = device.allocate(image.size());
  device.write(from, std::as_bytes(std::span(image)));
  uint64_t out = device.allocate(launched.out.size() * 4);
  device.write(out, std::as_bytes(std::span(launched.out)));
  KernelRun kernel;
  kernel.text = kernelText(parameters, body, "", "sm_90a");
  kernel.threads = threads;
  kernel.parameters = {bytesOf(from), bytesOf(out)};
  kernel.options = options;
  launched.result = launchOn(device, kernel);
  device.read(out, std::as_writable_bytes(std::span(launched.out)));
  return launched;
}

/// PTX ISA, wgmma: register i of a thread in warp w holds row 16 * w + lane /
/// 4, 8 rows below for every second pair, and two columns of each 8.
double errorOf(const Problem &p, const std::vector<uint32_t> &out, unsigned n) {
  double worst = 0;
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < n / 2; ++i) {
      unsigned lane = thread % 32;
      unsigned row = thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
      unsigned at = row * n + i / 4 * 8 + lane % 4 * 2 + i % 2;
      double got = std::bit_cast<float>(out[thread * n / 2 + i]);
      double error = std::fabs(got - p.expected[at]) /
                     (p.magnitude[at] * k * 0x1p-23 + 1e-30);
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  return worst;
}

unsigned freshSeed() {
  unsigned seed = std::random_device()();
  ::testing::Test::RecordProperty("seed", int(seed));
  return seed;
}

TEST(Wgmma, EveryNumberOfColumnsGivesTheProduct) {
  unsigned seed = freshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned n = 8; n <= 256; n += 8) {
    Problem p = makeProblem(seed + n, m, n, k, false);
    Image image = imageOf(p);
    std::string body = copyIn(image.size()) + descriptors() + fence +
                       wgmma(n, 100) + commit + wait(0) + copyOut(n, 100);
    for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
      Launched launched = run(body, image, n, optionsOf(policy, seed));
      EXPECT_EQ(launched.result.status, Status::Ok) << textOf(launched.result);
      EXPECT_LE(errorOf(p, launched.out, n), 1.0) << "n " << n;
    }
  }
}

/// What the bodies of these tests begin with: operands for n = 8 and n = 16.
class WgmmaFindings : public ::testing::Test {
protected:
  Launched launchBody(const std::string &body, const Options &options,
                      unsigned threads = 128) {
    return run(copyIn(image.size()) + descriptors() + body, image, 8, options,
               threads);
  }

  /// The findings of the body under each policy, which must be `ids`.
  void expectFindings(const std::string &body, const std::set<std::string> &ids,
                      Conformance conformance = Conformance::Isa) {
    for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
      Options options = optionsOf(policy, seed);
      options.conformance = conformance;
      LaunchResult result = launchBody(body, options).result;
      EXPECT_EQ(idsOf(result), ids)
          << "seed " << seed << ", policy " << int(policy) << ", got:\n"
          << textOf(result);
    }
  }

  unsigned seed = freshSeed();
  Image image = imageOf(makeProblem(seed, m, 16, k, false));
};

const std::string inFlight = "wgmma-register-in-flight",
                  noFence = "wgmma-missing-fence",
                  warpgroup = "wgmma-warpgroup",
                  touchD = "mov.b32 %r20, %r100;\n",
                  registersA = "{%r200, %r201, %r202, %r203}";

TEST_F(WgmmaFindings, AWaitLeavesTheNewestGroupsInFlight) {
  std::string two = fence + wgmma(8, 100) + commit + wgmma(8, 110) + commit;
  expectFindings(two + wait(1) + touchD + wait(0), {});
  expectFindings(two + wait(1) + "mov.b32 %r20, %r110;\n" + wait(0),
                 {inFlight});
  expectFindings(two + wait(2) + touchD + wait(0), {inFlight});
}

TEST_F(WgmmaFindings, AWaitDoesNotCoverWhatIsNotCommitted) {
  expectFindings(fence + wgmma(8, 100) + wait(0) + touchD + commit + wait(0),
                 {inFlight});
  expectFindings(fence + wgmma(8, 100) + wait(0),
                 {"wgmma-not-waited", "smem-in-use-at-exit"});
}

TEST_F(WgmmaFindings, RegistersOfAMustNotBeWrittenInFlight) {
  std::string issue = "mov.b32 %r200, 0;\nmov.b32 %r201, 0;\n"
                      "mov.b32 %r202, 0;\nmov.b32 %r203, 0;\n" +
                      fence + wgmma(8, 100, registersA) + commit;
  std::string write = "mov.b32 %r202, 1;\n", read = "mov.b32 %r20, %r202;\n";
  expectFindings(issue + wait(0) + write, {});
  expectFindings(issue + write + wait(0), {inFlight});
  expectFindings(issue + read + wait(0), {inFlight});
  // A copy of A changes nothing, whatever the manual says.
  expectFindings(issue + read + wait(0), {}, Conformance::Practice);
  expectFindings(issue + write + wait(0), {inFlight}, Conformance::Practice);
  // Another wgmma may read them as well, but not write them.
  expectFindings(issue + wgmma(8, 110, registersA) + commit + wait(0), {});
  expectFindings(issue + wgmma(8, 200) + commit + wait(0), {inFlight});
}

TEST_F(WgmmaFindings, OnlyOneShapeMayAddToAnAccumulatorInFlight) {
  std::string first = fence + wgmma(8, 100);
  expectFindings(first + wgmma(8, 100, "%q4", 1) + commit + wait(0), {});
  expectFindings(first + wgmma(16, 100, "%q4", 1) + commit + wait(0),
                 {inFlight});
  // Registers that overlap without being the same are no chain.
  expectFindings(first + wgmma(8, 102, "%q4", 1) + commit + wait(0),
                 {inFlight});
}

TEST_F(WgmmaFindings, AFenceLiesBehindOtherUsesOfARegister) {
  std::string first = fence + wgmma(8, 100) + commit + wait(0);
  std::string again = wgmma(8, 100, "%q4", 1) + commit + wait(0);
  expectFindings(wgmma(8, 100) + commit + wait(0), {noFence});
  expectFindings(first + again, {});
  // To read is a use, too.
  expectFindings(first + touchD + again, {noFence});
  expectFindings(first + touchD + fence + again, {});
  expectFindings(first + "mov.b32 %r20, %r104;\n" + again, {});
  std::string wider = wgmma(16, 100, "%q4", 1) + commit + wait(0);
  expectFindings(first + wider, {noFence});
  expectFindings(first + fence + wider, {});
  // An accumulator that becomes A.
  std::string asA = wgmma(8, 110, "{%r100, %r101, %r102, %r103}");
  expectFindings(first + asA + commit + wait(0), {noFence});
  expectFindings(first + fence + asA + commit + wait(0), {});
}

TEST_F(WgmmaFindings, AccumulatorsInFlightHoldPoison) {
  std::string body = "mov.b32 %r100, 0;\n" + fence + wgmma(8, 100) + commit +
                     "mov.b32 %r20, %r100;\n" + wait(0) +
                     "mov.b32 %r100, %r20;\n" + copyOut(8, 100);
  for (Policy policy : {Policy::Eager, Policy::Late}) {
    Launched launched = launchBody(body, optionsOf(policy));
    EXPECT_EQ(launched.out[0], 0x7fbadbadu);
  }
}

TEST_F(WgmmaFindings, SharedMemoryIsReadWhenItCompletes) {
  std::string overwrite = "mov.b32 %r20, 0;\nst.shared.v4.b32 [%r5+-2048], "
                          "{%r20, %r20, %r20, %r20};\n";
  std::string head = "shl.b32 %r5, %r0, 4;\nadd.u32 %r5, %r5, %r2;\n"
                     "add.u32 %r5, %r5, 2048;\n" +
                     fence + wgmma(8, 100) + commit;
  std::string early = head + overwrite + wait(0) + copyOut(8, 100);
  Options options = optionsOf(Policy::Eager);
  options.checks = {"none"};
  std::vector<uint32_t> eager = launchBody(early, options).out;
  options.policy = Policy::Late;
  std::vector<uint32_t> late = launchBody(early, options).out;
  EXPECT_NE(eager, late);
  EXPECT_EQ(late, std::vector<uint32_t>(late.size(), 0));
  std::set<std::string> ids =
      idsOf(launchBody(early, optionsOf(Policy::Late)).result);
  EXPECT_TRUE(ids.count("async-read-in-flight") && ids.count("race-shared"));
  EXPECT_TRUE(idsOf(launchBody(early, optionsOf(Policy::Eager)).result)
                  .count("race-shared"));
  // The group completes for all four warps at once.
  expectFindings(head + wait(0) + overwrite, {});
}

TEST_F(WgmmaFindings, GenericWritesWantAProxyFence) {
  std::string write = "shl.b32 %r5, %r0, 4;\nadd.u32 %r5, %r5, %r2;\n"
                      "st.shared.v4.b32 [%r5], {%r0, %r0, %r0, %r0};\n",
              proxy = "fence.proxy.async.shared::cta;\n",
              meet = "bar.sync 0;\n",
              rest = fence + wgmma(8, 100) + commit + wait(0);
  expectFindings(write + proxy + meet + rest, {});
  expectFindings(write + meet + rest, {"missing-proxy-fence"});
  expectFindings(write + meet + proxy + rest, {});
  expectFindings(write + proxy + rest, {"race-shared"});
}

TEST_F(WgmmaFindings, InPracticeAWarpReadsItsOwnRowsOfA) {
  // Rows 16 * w to 16 * w + 15 are 512 bytes.
  std::string body = "bar.sync 0;\nshl.b32 %r5, %r0, 4;\n"
                     "add.u32 %r5, %r5, %r2;\n"
                     "st.shared.v4.b32 [%r5], {%r0, %r0, %r0, %r0};\n"
                     "fence.proxy.async.shared::cta;\n"
                     "bar.warp.sync 0xffffffff;\n" +
                     fence + wgmma(8, 100) + commit + wait(0);
  expectFindings(body, {}, Conformance::Practice);
  expectFindings(body, {"race-shared"});
}

TEST_F(WgmmaFindings, CopiesAndWgmmaWaitForEachOther) {
  // A thread copies A anew, to a barrier that all wait for.
  std::string setUp = "setp.ne.u32 %p2, %r0, 0;\n@%p2 bra READY;\n"
                      "mbarrier.init.shared::cta.b64 [%r2+4096], 1;\n"
                      "fence.mbarrier_init.release.cluster;\n"
                      "READY:\nbar.sync 0;\n",
              copy = "@%p2 bra ISSUED;\n"
                     "mbarrier.arrive.expect_tx.shared::cta.b64 _, "
                     "[%r2+4096], 2048;\nadd.u32 %r5, %r2, 4096;\n"
                     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"
                     "bytes [%r2], [%q0], 2048, [%r5];\nISSUED:\n",
              arrived = waitFor(4096, "0", "ARRIVED"), meet = "bar.sync 0;\n",
              issue = fence + wgmma(8, 100) + commit;
  expectFindings(setUp + issue + wait(0) + meet + copy + arrived, {});
  expectFindings(setUp + copy + arrived + issue + wait(0), {});
  for (const std::string &wrong : {issue + meet + copy + wait(0) + arrived,
                                   copy + issue + wait(0) + arrived})
    for (Policy policy : {Policy::Eager, Policy::Late, Policy::Random}) {
      LaunchResult result =
          launchBody(setUp + wrong, optionsOf(policy, seed)).result;
      EXPECT_TRUE(idsOf(result).count("race-shared")) << textOf(result);
    }
  // What is in flight is told besides.
  EXPECT_TRUE(idsOf(launchBody(setUp + issue + meet + copy + wait(0) + arrived,
                               optionsOf(Policy::Late))
                        .result)
                  .count("async-read-in-flight"));
  EXPECT_TRUE(idsOf(launchBody(setUp + copy + issue + wait(0) + arrived,
                               optionsOf(Policy::Late))
                        .result)
                  .count("async-write-in-flight"));
}

TEST_F(WgmmaFindings, FourWarpsExecuteOneWgmma) {
  std::string rest = fence + wgmma(8, 100) + commit + wait(0);
  std::string apart = "setp.eq.u32 %p1, %r1, 2;\n"
                      "@%p1 add.u64 %q5, %q5, 1;\n";
  expectFindings(apart + rest, {warpgroup});
  std::string lanes = "setp.eq.u32 %p1, %r0, 35;\n"
                      "@%p1 add.u64 %q5, %q5, 1;\n";
  expectFindings(lanes + rest, {warpgroup});
  std::string twice = "setp.eq.u32 %p1, %r1, 2;\n@%p1 bra OTHER;\n" + fence +
                      wgmma(8, 100) + "bra.uni JOINED;\nOTHER:\n" + fence +
                      wgmma(8, 100) + "JOINED:\n" + commit + wait(0);
  expectFindings(twice, {warpgroup});
}

TEST_F(WgmmaFindings, AWarpgroupHasFourWarps) {
  std::string rest = fence + wgmma(8, 100) + commit + wait(0);
  LaunchResult result = launchBody(rest, optionsOf(Policy::Eager), 96).result;
  EXPECT_TRUE(idsOf(result).count(warpgroup)) << textOf(result);
}

TEST_F(WgmmaFindings, AWarpThatStaysAwayIsNamed) {
  std::string body = "setp.eq.u32 %p1, %r1, 2;\n@%p1 bra AWAY;\n" + fence +
                     wgmma(8, 100) + commit + wait(0) + "AWAY:\n";
  LaunchResult result = launchBody(body, optionsOf(Policy::Eager)).result;
  EXPECT_EQ(result.status, Status::Deadlock);
  ASSERT_TRUE(result.deadlock);
  std::string waits;
  for (const BlockedPath &path : result.deadlock->paths)
    waits += path.waits + "\n";
  EXPECT_NE(waits.find("warp 2 has not issued it"), std::string::npos) << waits;
  // Nobody waits: the CTA ends without the product.
  body = "setp.eq.u32 %p1, %r1, 2;\n@%p1 bra AWAY;\n" + fence + wgmma(8, 100) +
         "AWAY:\n";
  result = launchBody(body, optionsOf(Policy::Eager)).result;
  EXPECT_TRUE(idsOf(result).count(warpgroup)) << textOf(result);
}

TEST_F(WgmmaFindings, DescriptorsAreThoseOfTheTarget) {
  std::string rest = fence + wgmma(8, 100) + commit + wait(0);
  // Bit 46 is set in those of tcgen05.
  expectFindings("or.b64 %q5, %q5, 0x400000000000;\n" + rest,
                 {"mma-smem-descriptor"});
  expectFindings("or.b64 %q5, %q5, 0x3fff;\n" + rest, {"out-of-bounds"});
}

} // namespace

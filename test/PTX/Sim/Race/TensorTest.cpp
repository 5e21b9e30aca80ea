//===- TensorTest.cpp - Hand-offs of tensor memory ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceKernel.h"

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

const std::string bar = "bar.sync 0;\n";
const std::string before = "tcgen05.fence::before_thread_sync;\n";
const std::string after = "tcgen05.fence::after_thread_sync;\n";
const std::string waitLd = "tcgen05.wait::ld.sync.aligned;\n";
const std::string waitSt = "tcgen05.wait::st.sync.aligned;\n";
const std::string load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, "
                         "[%r14];\n";

/// Four warps; A and B are zeros at smem + 4096, fenced. %r9 is the address of
/// 64 columns, %r14 the same in the warp's own lanes; an mbarrier lies at smem.
std::string around(const std::string &text) {
  std::string zero = "mov.b64 %q2, 0;\nshl.b32 %r12, %r0, 5;\n"
                     "add.u32 %r12, %r12, %r2;\n";
  for (unsigned at = 0; at < 32; at += 8)
    zero += "st.shared.b64 [%r12+" + std::to_string(4096 + at) + "], %q2;\n";
  return zero + "fence.proxy.async.shared::cta;\n" +
         warpText(0,
                  "mov.u32 %r8, 64;\ntcgen05.alloc.cta_group::1.sync.aligned."
                  "shared::cta.b32 [%r3], %r8;\n") +
         "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], 1;\n"
         "fence.mbarrier_init.release.cluster;\nREADY:\n" +
         before + bar + after +
         "ld.shared.b32 %r9, [%r3];\nshl.b32 %r14, %r1, 21;\n"
         "add.u32 %r14, %r14, %r9;\n"
         "add.u32 %r13, %r2, 4096;\nshr.u32 %r13, %r13, 4;\n"
         "and.b32 %r13, %r13, 0x3fff;\ncvt.u64.u32 %q3, %r13;\n"
         "or.b64 %q4, %q3, 0x0000400800800000;\n" +
         text + before + bar + after +
         warpText(0,
                  "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 64;\n");
}

/// An MMA of m128 n64 k16 into %r9 and its commit, by thread 0.
std::string mma(const std::string &label,
                const std::string &commit = "tcgen05.commit.cta_group::1."
                                            "mbarrier::arrive::one.shared::"
                                            "cluster.b64 [%r2];\n") {
  return "@%p0 bra " + label +
         ";\ntcgen05.mma.cta_group::1.kind::f16 [%r9], %q4, %q4, "
         "0x08100490, 0;\n" +
         commit + label + ":\n";
}
const std::string done = waitFor(0, "0", "L0");

RaceKernel kernel(const std::string &text) { return {around(text), 128}; }

TEST(Tensor, AnMmaIsDoneWithItsCommit) {
  expectTwins("race-tmem",
              kernel(mma("M") + before + bar + after + load + waitLd + done),
              around(mma("M") + done + after + load + waitLd));
}

/// The tensor core executes the MMAs of one thread in order; each lane is one.
TEST(Tensor, LanesAreThreadsOfTheirOwn) {
  std::string all =
      warpText(0, "tcgen05.mma.cta_group::1.kind::f16 [%r9], %q4, "
                  "%q4, 0x08100490, 0;\n");
  RaceKernel wrong =
      kernel(all + "bar.warp.sync 0xffffffff;\n" + mma("M") + done + after);
  std::string right = around(mma("A", "") + mma("M") + done + after);
  expectTwins("race-tmem", wrong, right);
  wrong.conformance = Conformance::Practice;
  expectTwins("race-tmem", wrong, right);
}

TEST(Tensor, AfterACommitTheReaderFences) {
  expectTwins("tcgen05-missing-fence", kernel(mma("M") + done + load + waitLd),
              around(mma("M") + done + after + load + waitLd));
}

TEST(Tensor, BehindItsOwnCommitAThreadFencesToo) {
  // An MMA of another shape, which only its wait orders after the first.
  auto body = [](const std::string &between) {
    std::string last = "tcgen05.mma.cta_group::1.kind::f16 [%r9], %q4, %q4, "
                       "0x08080490, 0;\n";
    return mma("M") + "@%p0 bra O;\n" + waitFor(0, "0", "L0") + between + last +
           "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
           "cluster.b64 [%r2];\n" +
           waitFor(0, "1", "L1") + "O:\n" + before + bar + after + load +
           waitLd;
  };
  expectTwins("tcgen05-missing-fence", kernel(body("")), around(body(after)));
  RaceKernel run = kernel(body(""));
  run.conformance = Conformance::Practice;
  expectFinding("", run);
}

std::string second(const std::string &between) {
  return mma("M") + done + after + load + between + mma("N") +
         waitFor(0, "1", "L1") + after;
}

TEST(Tensor, AReadIsDoneWithItsWait) {
  expectTwins("race-tmem", kernel(second(before + bar + after) + waitLd),
              around(second(waitLd + before + bar + after)));
}

TEST(Tensor, BeforeAnOverwriteBothSidesFence) {
  std::string right = around(second(waitLd + before + bar + after));
  expectTwins("tcgen05-missing-fence", kernel(second(waitLd + bar + after)),
              right);
  expectTwins("tcgen05-missing-fence", kernel(second(waitLd + before + bar)),
              right);
}

TEST(Tensor, AThirdThreadHandsOnWithoutFences) {
  // Thread 32 waits for the commit and passes it on; its own fences would
  // order its own operations, and it has none.
  std::string relay =
      mma("M") +
      "@%p0 bra I;\nmbarrier.init.shared::cta.b64 [%r2+8], 1;\n"
      "fence.mbarrier_init.release.cluster;\nI:\n" +
      bar +
      warpText(1, "@%p1 bra R;\n" + done +
                      "mbarrier.arrive.shared::cta.b64 _, [%r2+8];\n"
                      "R:\nbar.warp.sync 0xffffffff;\n") +
      waitFor(8, "0", "L1") + after + load + waitLd;
  expectFinding("", kernel(relay));
}

/// A copy over the place where tcgen05.alloc has put the address, once all have
/// read it.
TEST(Tensor, InPracticeACopyMayReplaceTheAddress) {
  std::string copy = "@%p0 bra COPIED;\n"
                     "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n"
                     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx"
                     "::bytes [%r3], [%q0], 16, [%r2];\nCOPIED:\n" +
                     done;
  RaceKernel run = kernel(bar + copy);
  expectFinding("missing-proxy-fence", run);
  run.conformance = Conformance::Practice;
  expectFinding("", run);
  run.body = around("@!%p0 st.shared.b32 [%r3], %r9;\n" + bar + copy);
  expectFinding("missing-proxy-fence", run);
}

TEST(Tensor, InPracticeNoFenceIsAskedFor) {
  std::string body = second(waitLd + bar);
  for (Conformance conformance : {Conformance::Practice, Conformance::Isa}) {
    RaceKernel run = kernel(body);
    run.conformance = conformance;
    bool isa = conformance == Conformance::Isa;
    expectFinding(isa ? "tcgen05-missing-fence" : "", run);
  }
  // A read without wait::ld is no race there: its registers are waited for.
  RaceKernel run = kernel(second("mov.b32 %r11, %r10;\n" + bar));
  run.conformance = Conformance::Practice;
  expectFinding("", run);
  // A read before the commit is one.
  run = kernel(mma("M") + bar + load + done);
  run.conformance = Conformance::Practice;
  expectFinding("race-tmem", run);
}

TEST(Tensor, PipelinedMmasOfTwoThreadsNeedFencesOnly) {
  auto body = [](const std::string &first, const std::string &last) {
    return mma("M", "") + first + bar + last +
           "setp.ne.u32 %p5, %r0, 32;\n@%p5 bra N;\n"
           "tcgen05.mma.cta_group::1.kind::f16 [%r9], %q4, %q4, "
           "0x08100490, 1;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one"
           ".shared::cluster.b64 [%r2];\nN:\n" +
           done + after + bar +
           // The first thread's operation is known by a commit of its own.
           "@%p0 bra O;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one"
           ".shared::cluster.b64 [%r2];\nO:\n" +
           waitFor(0, "1", "L1") + after;
  };
  expectTwins("race-tmem", kernel(body("", "")), around(body(before, after)));
}

TEST(Tensor, WritersOfSharedOperandsWaitForTheCommit) {
  std::string overwrite = "st.shared.b64 [%r12+4096], %q2;\n";
  expectTwins("race-shared", kernel(mma("M") + overwrite + done),
              around(mma("M") + done + overwrite));
  // Written anew, the operand needs a fence anew.
  std::string again = mma("M") + done + overwrite;
  expectTwins("missing-proxy-fence",
              kernel(again + bar + mma("N") + waitFor(0, "1", "L1")),
              around(again + "fence.proxy.async.shared::cta;\n" + bar +
                     mma("N") + waitFor(0, "1", "L1")));
}

} // namespace

//===- LitmusTest.cpp - Message passing by scope and proxy ----------------===//
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

enum class Where { Cta, Cluster, Grid };

/// Thread 0 of a warp or CTA passes a message to that of the next one.
RaceKernel messagePassing(Where where, const std::string &release,
                          const std::string &acquire,
                          const std::string &fence = "") {
  std::string role = where == Where::Cta ? "%r1" : "%r7";
  RaceKernel kernel;
  kernel.threads = where == Where::Cta ? 64 : 32;
  kernel.ctas = where == Where::Cta ? 1 : 2;
  kernel.cluster = where == Where::Cluster ? 2 : 1;
  kernel.body = "@%p1 bra D;\nsetp.ne.u32 %p3, " + role +
                ", 0;\n@%p3 bra C;\nst.global.b32 [%q0], 7;\n" + release +
                "bra D;\nC:\nSPIN:\n" + acquire +
                "setp.eq.u32 %p4, %r5, 0;\n@%p4 bra SPIN;\n" + fence +
                "ld.global.b32 %r6, [%q0];\nD:\n";
  return kernel;
}

std::string st(const std::string &order) {
  return "st." + order + ".global.b32 [%q0+128], 1;\n";
}
std::string ld(const std::string &order) {
  return "ld." + order + ".global.b32 %r5, [%q0+128];\n";
}

struct Litmus {
  Where where;
  std::string release, acquire, fence;
  bool races;
};

TEST(Litmus, MessagePassing) {
  const std::string cta = "fence.acq_rel.cta;\n", gpu = "fence.acq_rel.gpu;\n";
  const std::string red = "red.relaxed.gpu.global.add.u32 [%q0+128], 1;\n";
  const std::vector<Litmus> table = {
      {Where::Cta, st("release.cta"), ld("acquire.cta"), "", false},
      {Where::Cta, st("relaxed.cta"), ld("relaxed.cta"), "", true},
      {Where::Cta, st("release.cta"), ld("relaxed.cta"), "", true},
      {Where::Cta, st("relaxed.cta"), ld("acquire.cta"), "", true},
      {Where::Cta, cta + st("relaxed.cta"), ld("relaxed.cta"), cta, false},
      {Where::Cta, cta + st("relaxed.cta"), ld("acquire.cta"), "", false},
      {Where::Cta, st("volatile"), ld("volatile"), "", true},
      {Where::Cta, "membar.cta;\n" + st("volatile"), ld("volatile"),
       "membar.cta;\n", false},
      {Where::Cluster, st("release.cta"), ld("acquire.cta"), "", true},
      {Where::Cluster, st("release.cluster"), ld("acquire.cta"), "", true},
      {Where::Cluster, st("release.cluster"), ld("acquire.cluster"), "", false},
      {Where::Cluster, cta + st("relaxed.gpu"), ld("acquire.gpu"), "", true},
      {Where::Grid, st("release.cluster"), ld("acquire.cluster"), "", true},
      {Where::Grid, st("release.gpu"), ld("acquire.gpu"), "", false},
      {Where::Grid, st("release.sys"), ld("acquire.gpu"), "", false},
      {Where::Grid, gpu + red, ld("relaxed.gpu"), gpu, false},
      {Where::Grid, red, ld("relaxed.gpu"), gpu, true},
      {Where::Grid, cta + red, ld("acquire.gpu"), "", true},
      {Where::Grid, "atom.release.gpu.global.add.u32 %r9, [%q0+128], 1;\n",
       "atom.acquire.gpu.global.or.b32 %r5, [%q0+128], 0;\n", "", false},
  };
  for (const Litmus &row : table) {
    SCOPED_TRACE(row.release + row.acquire + row.fence);
    expectFinding(
        row.races ? "race-global" : "",
        messagePassing(row.where, row.release, row.acquire, row.fence));
  }
}

/// A store that is not an atomic ends the release sequence; an atomic of a
/// third thread continues it.
TEST(Litmus, ReleaseSequence) {
  auto body = [](const std::string &middle) {
    return "@%p1 bra D;\nsetp.eq.u32 %p3, %r1, 1;\n@%p3 bra M;\n"
           "setp.eq.u32 %p3, %r1, 2;\n@%p3 bra C;\nst.global.b32 [%q0], 7;\n"
           "st.release.gpu.global.b32 [%q0+128], 1;\nbra D;\n"
           "M:\nS1:\nld.relaxed.gpu.global.b32 %r5, [%q0+128];\n"
           "setp.ne.u32 %p4, %r5, 1;\n@%p4 bra S1;\n" +
           middle +
           "bra D;\nC:\nS2:\nld.relaxed.gpu.global.b32 %r5, [%q0+128];\n"
           "setp.ne.u32 %p4, %r5, 2;\n@%p4 bra S2;\n"
           "ld.acquire.gpu.global.b32 %r5, [%q0+128];\n"
           "ld.global.b32 %r6, [%q0];\nD:\n";
  };
  expectTwins("race-global",
              {body("st.relaxed.gpu.global.b32 [%q0+128], 2;\n"), 96},
              body("red.relaxed.gpu.global.add.u32 [%q0+128], 1;\n"));
}

/// Strong operations on one place do not race, whatever they see.
TEST(Litmus, StoreBuffering) {
  auto body = [](const std::string &order) {
    return "@%p1 bra D;\nmul.wide.u32 %q2, %r1, 128;\nadd.u64 %q3, %q0, %q2;\n"
           "sub.u64 %q4, %q0, %q2;\nst" +
           order + ".global.b32 [%q3], 1;\nld" + order +
           ".global.b32 %r5, [%q4+128];\nD:\n";
  };
  expectTwins("race-global", {body("")}, body(".relaxed.gpu"));
  expectFinding("race-global", {body(".relaxed.cta"), 32, 2});
}

TEST(Litmus, AtomicsDoNotRaceWithEachOther) {
  std::string add = "red.global.add.u32 [%q0], 1;\n";
  expectFinding("", {add, 64, 2});
  expectFinding("race-global", {add + "ld.global.b32 %r5, [%q0];\n", 64, 2});
  expectFinding("race-global",
                {"red.relaxed.cta.global.add.u32 [%q0], 1;\n", 64, 2});
}

/// Clusters run one after another here, which orders nothing.
TEST(Litmus, CtasAreNotOrderedByWhoRunsFirst) {
  expectFinding("race-global",
                {"@%p0 bra D;\nst.global.b32 [%q0], %r7;\nD:\n", 32, 2});
  expectFinding("", {"@%p0 bra D;\nmul.wide.u32 %q2, %r7, 4;\nadd.u64 %q2, "
                     "%q0, %q2;\nst.global.b32 [%q2], %r7;\nD:\n",
                     32, 2});
}

// --- proxies ---

const std::string bar = "bar.sync 0;\n";
const std::string fence = "fence.proxy.async.shared::cta;\n";
const std::string fill = "shl.b32 %r6, %r4, 3;\nadd.u32 %r6, %r6, %r3;\n"
                         "st.shared.b64 [%r6], %q0;\n";
const std::string store =
    "cp.async.bulk.global.shared::cta.bulk_group [%q0+512], [%r3], 256;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";

/// Warp 0 writes; lane 0 of warp 1 stores the bytes by the async proxy.
std::string passed(const std::string &writer, const std::string &issuer) {
  return warpText(0, fill + writer) + bar + warpText(1, issuer + store, true);
}

TEST(Litmus, ProxyFenceOnTheWay) {
  expectTwins("missing-proxy-fence", {passed("", "")}, passed(fence, ""));
  // Also by the issuer once it has met the writers (PTX ISA 8.9.5: a proxy
  // fence along base causality order).
  expectFinding("", {passed("", fence)});
  // One lane's fence is not for the others: they have not met.
  expectFinding("missing-proxy-fence", {passed("@!%p1 " + fence, "")});
  expectFinding("", {passed("bar.warp.sync 0xffffffff;\n@!%p1 " + fence, "")});
  // Before the write, or for global memory, it is none.
  expectFinding("missing-proxy-fence",
                {warpText(0, fence + fill) + bar + warpText(1, store, true)});
  expectFinding("missing-proxy-fence",
                {passed("fence.proxy.async.global;\n", "")});
}

TEST(Litmus, AFenceAfterTheHandOffIsTooLate) {
  // The writer arrives, then fences; the issuer waits for the arrival only.
  auto body = [](const std::string &before, const std::string &after) {
    return "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], 32;\n"
           "READY:\n" +
           bar +
           warpText(0, fill + before +
                           "mbarrier.arrive.shared::cta.b64 _, "
                           "[%r2];\n" +
                           after) +
           warpText(1, waitFor(0, "0", "L0") + store, true);
  };
  expectTwins("missing-proxy-fence", {body("", fence)}, body(fence, ""));
}

TEST(Litmus, CpAsyncIsGeneric) {
  auto body = [](const std::string &writer) {
    return "shl.b32 %r6, %r4, 4;\nadd.u32 %r6, %r6, %r3;\ncvt.u64.u32 %q2, "
           "%r4;\nshl.b64 %q2, %q2, 4;\nadd.u64 %q2, %q0, %q2;\n" +
           warpText(0, "cp.async.ca.shared.global [%r6], [%q2], 16;\n"
                       "cp.async.wait_all;\n" +
                           writer) +
           bar + warpText(1, store, true);
  };
  expectTwins("missing-proxy-fence", {body("")}, body(fence));
}

TEST(Litmus, GlobalMemoryHasProxiesToo) {
  auto body = [](const std::string &between) {
    return "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], 1;\n"
           "fence.mbarrier_init.release.cluster;\nst.global.b32 [%q0], 5;\n" +
           between + "READY:\n" + bar +
           warpText(1,
                    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n"
                    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"
                    "bytes [%r3], [%q0], 16, [%r2];\n" +
                        waitFor(0, "0", "L0"),
                    true);
  };
  expectTwins("missing-proxy-fence", {body("")},
              body("fence.proxy.async.global;\n"));
  expectFinding("", {body("fence.proxy.async;\n")});
}

} // namespace

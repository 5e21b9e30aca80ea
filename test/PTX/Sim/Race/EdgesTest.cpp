//===- EdgesTest.cpp - What orders two accesses, and what does not --------===//
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
const std::string put = "st.shared.b32 [%r3], 7;\n";
const std::string get = "ld.shared.b32 %r5, [%r3];\n";

std::string first(const std::string &text) { return warpText(0, text, true); }
std::string second(const std::string &text) { return warpText(1, text, true); }

TEST(Edges, BarSync) {
  std::string seed = first(put) + bar;
  // Equal values race all the same, and so do a read and a later write.
  expectTwins("race-shared", {seed + first(put) + warpText(1, put, true)},
              seed + first(put) + bar + second(put));
  expectTwins("race-shared", {seed + first(get) + second(put)},
              seed + first(get) + bar + second(put));
  expectTwins("race-global",
              {first("st.global.b32 [%q0], 1;\n") +
               second("ld.global.b32 %r5, [%q0];\n")},
              first("st.global.b32 [%q0], 1;\n") + bar +
                  second("ld.global.b32 %r5, [%q0];\n"));
}

TEST(Edges, InPracticeEqualStoresDoNotRace) {
  std::string seed = first("st.shared.b32 [%r3], 5;\n") + bar;
  RaceKernel run = {seed + first(put) + second(put)};
  expectFinding("race-shared", run);
  run.conformance = Conformance::Practice;
  expectFinding("", run);
  // One word of two differs; and a read still races.
  std::string pair = "st.shared.v2.b32 [%r3], {7, ";
  run.body = seed + first(pair + "1};\n") + second(pair + "2};\n");
  expectFinding("race-shared", run);
  run.body = seed + first(put) + second(get);
  expectFinding("race-shared", run);
  std::string global = "st.global.b32 [%q0], 3;\n";
  run.body = first(global) + second(global);
  expectFinding("", run);
  run.body = first(global) + second("st.global.b32 [%q0], 4;\n");
  expectFinding("race-global", run);
}

TEST(Edges, NeighboringBytesDoNotRace) {
  expectFinding("", {"add.u32 %r6, %r3, %r1;\nmov.b16 %h0, 1;\n@%p1 bra D;\n"
                     "st.shared.b8 [%r6], %h0;\nD:\n"});
  expectFinding("race-shared",
                {"mul.lo.u32 %r6, %r1, 2;\nadd.u32 %r6, %r6, %r3;\n"
                 "mov.b16 %h0, 1;\n@%p1 bra D;\nst.shared.b16 [%r6], %h0;\n"
                 "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra D;\n"
                 "st.shared.b32 [%r3], 1;\nD:\n"});
}

TEST(Edges, NamedBarriersOrderTheirParticipants) {
  // Warp 0 arrives and goes on; warp 1 waits; warp 2 is no part of it.
  std::string arrive = "bar.arrive 3, 64;\n", sync = "bar.sync 3, 64;\n";
  std::string good = warpText(0, "@!%p1 st.shared.b32 [%r3], 7;\n" + arrive) +
                     warpText(1, sync + get);
  expectFinding("", {good, 96});
  expectFinding("race-shared", {good + warpText(2, get), 96});
  // An arrive does not acquire.
  std::string wrong = warpText(1, "@!%p1 st.shared.b32 [%r3], 7;\n" + sync) +
                      warpText(0, arrive + "@!%p1 st.shared.b32 [%r3], 8;\n");
  expectFinding("race-shared", {wrong});
}

const std::string setUp =
    "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], 1;\n"
    "fence.mbarrier_init.release.cluster;\nREADY:\n" +
    bar;

std::string handOff(const std::string &order, const std::string &before = "",
                    const std::string &waitOrder = "",
                    const std::string &after = "") {
  return setUp +
         first(put + before + "mbarrier.arrive" + order +
               ".shared::cta.b64 _, [%r2];\n") +
         warpText(1,
                  "WAIT:\nmbarrier.try_wait.parity" + waitOrder +
                      ".shared::cta.b64 %p31, [%r2], 0;\n@!%p31 bra WAIT;\n" +
                      after + get);
}

TEST(Edges, AWarpThatStraddlesTwoPhasesIsBehindTheFirst) {
  auto counted = [](const std::string &arrivals) {
    return "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], " + arrivals +
           ";\nREADY:\n" + bar +
           warpText(0, "@!%p1 st.shared.b32 [%r3], 7;\n"
                       "mbarrier.arrive.shared::cta.b64 _, [%r2];\n") +
           warpText(1, "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p31, "
                       "[%r2], 0;\n@!%p31 bra WAIT;\n" +
                           get);
  };
  expectTwins("race-shared", {counted("31")}, counted("32"));
}

TEST(Edges, InvalIsBehindEveryUse) {
  std::string used =
      setUp + first("mbarrier.arrive.shared::cta.b64 _, [%r2];\n") +
      warpText(0, "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p31, "
                  "[%r2], 0;\n@!%p31 bra WAIT;\n");
  std::string inval = second("mbarrier.inval.shared::cta.b64 [%r2];\n");
  // Warp 1 waits too, so that it comes last, but it learns nothing of warp 0.
  std::string wait = warpText(
      1, "SEE:\nmbarrier.try_wait.parity.shared::cta.b64 %p31, [%r2], 0;\n"
         "@!%p31 bra SEE;\nnanosleep.u32 1000;\n");
  expectTwins("race-shared", {used + wait + inval}, used + wait + bar + inval);
}

TEST(Edges, Mbarrier) {
  expectTwins("race-shared", {handOff(".relaxed.cta")}, handOff(""));
  expectTwins("race-shared", {handOff("", "", ".relaxed.cta")},
              handOff(".release.cta", "", ".acquire.cta"));
  // A fence makes a release of a relaxed arrive, an acquire of the wait.
  expectFinding("", {handOff(".relaxed.cta", "fence.acq_rel.cta;\n",
                             ".relaxed.cta", "fence.acq_rel.cta;\n")});
  // Who writes after the arrive is not ordered.
  expectFinding("race-shared",
                {setUp +
                 first("mbarrier.arrive.shared::cta.b64 _, [%r2];\n" + put) +
                 warpText(1, waitFor(0, "0", "L0") + get)});
}

TEST(Edges, AnMbarrierIsInitializedBeforeItIsUsed) {
  // Warp 1 cannot know that the barrier is there, whether or not it is.
  std::string init = "mbarrier.init.shared::cta.b64 [%r2], 1;\n";
  std::string use = "mbarrier.arrive.shared::cta.b64 _, [%r2];\n";
  RaceKernel wrong{first(init + "st.relaxed.cta.shared.b32 [%r3], 1;\n") +
                   second("SPIN:\nld.relaxed.cta.shared.b32 %r5, [%r3];\n"
                          "setp.ne.u32 %p3, %r5, 1;\n@%p3 bra SPIN;\n" +
                          use)};
  wrong.checks = {"race-shared"};
  expectTwins("race-shared", wrong, first(init) + bar + second(use));
}

TEST(Edges, ClusterBarrier) {
  auto body = [](const std::string &arrive) {
    return "mapa.shared::cluster.u32 %r6, %r3, 0;\nsetp.ne.u32 %p3, %r7, "
           "0;\n@%p0 bra S;\n@!%p3 st.shared.b32 [%r3], 7;\nS:\n" +
           arrive +
           "barrier.cluster.wait;\n@%p3 ld.shared::cluster.b32 %r5, [%r6];\n"
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  };
  expectTwins("race-shared",
              {body("barrier.cluster.arrive.relaxed;\n"), 64, 2, 2},
              body("barrier.cluster.arrive;\n"));
}

TEST(Edges, ARemoteAccessIsDoneBeforeItsOwnerExits) {
  auto body = [](const std::string &end) {
    return "mapa.shared::cluster.u32 %r6, %r3, 1;\nsetp.ne.u32 %p3, %r7, 0;\n"
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%p0 bra S;\n"
           "@!%p3 st.shared::cluster.b32 [%r6], 7;\nS:\n" +
           end;
  };
  expectTwins("dsmem-after-exit", {body(""), 64, 2, 2},
              body("barrier.cluster.arrive;\nbarrier.cluster.wait;\n"));
  // A relaxed arrive does not say that what is before it is done.
  expectTwins("dsmem-after-exit",
              {body("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"),
               64, 2, 2},
              body("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\n"
                   "barrier.cluster.wait;\n"));
}

TEST(Edges, ARemoteArrivalIsDoneBeforeItsOwnerExits) {
  for (std::string order : {".release.cluster", ".relaxed.cluster", ""}) {
    SCOPED_TRACE(order);
    auto body = [&](const std::string &wait) {
      return "@!%p0 mbarrier.init.shared::cta.b64 [%r2], 1;\n"
             "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive;\n"
             "barrier.cluster.wait;\nmapa.shared::cluster.u32 %r6, %r2, 1;\n"
             "setp.ne.u32 %p3, %r7, 0;\n@%p3 bra OWNER;\n@%p0 bra END;\n"
             "mbarrier.arrive" +
             order +
             ".shared::cluster.b64 _, [%r6];\n"
             "bra END;\nOWNER:\n" +
             wait + "END:\n";
    };
    // A phase that is complete says that its arrivals are over, whatever they
    // hand on; half a cluster barrier says nothing.
    expectTwins("dsmem-after-exit", {body(""), 64, 2, 2},
                body(waitFor(0, "0", "L0")));
    expectFinding("dsmem-after-exit",
                  {body("barrier.cluster.arrive;\n"), 64, 2, 2});
  }
}

const std::string init = "mbarrier.init.shared::cta.b64 [%r2], 1;\n"
                         "fence.mbarrier_init.release.cluster;\n";
const std::string load =
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;\n"
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
    "[%r3], [%q0], 256, [%r2];\n";

std::string loadThen(const std::string &other) {
  return "@%p0 bra READY;\n" + init + "READY:\n" + bar + first(load) +
         warpText(1, other) + waitFor(0, "0", "L9");
}

TEST(Edges, ALoadIsDoneWithItsPhase) {
  expectTwins("race-shared", {loadThen(get)},
              loadThen(waitFor(0, "0", "L0") + get));
  expectTwins("race-shared", {loadThen(put)},
              loadThen(waitFor(0, "0", "L0") + "@!%p1 " + put));
  // The source is read by the async proxy until the phase is complete.
  expectTwins(
      "race-global", {loadThen("@!%p1 st.global.b32 [%q0], 1;\n")},
      loadThen(waitFor(0, "0", "L0") + "@!%p1 st.global.b32 [%q0], 1;\n"));
}

const std::string proxy = "fence.proxy.async.shared::cta;\n";
const std::string fill = "shl.b32 %r6, %r4, 3;\nadd.u32 %r6, %r6, %r3;\n"
                         "st.shared.b64 [%r6], %q0;\n";
const std::string store =
    "cp.async.bulk.global.shared::cta.bulk_group [%q0], [%r3], 256;\n"
    "cp.async.bulk.commit_group;\n";

std::string storeThen(const std::string &wait, const std::string &after) {
  return warpText(0, fill + proxy + "bar.warp.sync 0xffffffff;\n") +
         first(store + wait) + bar + after +
         warpText(0, "cp.async.bulk.wait_group 0;\n");
}

TEST(Edges, BulkGroupsOrderTheirThread) {
  std::string all = "cp.async.bulk.wait_group 0;\n",
              reads = "cp.async.bulk.wait_group.read 0;\n";
  std::string overwrite = warpText(1, "@!%p1 " + put);
  std::string reread = warpText(1, "@!%p1 ld.global.b32 %r5, [%q0];\n");
  expectTwins("race-shared", {storeThen("", overwrite)},
              storeThen(reads, overwrite));
  expectTwins("race-global", {storeThen(reads, reread)},
              storeThen(all, reread));
  // One group may be pending: it is the newest one.
  std::string two =
      store + "add.u64 %q2, %q0, 1024;\nadd.u32 %r8, %r3, 4096;\n" +
      "st.shared.b64 [%r8], %q0;\nst.shared.b64 [%r8+8], %q0;\n" + proxy +
      "cp.async.bulk.global.shared::cta.bulk_group [%q2], "
      "[%r8], 16;\ncp.async.bulk.commit_group;\n";
  auto body = [&](const std::string &offset) {
    return warpText(0, fill + proxy + "bar.warp.sync 0xffffffff;\n") +
           first(two + "cp.async.bulk.wait_group.read 1;\n") + bar +
           warpText(1, "@!%p1 st.shared.b32 [%r3+" + offset + "], 7;\n") +
           warpText(0, "cp.async.bulk.wait_group 0;\n");
  };
  expectTwins("race-shared", {body("4096")}, body("0"));
}

TEST(Edges, CpAsync) {
  auto body = [](const std::string &wait) {
    return "shl.b32 %r6, %r4, 4;\nadd.u32 %r6, %r6, %r3;\ncvt.u64.u32 %q2, "
           "%r4;\nshl.b64 %q2, %q2, 4;\nadd.u64 %q2, %q0, %q2;\n" +
           warpText(0, "cp.async.ca.shared.global [%r6], [%q2], 16;\n"
                       "cp.async.commit_group;\n" +
                           wait) +
           bar + warpText(1, get);
  };
  expectTwins("race-shared", {body("")}, body("cp.async.wait_group 0;\n"));
  expectFinding("", {body("cp.async.wait_all;\n")});
}

TEST(Edges, TheCtaOutlivesWhatTouchesItsMemory) {
  auto body = [](const std::string &wait) {
    return warpText(0, fill + proxy + "bar.warp.sync 0xffffffff;\n") +
           first(store + wait);
  };
  expectTwins("smem-in-use-at-exit", {body("")},
              body("cp.async.bulk.wait_group.read 0;\n"));
  std::string never =
      "@%p0 bra READY;\n" + init + "READY:\n" + bar + first(load);
  expectTwins("smem-in-use-at-exit", {never},
              never + warpText(1, waitFor(0, "0", "L0")));
}

// --- lanes of one warp ---

const std::string meet = "bar.warp.sync 0xffffffff;\n";
/// Lane 0 alone, and lane 5 alone.
std::string leader(const std::string &text) { return warpText(0, text, true); }
std::string lane5(const std::string &text) {
  static unsigned count = 0;
  std::string label = "NOT5" + std::to_string(count++);
  return "setp.ne.u32 %p5, %r0, 5;\n@%p5 bra " + label + ";\n" + text + label +
         ":\n";
}

TEST(Lanes, MeetAtBarWarpSync) {
  expectTwins("race-shared", {lane5(put) + leader(get)},
              lane5(put) + meet + leader(get));
  expectTwins("race-shared", {leader(put) + meet + lane5(get) + leader(put)},
              leader(put) + meet + lane5(get) + meet + leader(put));
  expectTwins("race-shared", {lane5(put) + leader(put)},
              lane5(put) + "bar.sync 0;\n" + leader(put));
  expectTwins("race-global",
              {lane5("st.global.b32 [%q0], 1;\n") +
               leader("ld.global.b32 %r5, [%q0];\n")},
              lane5("st.global.b32 [%q0], 1;\n") + meet +
                  leader("ld.global.b32 %r5, [%q0];\n"));
  // Only those of the mask meet.
  std::string five = "setp.gt.u32 %p6, %r0, 5;\n@%p6 bra PAST6;\n"
                     "bar.warp.sync 0x3f;\nPAST6:\n";
  expectFinding("", {lane5(put) + five + leader(get)});
}

TEST(Lanes, ReadOneByteTogether) {
  std::string seed = leader(put) + bar;
  expectTwins("race-shared", {seed + warpText(0, get) + leader(put)},
              seed + warpText(0, get) + meet + leader(put));
  expectFinding("", {seed + warpText(0, get) + warpText(0, get)});
  expectFinding("", {seed + leader(get + put)});
}

/// A collective brings lanes together and orders no memory; ptxas's practice is
/// that it does.
TEST(Lanes, CollectivesOrderInPracticeOnly) {
  for (std::string collective :
       {"elect.sync %r8|%p7, 0xffffffff;\n",
        "shfl.sync.idx.b32 %r8, %r0, 0, 31, 0xffffffff;\n",
        "vote.sync.ballot.b32 %r8, %p1, 0xffffffff;\n"}) {
    RaceKernel kernel{lane5(put) + collective + leader(get)};
    expectFinding("race-shared", kernel);
    kernel.conformance = Conformance::Practice;
    expectFinding("", kernel);
    kernel.body = lane5(put) + leader(get);
    expectFinding("race-shared", kernel);
  }
}

TEST(Lanes, AnArrivalHandsOnWhatItsLaneKnows) {
  auto body = [](const std::string &between) {
    return setUp +
           warpText(0, "shl.b32 %r6, %r4, 2;\nadd.u32 %r6, %r6, %r3;\n"
                       "st.shared.b32 [%r6], 7;\n" +
                           between) +
           first("mbarrier.arrive.shared::cta.b64 _, [%r2];\n") +
           second(waitFor(0, "0", "L0") + "ld.shared.b32 %r5, [%r3+20];\n");
  };
  expectTwins("race-shared", {body("")}, body(meet));
  // Lane 0 hands on its own store.
  expectFinding("", {setUp +
                     first(put + "mbarrier.arrive.shared::cta.b64 _, "
                                 "[%r2];\n") +
                     second(waitFor(0, "0", "L0") + get)});
}

TEST(Lanes, ABulkStoreIsOfTheLaneThatIssuesIt) {
  auto body = [](const std::string &between) {
    return warpText(0, fill + proxy + between) +
           first(store + "cp.async.bulk.wait_group 0;\n");
  };
  expectTwins("race-shared", {body("")}, body(meet));
}

// --- mbarrier.init ---

TEST(Edges, TheAsyncProxySeesAnInitBehindItsFence) {
  auto body = [](const std::string &afterInit, const std::string &atIssue) {
    return "@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], 1;\n" +
           afterInit + "READY:\n" + bar + second(atIssue + load) +
           waitFor(0, "0", "L0");
  };
  const std::string fenced = "fence.mbarrier_init.release.cluster;\n";
  expectTwins("mbarrier-init-fence", {body("", "")}, body(fenced, ""));
  expectFinding("", {body(proxy, "")});
  expectFinding("", {body("", proxy)});
  // fence.mbarrier_init is for the inits of its own thread.
  expectFinding("mbarrier-init-fence", {body("", fenced)});
  RaceKernel practice{body("", "")};
  practice.conformance = Conformance::Practice;
  expectFinding("", practice);
}

/// Ahead of a relaxed arrive at the cluster barrier the fence releases the
/// inits.
TEST(Edges, AnInitIsReleasedToTheClusterByItsFence) {
  auto body = [](const std::string &fenced, const std::string &barrier) {
    return "@!%p0 mbarrier.init.shared::cta.b64 [%r2], 1;\n" + fenced +
           barrier +
           "mapa.shared::cluster.u32 %r6, %r2, 1;\nsetp.ne.u32 %p3, %r7, 0;\n"
           "@%p3 bra OWNER;\n@%p0 bra END;\n"
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];\n"
           "bra END;\nOWNER:\n" +
           waitFor(0, "0", "L0") + "END:\n";
  };
  const std::string fenced = "@!%p0 fence.mbarrier_init.release.cluster;\n";
  const std::string relaxed =
      "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n";
  expectTwins("race-shared", {body("", relaxed), 32, 2, 2},
              body(fenced, relaxed));
  expectFinding(
      "",
      {body("", "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"), 32, 2, 2});
}

} // namespace

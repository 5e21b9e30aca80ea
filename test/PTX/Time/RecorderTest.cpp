//===- RecorderTest.cpp - What is recorded --------------------------------===//
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

unsigned countOf(const Recording &recording, const WarpRecord &warp,
                 std::string_view name) {
  unsigned count = 0;
  for (const Step &step : warp.steps)
    count += recording.codes[step.code].of->name == name;
  return count;
}

/// Warp 1 waits for an arrival of warp 0, which is late.
const std::string waits =
    "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n"
    "@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [smem], 1;\n"
    "READY:\nbar.sync 0;\nsetp.lt.u32 %p2, %r1, 32;\n@%p2 bra LATE;\n" +
    waitFor(0, "0", "WAIT") + "bra END;\nLATE:\nbar.warp.sync 0xffffffff;\n" +
    repeat(200, "fma.rn.f32 %f1, %f1, %f1, %f1;") +
    "@%p1 bra END;\nmbarrier.arrive.shared::cta.b64 _, [smem];\nEND:\n";

TEST(Recorder, ALoopAroundAWaitBecomesOneWait) {
  Recording recording = record({waits, 64});
  ASSERT_EQ(recording.warps.size(), 2u);
  for (const WarpRecord &warp : recording.warps)
    if (warp.warp == 1) {
      EXPECT_EQ(countOf(recording, warp, "Wait"), 1u);
      EXPECT_EQ(countOf(recording, warp, "Branch"), 3u);
    }
}

TEST(Recorder, EachPhaseHasItsSignals) {
  Recording recording = record({waits, 64});
  // The barrier of both warps, and the arrival of one thread.
  EXPECT_EQ(recording.signals, (std::vector<uint32_t>{2, 1}));
}

TEST(Recorder, APollThatDoesNotRepeatIsKept) {
  Recording recording =
      record({"mbarrier.init.shared::cta.b64 [smem], 1;\n"
              "mbarrier.test_wait.parity.shared::cta.b64 %p1, [smem], 0;\n"
              "mbarrier.arrive.shared::cta.b64 _, [smem];\n" +
                  waitFor(0, "0", "WAIT"),
              1});
  EXPECT_EQ(countOf(recording, recording.warps[0], "Wait"), 2u);
}

TEST(Recorder, OnlyTheFirstClustersOfOneSmAreRecorded) {
  Module module =
      Module::parse(textOf({"fma.rn.f32 %f1, %f1, %f1, %f1;"}), "test.ptx");
  LaunchConfig config;
  config.entry = "k";
  config.grid = {9, 1, 1};
  config.block = {64, 1, 1};
  Recorder recorder(ClustersOfSm{2, 3, 2});
  Options options;
  options.observer = &recorder;
  options.checks = {"none"};
  Device device;
  LaunchResult result = launch(device, module, config, options);
  std::set<uint64_t> recorded;
  for (const WarpRecord &warp : recorder.recording().warps)
    recorded.insert(warp.cluster);
  EXPECT_EQ(recorded, (std::set<uint64_t>{2, 5}));
  EXPECT_EQ(recorder.recording().warps.size(), 4u);
  EXPECT_EQ(recorder.recording().clusters, 2u);
  EXPECT_EQ(result.threads, 1u);
}

TEST(Recorder, StepsWhoseGuardIsFalseTakeASlot) {
  Recording recording =
      record({"setp.ne.u32 %p1, %r1, %r1;\n@%p1 add.u32 %r2, %r2, 1;\n"});
  EXPECT_EQ(recording.warps[0].steps.size(), 3u);
}

TEST(Recorder, ReadsOfPayloadsAreDependences) {
  Recording recording =
      record({"mbarrier.init.shared::cta.b64 [smem], 1;\nmov.u32 %r5, 64;\n"
              "mov.u32 %r6, smem;\ncvta.shared.u64 %q1, %q1;\n"
              "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
              "complete_tx::bytes [%r6], [%r6], %r5, [%r6];\n",
              1});
  for (const Code &code : recording.codes)
    if (code.of->action == Action::Copy) {
      EXPECT_GE(code.reads.size(), 5u);
    }
}

std::string errorOf(Policy policy, size_t mostSteps) {
  Module module =
      Module::parse(textOf({"fma.rn.f32 %f1, %f1, %f1, %f1;"}), "test.ptx");
  LaunchConfig config;
  config.entry = "k";
  Recorder recorder(ClustersOfSm{}, mostSteps);
  Options options;
  options.observer = &recorder;
  options.policy = policy;
  Device device;
  try {
    launch(device, module, config, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Recorder, MoreThanFitsIsAnError) {
  EXPECT_EQ(errorOf(Policy::Eager, 2), "");
  EXPECT_EQ(errorOf(Policy::Eager, 1),
            "expected at most 1 warp instructions of the first CTAs to model "
            "their time, got more: launch a smaller problem");
}

TEST(Recorder, OtherPoliciesAreErrors) {
  EXPECT_EQ(errorOf(Policy::Late, 2),
            "expected policy eager to record for the modeled time, got another "
            "one");
}

} // namespace

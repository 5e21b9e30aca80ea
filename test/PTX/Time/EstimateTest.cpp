//===- EstimateTest.cpp - Launches in time --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "fmha/PTX/Time/Estimate.h"

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;

namespace {

Occupancy occupancy(uint32_t ctas, uint32_t threads, uint32_t bytes,
                    std::optional<Dim3> cluster = {},
                    std::optional<uint32_t> registers = {}) {
  Module::Entry entry;
  entry.maxRegisters = registers;
  LaunchConfig config;
  config.grid = {ctas, 1, 1};
  config.block = {threads, 1, 1};
  config.cluster = cluster;
  config.dynamicSharedBytes = bytes;
  return occupancyOf(entry, config, "sm_100a");
}

TEST(Estimate, CtasAreSpreadBeforeTheyShareAnSm) {
  EXPECT_EQ(occupancy(1, 128, 0).perSm, 1u);
  EXPECT_EQ(occupancy(148, 128, 0).perSm, 1u);
  EXPECT_EQ(occupancy(149, 128, 0).perSm, 2u);
  EXPECT_EQ(occupancy(149, 128, 0).waves, 1u);
}

TEST(Estimate, AnotherGpuMayHaveFewerSms) {
  Module::Entry entry;
  LaunchConfig config;
  config.grid = {6, 1, 1};
  config.block = {128, 1, 1};
  Occupancy two = occupancyOf(entry, config, "sm_90a", 2);
  EXPECT_EQ(two.perSm, 3u);
  EXPECT_EQ(two.waves, 1u);
  EXPECT_EQ(occupancyOf(entry, config, "sm_90a").perSm, 1u);
}

TEST(Estimate, AnSmTakesClustersThatAreAllSmsApart) {
  Module::Entry entry;
  LaunchConfig config;
  config.grid = {12, 1, 1};
  config.cluster = Dim3{2, 1, 1};
  config.block = {128, 1, 1};
  Occupancy four = occupancyOf(entry, config, "sm_90a", 4);
  EXPECT_EQ(four.clusters, 6u);
  EXPECT_EQ(four.places, 2u);
}

TEST(Estimate, ResourcesBoundTheCtasOfAnSm) {
  EXPECT_EQ(occupancy(10000, 128, 230000).perSm, 1u);
  EXPECT_EQ(occupancy(10000, 128, 100 * 1024).perSm, 2u);
  EXPECT_EQ(occupancy(10000, 1024, 0).perSm, 2u);
  EXPECT_EQ(occupancy(10000, 256, 0, {}, 128).perSm, 2u);
  EXPECT_EQ(occupancy(149, 128, 230000).waves, 2u);
}

TEST(Estimate, AClusterTakesAnSmForEachCta) {
  Occupancy pair = occupancy(150, 128, 230000, Dim3{2, 1, 1});
  EXPECT_EQ(pair.perWave, 74u);
  EXPECT_EQ(pair.waves, 2u);
}

LaunchConfig gridOf(uint32_t ctas) {
  LaunchConfig config;
  config.grid = {ctas, 1, 1};
  return config;
}

TEST(Estimate, WavesFollowOneAnother) {
  Recording recording = record({repeat(20, "fma.rn.f32 %f1, %f1, %f1, %f1;")});
  Estimate result = estimate(recording, {1, 148, 3}, gridOf(400), "sm_100a");
  EXPECT_EQ(result.wave.middle, 20 * figure(Figure::FmaLatency));
  EXPECT_EQ(result.clocks.middle, 3 * result.wave.middle);
  EXPECT_LE(result.clocks.low, result.clocks.middle);
  EXPECT_LE(result.clocks.middle, result.clocks.high);
  EXPECT_EQ(result.mmaUtilisation, 0);
}

TEST(Estimate, TheMiddleIsTheMeanOfLaunchesNearTheMiddle) {
  for (const char *target : {"sm_90a", "sm_100a"}) {
    Recording recording =
        record({repeat(40, "ex2.approx.f32 %f1, %f1;"), 128, target});
    double sum = 0;
    for (uint32_t seed = 1; seed <= 5; ++seed) {
      double share = figure(Figure::LaunchSpread, target);
      Figures figures = *figuresNear(target, seed, share);
      sum += schedule(recording, figures, false, seed).clocks;
    }
    Estimate time = estimate(recording, {1, 148, 1}, gridOf(1), target);
    EXPECT_NEAR(time.clocks.middle, sum / 5, 1e-6) << target;
  }
  EXPECT_GT(figure(Figure::LaunchSpread, "sm_90a"), 0);
}

TEST(Estimate, TheBoundNamesTheBusyUnit) {
  Recording recording = record({repeat(50, "ex2.approx.f32 %f#, %f200;")});
  Estimate result = estimate(recording, {}, gridOf(1), "sm_100a");
  EXPECT_EQ(result.bound.substr(0, 12), "warp 0: MUFU") << result.bound;
  EXPECT_NE(result.bound.find("MUFU 100 %"), std::string::npos) << result.bound;
}

TEST(Estimate, DeviceMemoryBoundsALaunch) {
  Recording recording = record({"fma.rn.f32 %f1, %f1, %f1, %f1;"});
  recording.copiedBytes = 1 << 30;
  Estimate result = estimate(recording, {}, gridOf(1), "sm_100a");
  EXPECT_DOUBLE_EQ(result.clocks.middle,
                   double(1 << 30) / figure(Figure::DramBytes));
  EXPECT_TRUE(result.bound.starts_with("device memory")) << result.bound;
}

TEST(Estimate, EachLineSaysThatItIsModeled) {
  Recording recording = record({"fma.rn.f32 %f1, %f1, %f1, %f1;"});
  std::string text =
      describe(estimate(recording, {1, 148, 2}, gridOf(200), "sm_90a"));
  size_t lines = 0, words = 0;
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; ++at)
    ++lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    words += text.substr(at, 7) == "modeled";
  EXPECT_EQ(lines, 3u);
  EXPECT_EQ(words, lines);
}

/// Returns the clocks of the CTAs that an SM of a GPU of `sms` runs first, of a
/// launch of six CTAs that fill half of an SM.
double clocksOfSm(const Kernel &kernel, Device &device, unsigned sm,
                  unsigned sms) {
  Module module = Module::parse(textOf(kernel), "test.ptx");
  LaunchConfig config = gridOf(6);
  config.entry = "k";
  config.block = {kernel.threads, 1, 1};
  config.dynamicSharedBytes = 120 * 1024;
  config.parameters = kernel.values;
  TimeOptions how;
  how.sms = sms;
  how.sm = sm;
  std::optional<Estimate> time;
  launchTimed(device, module, config, {}, kernel.target, time, how);
  return time->wave.middle;
}

TEST(Estimate, SmsThatDoTheSameTakeTheSame) {
  // With nothing in L2, each SM reads the line first.
  Device device;
  Kernel kernel{"ld.param.u64 %q1, [in];\nld.global.b32 %r1, [%q1];\n"
                "add.u32 %r2, %r1, 1;"};
  kernel.parameters = ".param .u64 in";
  kernel.values = {bytesOf(device.allocate(128))};
  double first = clocksOfSm(kernel, device, 0, 6);
  EXPECT_GT(first, figure(Figure::DramLatency));
  for (unsigned sm = 1; sm < 6; ++sm)
    EXPECT_EQ(clocksOfSm(kernel, device, sm, 6), first);
}

TEST(Estimate, TheSmChoosesTheCtas) {
  // CTA n repeats a step n + 1 times.
  Kernel kernel{"mov.u32 %r1, %ctaid.x;\nLOOP:\nsub.s32 %r1, %r1, 1;\n"
                "setp.ge.s32 %p1, %r1, 0;\n@%p1 bra LOOP;\n"};
  auto clocksOn = [&](unsigned sm, unsigned sms) {
    Device device;
    return clocksOfSm(kernel, device, sm, sms);
  };
  double first = clocksOn(0, 6), next = clocksOn(1, 6);
  EXPECT_GT(next, first);
  EXPECT_NEAR(clocksOn(5, 6) - first, 5 * (next - first), 1);
  // With one CTA per SM at a time, later waves are not recorded.
  EXPECT_EQ(clocksOn(1, 3), next);
  EXPECT_EQ(clocksOn(6, 6), first);
}

TEST(Estimate, OtherTargetsAreErrors) {
  try {
    checkTarget("sm_80");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()),
              "expected a target with figures for the modeled time (sm_90a, "
              "sm_100a and sm_103a), got sm_80");
  }
}

} // namespace

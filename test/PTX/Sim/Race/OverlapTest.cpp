//===- OverlapTest.cpp - Programmatic launches that overlap ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.13, griddepcontrol. Each test runs a stream of grids under
// several schedules and on several cores, which must not change the findings.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

using namespace ptxsim;
using namespace ptxsim::test;
using testing::HasSubstr;

namespace {

/// One launch. Registers: %q0 = 4096 initialized bytes of global memory, %q1 =
/// the word of the thread there, %r3 = that thread, %r7 = %ctaid.x, %p0 = not
/// thread 0, %p1 = not warp 0, and those of kernelText.
struct Grid {
  std::string body;
  bool programmatic = true;
  uint64_t stream = 0;
  std::set<std::string> checks = {"all"};
  /// What the host does before the launch.
  std::function<void(Device &)> before = nullptr;
};

constexpr unsigned kCtas = 4, kThreads = 64;

/// The text of grid `number`; its entry is `grid0`, `grid1`, ...
std::string textOf(const Grid &grid, size_t number) {
  std::string text =
      kernelText(".param .u64 buffer",
                 "ld.param.u64 %q0, [buffer];\nmov.u32 %r7, %ctaid.x;\n"
                 "mad.lo.u32 %r3, %r7, 64, %r0;\n"
                 "mad.wide.u32 %q1, %r3, 4, %q0;\n"
                 "setp.ne.u32 %p0, %r0, 0;\nsetp.ne.u32 %p1, %r1, 0;\n" +
                     grid.body);
  std::string name = ".entry grid" + std::to_string(number) + "(";
  return text.replace(text.find(".entry k("), 9, name);
}

/// The 1-based line of grid `number` that holds `part`.
unsigned lineOf(const Grid &grid, size_t number, const std::string &part) {
  std::string text = textOf(grid, number);
  auto end = text.begin() + std::ptrdiff_t(text.find(part));
  return 1 + unsigned(std::count(text.begin(), end, '\n'));
}

std::vector<LaunchResult> runStream(const std::vector<Grid> &grids,
                                    const Options &options) {
  Device device;
  uint64_t buffer = device.allocate(4096);
  device.fill(buffer, std::byte{0}, 4096);
  std::vector<LaunchResult> results;
  for (size_t i = 0; i < grids.size(); ++i) {
    if (grids[i].before)
      grids[i].before(device);
    Module module = Module::parse(textOf(grids[i], i), "test.ptx");
    LaunchConfig config;
    config.entry = "grid" + std::to_string(i);
    config.grid.x = kCtas;
    config.block.x = kThreads;
    config.dynamicSharedBytes = 4096;
    config.parameters = {bytesOf(buffer)};
    config.stream = grids[i].stream;
    config.programmatic = grids[i].programmatic;
    Options own = options;
    own.checks = grids[i].checks;
    results.push_back(launch(device, module, config, own));
  }
  return results;
}

/// Runs the grids under each policy, both conformances, and on 1, 2 and 3
/// cores. Expects the same findings for each number of cores, and none except
/// in the last grid; calls `check` with the findings of that one.
void forSchedules(const std::vector<Grid> &grids,
                  const std::function<void(const LaunchResult &)> &check) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Options options = optionsOf(seed == 0   ? Policy::Eager
                                : seed == 1 ? Policy::Late
                                : seed < 4  ? Policy::Random
                                            : Policy::Pct,
                                seed);
    if (seed % 2)
      options.conformance = Conformance::Practice;
    std::string first;
    for (unsigned threads : {1u, 2u, 3u}) {
      SCOPED_TRACE("schedule " + std::to_string(seed) + ", cores " +
                   std::to_string(threads));
      options.threads = threads;
      std::vector<LaunchResult> results = runStream(grids, options);
      LaunchResult last = std::move(results.back());
      results.pop_back();
      for (const LaunchResult &result : results)
        EXPECT_EQ(result.status, Status::Ok) << ptxsim::test::textOf(result);
      first = threads == 1 ? ptxsim::test::textOf(last) : first;
      EXPECT_EQ(ptxsim::test::textOf(last), first);
      check(last);
    }
  }
}

void expectOrder(const std::vector<Grid> &grids) {
  forSchedules(grids, [](const LaunchResult &result) {
    EXPECT_EQ(result.status, Status::Ok) << ptxsim::test::textOf(result);
  });
}

/// Expects one race, in the line of the last grid that holds `at`, whose
/// message contains `what`.
void expectRace(const std::vector<Grid> &grids, const std::string &at,
                const std::string &what) {
  unsigned line = lineOf(grids.back(), grids.size() - 1, at);
  forSchedules(grids, [&](const LaunchResult &result) {
    ASSERT_EQ(result.findings.size(), 1u) << ptxsim::test::textOf(result);
    const Finding &finding = result.findings[0];
    EXPECT_EQ(finding.id, "race-global");
    EXPECT_EQ(finding.ptxLine, line);
    EXPECT_THAT(finding.message, HasSubstr(what));
    EXPECT_THAT(finding.fix, HasSubstr("griddepcontrol.wait"));
    EXPECT_FALSE(finding.otherParty) << "its line is one of another text";
  });
}

const std::string kStore = "st.global.u32 [%q1], %r3;\n";
const std::string kLoad = "ld.global.u32 %r8, [%q1];\n";
const std::string kWait = "griddepcontrol.wait;\n";
const std::string kTrigger = "griddepcontrol.launch_dependents;\n";
const std::string kBarrier = "bar.sync 0;\n";

/// What a race with a write of grid `number` says.
std::string writerText(const Grid &grid, size_t number,
                       const std::string &part) {
  return "an earlier grid, `grid" + std::to_string(number) +
         "`, may still write (line " +
         std::to_string(lineOf(grid, number, part)) + " of its PTX).";
}

TEST(Overlap, AReadBeforeTheWaitRaces) {
  Grid primary{kStore + kTrigger, false};
  expectRace({primary, {kLoad + kWait}}, kLoad, writerText(primary, 0, kStore));
  expectOrder({primary, {kWait + kLoad}});
}

TEST(Overlap, TheTriggerOrdersNothing) {
  // Without launch_dependents the dependent grid starts when all CTAs have
  // ended; even then only the wait makes memory visible.
  Grid primary{kStore, false};
  expectRace({primary, {kTrigger + kLoad}}, kLoad,
             writerText(primary, 0, kStore));
}

TEST(Overlap, OnlyProgrammaticLaunchesOverlap) {
  expectOrder({{kStore, false}, {kLoad, false}});
  expectOrder({{kStore, true}, {kLoad, false}});
  expectOrder({{kStore, false}, {kWait + kLoad, false}});
}

TEST(Overlap, AWriteRacesWithReadsAndWrites) {
  expectRace({{kLoad, false}, {kStore + kWait}}, kStore,
             "an earlier grid, `grid0`, may still read.");
  Grid primary{kStore, false};
  const std::string other = "st.global.u32 [%q1], 7;\n";
  expectRace({primary, {other + kWait}}, other, writerText(primary, 0, kStore));
  expectOrder({{kLoad, false}, {kWait + kStore}});
  // The write is named where there are both.
  primary.body += kLoad;
  expectRace({primary, {other}}, other, writerText(primary, 0, kStore));
}

TEST(Overlap, StrongAccessesRaceToo) {
  const std::string count = "red.relaxed.gpu.global.add.u32 [%q0], 1;\n";
  Grid primary{count, false};
  expectRace({primary, {count + kWait}}, count, writerText(primary, 0, count));
  expectOrder({primary, {kWait + count}});
}

TEST(Overlap, ThePrologueIsFree) {
  const std::string constant = "ld.global.u32 %r8, [%q0+3000];\n";
  expectOrder({{kStore, false}, {constant + kWait + kLoad}});
  expectOrder({{kLoad, false}, {kLoad + kWait}});
}

TEST(Overlap, TheFirstByteIsNamed) {
  const std::string load = "ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%q0];\n";
  const std::string store = "@!%p0 st.global.u8 [%q0+13], %r3;\n"
                            "@!%p0 st.global.u8 [%q0+9], %r3;\n";
  Grid primary{"setp.ne.u32 %p2, %r7, 0;\n@%p2 ret;\n" + store, false};
  // The address of the first allocation of a device.
  expectRace({primary, {load}}, load, "memory at 0x700000000009 that");
  // A store of many bytes is one access, of which the load meets a part.
  Grid wide{"setp.ne.u32 %p2, %r7, 0;\n@%p2 ret;\n@!%p0 st.global.v4.u32 "
            "[%q0], {%r3, %r3, %r3, %r3};\n",
            false};
  const std::string part = "ld.global.u32 %r8, [%q0+8];\n";
  expectRace({wide, {part}}, part, "memory at 0x700000000008 that");
}

TEST(Overlap, ABarrierHandsTheWaitOn) {
  expectOrder({{kStore, false}, {"@!%p0 " + kWait + kBarrier + kLoad}});
  Grid primary{kStore, false};
  expectRace({primary, {"@!%p1 " + kWait + kLoad}}, kLoad,
             writerText(primary, 0, kStore));
  expectRace({primary, {kBarrier + "@!%p1 " + kWait + kLoad}}, kLoad,
             writerText(primary, 0, kStore));
}

TEST(Overlap, AnMbarrierHandsTheWaitOn) {
  auto body = [](const std::string &arrive) {
    return "@!%p0 mbarrier.init.shared::cta.b64 [%r2], 1;\n" + kBarrier +
           "@!%p0 " + kWait + "@!%p0 " + arrive + waitFor(0, "0", "W") + kLoad;
  };
  Grid primary{kStore, false};
  expectOrder({primary, {body("mbarrier.arrive.shared::cta.b64 _, [%r2];\n")}});
  expectRace({primary,
              {body("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, "
                    "[%r2];\n")}},
             kLoad, writerText(primary, 0, kStore));
}

TEST(Overlap, AReleaseHandsTheWaitToOtherClusters) {
  auto body = [](const std::string &wait) {
    return "@%p0 bra END;\nsetp.ne.u32 %p2, %r7, 0;\n@%p2 bra POLL;\n" + wait +
           "st.release.gpu.global.u32 [%q0+3000], 1;\nbra END;\n"
           "POLL:\nld.acquire.gpu.global.u32 %r9, [%q0+3000];\n"
           "setp.eq.u32 %p3, %r9, 0;\n@%p3 bra POLL;\n" +
           kLoad + "END:\n";
  };
  Grid primary{kStore, false};
  expectOrder({primary, {body(kWait)}});
  expectRace({primary, {body("")}}, kLoad, writerText(primary, 0, kStore));
}

TEST(Overlap, ABulkLoadIsAnAccessOfItsIssuer) {
  auto body = [](const std::string &wait) {
    return "@!%p0 mbarrier.init.shared::cta.b64 [%r2], 1;\n"
           "@!%p0 fence.mbarrier_init.release.cluster;\n" +
           kBarrier + "@%p0 bra JOIN;\n" + wait +
           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;\n"
           "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
           "[%r2+1024], [%q0], 256, [%r2];\nJOIN:\n" +
           waitFor(0, "0", "W") + "ld.shared.u32 %r8, [%r2+1024];\n";
  };
  Grid primary{kStore, false};
  expectOrder({primary, {body(kWait)}});
  expectRace({primary, {body("")}}, "cp.async.bulk",
             writerText(primary, 0, kStore));
  // What the load has brought is known to who sees its phase: no fence is
  // missing, and the threads need no wait of their own.
  expectOrder({primary, {body(kWait) + kLoad}});
}

TEST(Overlap, ABulkStoreOfThePrimaryCounts) {
  const std::string copy =
      "cp.async.bulk.global.shared::cta.bulk_group [%q1], [%r2+1024], 16;\n";
  Grid primary{"@%p0 bra END;\n"
               "st.shared.v4.u32 [%r2+1024], {%r3, %r3, %r3, %r3};\n"
               "fence.proxy.async;\n" +
                   copy +
                   "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                   "END:\n",
               false};
  expectRace({primary, {kLoad}}, kLoad, writerText(primary, 0, copy));
  expectOrder({primary, {kWait + kLoad}});
}

TEST(Overlap, AGridThatNeverWaitsDoesNotImplyItsPredecessors) {
  Grid first{kStore, false};
  expectRace({first, {""}, {kWait + kLoad}}, kLoad,
             writerText(first, 0, kStore));
  expectOrder({first, {kWait}, {kWait + kLoad}});
  // One thread is enough: its grid ends after it.
  expectOrder({first, {"@!%p0 " + kWait}, {kWait + kLoad}});
  // The grid in the middle is waited for.
  expectOrder({{"", false}, {kStore}, {kWait + kLoad}});
}

TEST(Overlap, AWaitDoesNotReachWhatItsPrerequisiteOverlapped) {
  // grid2 waits for grid1, which has not waited for grid0.
  Grid first{kStore, false};
  expectRace({first, {""}, {kWait}, {kWait + kLoad}}, kLoad,
             writerText(first, 0, kStore));
  expectOrder({first, {kWait}, {""}, {kWait}, {kWait + kLoad}});
}

TEST(Overlap, AnOrdinaryLaunchOrdersEverything) {
  expectOrder({{kStore, false}, {""}, {"", false}, {kLoad}});
}

TEST(Overlap, TheLatestGridsAreKept) {
  Grid first{kStore, false};
  std::vector<Grid> grids = {first};
  for (unsigned i = 1; i < 8; ++i)
    grids.push_back({""});
  std::vector<Grid> shorter = grids;
  shorter.push_back({kLoad});
  expectRace(shorter, kLoad, writerText(first, 0, kStore));
  grids.push_back({""});
  grids.push_back({kLoad});
  expectOrder(grids);
}

TEST(Overlap, StreamsAreSeparate) {
  Grid first{kStore, false, 1};
  expectOrder({first, {kLoad, true, 2}});
  expectRace({first, {"", false, 2}, {kLoad, true, 1}}, kLoad,
             writerText(first, 0, kStore));
}

TEST(Overlap, TheHostOrders) {
  Grid first{kStore, false, 1};
  auto then = [](std::function<void(Device &)> before) {
    return Grid{kLoad, true, 1, {"all"}, std::move(before)};
  };
  const std::string race = writerText(first, 0, kStore);
  expectOrder({first, then([](Device &device) { device.finish(1); })});
  expectOrder({first, then([](Device &device) { device.finishAll(); })});
  expectOrder(
      {first, then([](Device &device) { device.free(device.allocate(16)); })});
  expectRace({first, then([](Device &device) { device.finish(2); })}, kLoad,
             race);
  expectRace({first, then([](Device &device) { device.finish(1, 0); })}, kLoad,
             race);
  expectOrder({first, then([](Device &device) { device.finish(1, 1); })});
}

TEST(Overlap, GriddepcontrolHasTwoForms) {
  for (const char *form :
       {"griddepcontrol;", "griddepcontrol.wait 1;",
        "griddepcontrol.wait.launch_dependents;", "griddepcontrol.signal;"})
    EXPECT_THROW(runStream({{form}}, {}), Error) << form;
}

TEST(Overlap, DisabledChecksKeepNothing) {
  Grid unchecked{kStore, false, 0, {"none"}};
  expectOrder({unchecked, {kLoad}});
  expectOrder({{kStore, false}, {kLoad, true, 0, {"race-shared"}}});
  // What happened in a grid without checks is unknown, and so are the
  // consequences.
  expectOrder({{kStore, false}, {"", true, 0, {"none"}}, {kLoad}});
}

} // namespace

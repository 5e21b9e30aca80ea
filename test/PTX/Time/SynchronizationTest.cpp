//===- SynchronizationTest.cpp - Waits in time ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "fmha/PTX/Time/CriticalPath.h"

#include <algorithm>
#include <limits>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;

namespace {

/// One thread loads `bytes` in `copies` bulk copies and waits for them.
Kernel bulkLoad(Device &device, unsigned bytes, unsigned copies = 1) {
  std::string total = std::to_string(bytes * copies);
  Kernel kernel{
      "mbarrier.init.shared::cta.b64 [smem], 1;\nld.param.u64 %q1, [in];\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [smem], " +
      total + ";\n" +
      repeat(copies, "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"
                     "bytes [smem+1024], [%q1], " +
                         std::to_string(bytes) + ", [smem];") +
      waitFor(0, "0", "WAIT")};
  kernel.threads = 1;
  kernel.parameters = ".param .u64 in";
  kernel.values = {bytesOf(device.allocate(bytes))};
  return kernel;
}

double clocksOfLoad(unsigned bytes, unsigned copies = 1) {
  Device device;
  Recording recording = record(bulkLoad(device, bytes, copies), device);
  return schedule(recording, *figuresOf("sm_100a", Level::Middle)).clocks;
}

TEST(Synchronization, AWaitForACopyTakesLatencyAndBytes) {
  // init and arrive issue before the copy, the wait ends with the last clock.
  double expected =
      2 + figure(Figure::TmaIssue) + 16384 / figure(Figure::TmaBytes) +
      figure(Figure::TmaDramLatency) + figure(Figure::WaitLatency);
  EXPECT_NEAR(clocksOfLoad(16384), expected, 3);
  EXPECT_NEAR(clocksOfLoad(32768) - clocksOfLoad(16384),
              16384 / figure(Figure::TmaBytes), 1);
}

/// Returns the clocks of one copy of each CTA of an SM from `source`.
double clocksOfRow(const Figures &figures, unsigned bytes, const char *source,
                   uint32_t ctas = 1) {
  Device device;
  Kernel kernel = bulkLoad(device, bytes);
  kernel.target = "sm_90a";
  kernel.ctas = ctas;
  kernel.values = {bytesOf(device.allocate(4096))};
  kernel.body.replace(kernel.body.find("[%q1]"), 5, source);
  return schedule(record(kernel, device, true), figures).clocks;
}

TEST(Synchronization, RowsThatAreNoWholeLinesTakeLonger) {
  Figures figures = *figuresOf("sm_90a", Level::Middle);
  figures[Figure::TmaNarrowRow] = 300;
  figures[Figure::TmaExtraLine] = 200;
  double line = clocksOfRow(figures, 128, "[%q1+128]");
  EXPECT_EQ(line, clocksOfRow(figures, 128, "[%q1]"));
  double bytes = 128 / figure(Figure::TmaBytes, "sm_90a");
  EXPECT_NEAR(clocksOfRow(figures, 128, "[%q1+64]") - line, 200, 1);
  EXPECT_NEAR(clocksOfRow(figures, 64, "[%q1+64]") - line, 300 - bytes, 1);
  EXPECT_NEAR(clocksOfRow(figures, 64, "[%q1+96]") - line, 500 - bytes, 1);
}

TEST(Synchronization, CtasOfOneSmLoadApartFromOtherSms) {
  Figures figures = *figuresOf("sm_90a", Level::Middle);
  figures[Figure::TmaApartLine] = 100;
  figures[Figure::TmaApartNarrowRow] = 300;
  figures[Figure::TmaApartExtraLine] = 200;
  figures[Figure::TmaApartExtraNarrowLine] = 50;
  auto clocksOfTwo = [&](unsigned bytes, const char *source) {
    return clocksOfRow(figures, bytes, source, 2);
  };
  double lines = clocksOfTwo(128, "[%q1]");
  EXPECT_NEAR(clocksOfTwo(128, "[%q1+64]") - lines, 2 * 200, 2);
  EXPECT_NEAR(clocksOfTwo(64, "[%q1+64]") - lines, 2 * (300 - 100), 2);
  EXPECT_NEAR(clocksOfTwo(64, "[%q1+96]") - lines, 2 * (350 - 100), 2);
}

TEST(Synchronization, ThePathOfCopiesOfAllLanesIsWhole) {
  // One instruction stores 32 times; its copies wait for each other, not for
  // it.
  std::string body = "ld.param.u64 %q1, [in];\n" +
                     repeat(4, "cp.async.bulk.global.shared::cta.bulk_group "
                               "[%q1], [smem], 4096;\n"
                               "cp.async.bulk.commit_group;") +
                     "cp.async.bulk.wait_group 0;\n";
  Kernel kernel{body, 32};
  kernel.parameters = ".param .u64 in";
  Device device;
  kernel.values = {bytesOf(device.allocate(4096))};
  Recording recording = record(kernel, device);
  Schedule steps = schedule(recording, *figuresOf("sm_100a", Level::Middle));
  double sum = 0;
  for (const Segment &segment : criticalPath(recording, steps))
    sum += segment.clocks;
  EXPECT_GT(steps.clocks, 4 * 32 * 4096 / figure(Figure::TmaBytes));
  EXPECT_NEAR(sum, steps.clocks, 50);
}

TEST(Synchronization, OneCopyAfterTheOtherTakesWhatIsMeasured) {
  // results/h200-tma-speed-2026-11-28.csv: 32 KiB in a ring of one stage take
  // 661 clocks on one SM, 730 on each of 132.
  auto clocksOfRounds = [](unsigned rounds) {
    Device device;
    Kernel kernel = bulkLoad(device, 32768);
    for (unsigned i = 1; i < rounds; ++i)
      kernel.body +=
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [smem], 32768;\n"
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
          "[smem+1024], [%q1], 32768, [smem];\n" +
          waitFor(0, i % 2 ? "1" : "0", "ROUND" + std::to_string(i));
    kernel.target = "sm_90a";
    Recording recording = record(kernel, device, true);
    double sum = 0;
    for (uint32_t seed = 1; seed <= 5; ++seed)
      sum +=
          schedule(recording, *figuresOf("sm_90a", Level::Middle), false, seed)
              .clocks;
    return sum / 5;
  };
  double clocks = (clocksOfRounds(17) - clocksOfRounds(1)) / 16;
  EXPECT_GT(clocks, 661 - 20);
  EXPECT_LT(clocks, 730 + 20);
}

TEST(Synchronization, SeedsChooseThePartsOfL2) {
  // Two copies of the same bytes: the first is from device memory.
  Device device;
  Kernel kernel = bulkLoad(device, 4096);
  kernel.body +=
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [smem], 4096;\n"
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
      "[smem+1024], [%q1], 4096, [smem];\n" +
      waitFor(0, "1", "AGAIN");
  Recording recording = record(kernel, device);
  const Figures figures = *figuresOf("sm_100a", Level::Middle);
  auto clocks = [&](uint32_t seed) {
    return schedule(recording, figures, false, seed).clocks;
  };
  double nearest = clocks(0), most = figures[Figure::TmaL2Spread];
  std::vector<double> later;
  for (uint32_t seed = 1; seed <= 8; ++seed)
    later.push_back(clocks(seed) - nearest);
  EXPECT_EQ(clocks(3) - nearest, later[2]);
  auto [least, greatest] = std::ranges::minmax(later);
  EXPECT_GE(least, 0);
  EXPECT_LE(greatest, most + 1);
  EXPECT_GT(greatest - least, most / 4);
  Device another;
  Recording first = record(bulkLoad(another, 4096), another);
  EXPECT_EQ(schedule(first, figures, false, 1).clocks,
            schedule(first, figures, false, 2).clocks);
}

/// Half of warp 0 waits for each of two mbarriers: warp 1 arrives at `early`
/// soon, and warp 2 at `late` after 500 dependent operations.
double clocksOfTwoWaits(const std::string &early, const std::string &late) {
  Kernel kernel{
      "mov.u32 %r0, %tid.x;\nshr.u32 %r1, %r0, 5;\nand.b32 %r2, %r0, 31;\n"
      "setp.eq.u32 %p1, %r0, 0;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [smem], 1;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [smem+8], 1;\nbar.sync 0;\n"
      "setp.eq.u32 %p2, %r1, 1;\nsetp.eq.u32 %p3, %r1, 2;\n"
      "setp.eq.u32 %p4, %r2, 0;\nmov.f32 %f1, 0f3F800000;\n"
      "@%p2 bra EARLY;\n@%p3 bra LATE;\nmov.u32 %r3, smem;\n"
      "setp.ge.u32 %p5, %r2, 16;\n@%p5 add.u32 %r3, %r3, 8;\n"
      "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r3], 0;\n"
      "@!%p6 bra WAIT;\nbra END;\nEARLY:\n"
      "@%p4 mbarrier.arrive.shared::cta.b64 _, [" +
      early + "];\nbra END;\nLATE:\n" +
      repeat(500, "fma.rn.f32 %f1, %f1, %f1, %f1;") +
      "@%p4 mbarrier.arrive.shared::cta.b64 _, [" + late + "];\nEND:\n"};
  kernel.threads = 96;
  return clocksOf(kernel);
}

TEST(Synchronization, OneWaitForTwoBarriersEndsWithTheLater) {
  double chain = 500 * figure(Figure::FmaLatency);
  EXPECT_GT(clocksOfTwoWaits("smem", "smem+8"),
            chain + figure(Figure::WaitLatency));
  EXPECT_NEAR(clocksOfTwoWaits("smem", "smem+8"),
              clocksOfTwoWaits("smem+8", "smem"), 4);
}

TEST(Synchronization, CopiesShareTheLinkToL2) {
  // The second copy's lines are known, but the first one's come later anyway.
  EXPECT_NEAR(clocksOfLoad(16384, 2) - clocksOfLoad(16384),
              std::max(0.0, 16384 / figure(Figure::TmaBytes) +
                                figure(Figure::TmaL2Latency) -
                                figure(Figure::TmaDramLatency)),
              1);
  EXPECT_NEAR(clocksOfLoad(16384, 9) - clocksOfLoad(16384, 8),
              16384 / figure(Figure::TmaBytes), 1);
}

/// In each round warp 0 works, stores and arrives, and warp 1 waits for that,
/// works, stores and arrives; with `waitsBack`, warp 0 waits for it. Each round
/// has two mbarriers of its own.
std::string handOff(unsigned rounds, unsigned work, bool waitsBack) {
  auto offset = [](unsigned barrier) { return std::to_string(8 * barrier); };
  std::string text =
      "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n";
  for (unsigned barrier = 0; barrier < 2 * rounds; ++barrier)
    text +=
        "mbarrier.init.shared::cta.b64 [smem+" + offset(barrier) + "], 32;\n";
  text += "READY:\nbar.sync 0;\nsetp.ge.u32 %p2, %r1, 32;\n"
          "@%p2 bra CONSUMER;\n";
  auto workOf = [&](unsigned barrier) {
    return repeat(work, "ex2.approx.f32 %f1, %f1;") +
           "st.shared.f32 [smem+1024], %f1;\n"
           "mbarrier.arrive.shared::cta.b64 _, [smem+" +
           offset(barrier) + "];\n";
  };
  for (unsigned i = 0; i < rounds; ++i) {
    text += workOf(2 * i);
    if (waitsBack)
      text += waitFor(8 * (2 * i + 1), "0", "BACK" + std::to_string(i));
  }
  text += "bra END;\nCONSUMER:\n";
  for (unsigned i = 0; i < rounds; ++i)
    text +=
        waitFor(16 * i, "0", "FULL" + std::to_string(i)) + workOf(2 * i + 1);
  return text + "END:\n";
}

TEST(Synchronization, AWaitEndsAfterTheArrivalOfAnotherWarp) {
  constexpr unsigned work = 20;
  double more = clocksOf({handOff(1, 2 * work, false), 64}) -
                clocksOf({handOff(1, work, false), 64});
  // Both do the work, one after the other.
  EXPECT_EQ(more, 2 * work * figure(Figure::MufuLatency));
}

TEST(Synchronization, ALaterRoundOverlapsTheConsumersWork) {
  constexpr unsigned work = 20;
  double round = work * figure(Figure::MufuLatency);
  double one = clocksOf({handOff(1, work, false), 64});
  double two = clocksOf({handOff(2, work, false), 64});
  EXPECT_NEAR(two - one, round, 20 + figure(Figure::WaitLatency));
  // If it waits, nothing overlaps.
  double apart = clocksOf({handOff(2, work, true), 64}) -
                 clocksOf({handOff(1, work, true), 64});
  EXPECT_GE(apart, 2 * round);
}

TEST(Synchronization, AsynchronousCopiesOfThreadsFillAQueue) {
  // Measured (results/h200-cp-async-2026-11-30.csv): clocks after so many
  // cp.async of each warp.
  auto clocks = [](unsigned warps, unsigned count) {
    Device device;
    std::string body = "ld.param.u64 %q1, [in];\nmov.u32 %r1, %tid.x;\n"
                       "shl.b32 %r1, %r1, 4;\nmov.u32 %r2, smem;\n"
                       "add.s32 %r1, %r1, %r2;\n";
    for (unsigned i = 0; i < count; ++i)
      body += "cp.async.cg.shared.global [%r1+" +
              std::to_string(i * warps * 512) + "], [%q1], 16;\n";
    Kernel kernel = {body,       32 * warps,
                     "sm_90a",   ".param .u64 in",
                     160 * 1024, {bytesOf(device.allocate(4096))}};
    Recording recording = record(kernel, device);
    Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
    double first = std::numeric_limits<double>::infinity(), last = 0;
    for (size_t w = 0; w < recording.warps.size(); ++w)
      for (size_t i = 0; i < recording.warps[w].steps.size(); ++i)
        if (recording.codes[recording.warps[w].steps[i].code]
                .opcode.starts_with("cp.async")) {
          first = std::min(first, steps.steps[w][i].issue);
          last = std::max(last, steps.steps[w][i].issue);
        }
    return last - first;
  };
  EXPECT_NEAR(clocks(1, 32), 144, 15);
  EXPECT_NEAR(clocks(4, 16), 142, 20);
  EXPECT_NEAR(clocks(4, 32), 398, 40);
}

TEST(Synchronization, ABarrierWaitsForTheLatestWarp) {
  auto body = [](unsigned work) {
    return "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\n"
           "@%p1 bra MEET;\n" +
           repeat(work, "ex2.approx.f32 %f1, %f1;") + "MEET:\nbar.sync 0;\n" +
           repeat(work, "ex2.approx.f32 %f2, %f2;");
  };
  double ten = clocksOf({body(10), 64}), twenty = clocksOf({body(20), 64});
  // The work ahead of the barrier is done by one warp only; results are not
  // needed there, but nothing after it starts earlier.
  EXPECT_NEAR(twenty - ten, 20 * figure(Figure::MufuLatency), 1);
}

TEST(Synchronization, AnArrivalAtABarrierTakesAnInterval) {
  // One warp arrives and then computes. The other one only waits, so it ends
  // first.
  auto body = [](unsigned arrivals) {
    std::string text = "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\n"
                       "@%p1 bra WAIT;\n";
    for (unsigned i = 1; i <= arrivals; ++i)
      text += "barrier.cta.arrive " + std::to_string(i) + ", 64;\n";
    text += repeat(20, "ex2.approx.f32 %f1, %f1;") + "bra END;\nWAIT:\n";
    for (unsigned i = 1; i <= arrivals; ++i)
      text += "barrier.cta.sync " + std::to_string(i) + ", 64;\n";
    return text + "END:\n";
  };
  for (const char *target : {"sm_90a", "sm_100a"}) {
    double more =
        clocksOf({body(3), 64, target}) - clocksOf({body(1), 64, target});
    EXPECT_NEAR(more, 2 * figure(Figure::BarrierArriveInterval, target), 4)
        << target;
  }
}

TEST(Synchronization, LanesOfOneWarpMayMeetAtABarrier) {
  // The lanes come on two paths, the second after the first waits.
  std::string body = "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 16;\n"
                     "@%p1 bra UPPER;\nbarrier.sync 0;\nbra END;\nUPPER:\n" +
                     repeat(10, "ex2.approx.f32 %f1, %f1;") +
                     "barrier.sync 0;\nEND:\n";
  EXPECT_GE(clocksOf({body}), 10 * figure(Figure::MufuLatency));
}

TEST(Synchronization, GroupsOfBulkStoresAreWaitedFor) {
  auto body = [](const char *wait) {
    return "ld.param.u64 %q1, [in];\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%q1], [smem], 7000;\n"
           "cp.async.bulk.commit_group;\n" +
           std::string(wait) + "\nfma.rn.f32 %f1, %f1, %f1, %f1;\n";
  };
  auto endOf = [&](const char *wait) {
    Kernel kernel{body(wait), 1};
    kernel.parameters = ".param .u64 in";
    Device device;
    kernel.values = {bytesOf(device.allocate(8192))};
    kernel.body.replace(kernel.body.find("7000"), 4, "7008");
    Recording recording = record(kernel, device);
    Schedule steps = schedule(recording, *figuresOf("sm_100a", Level::Middle));
    return steps.steps[0][4].issue;
  };
  double read = endOf("cp.async.bulk.wait_group.read 0;");
  double written = endOf("cp.async.bulk.wait_group 0;");
  EXPECT_EQ(written - read,
            figure(Figure::StoreLatency) - figure(Figure::StoreReadLatency));
  EXPECT_LT(endOf("cp.async.bulk.wait_group 1;"), 100);
}

TEST(Synchronization, AMissingSignalIsAnInternalError) {
  Recording recording = record({handOff(1, 1, false), 64});
  for (uint32_t &signals : recording.signals)
    ++signals;
  EXPECT_THROW(schedule(recording, *figuresOf("sm_100a", Level::Middle)),
               Error);
}

} // namespace

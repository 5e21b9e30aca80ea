//===- PortTest.cpp - Shared memory while wgmma runs ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected clocks are rows of results/h200-shared-port-2026-11-30.csv.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include <algorithm>

using namespace ptxsim;
using namespace ptxsim::timing;
using namespace ptxsim::timing::test;

namespace {

const std::string kRegisters = "{%r1, %r2, %r3, %r4}", kSmem = "%q1";

/// Ends of the last step of the warps that multiply and of those that work.
struct Ends {
  double products = 0, work = 0;
};

/// Two warpgroups with a chain each, and one with `rounds` of the work.
Ends endsOf(const std::string &products, unsigned rounds,
            const std::string &work) {
  Recording recording = record(
      {"mov.b64 %q1, 0x0000001000080040;\nmov.u32 %r1, %tid.x;\n"
       "setp.ge.u32 %p1, %r1, 256;\n@%p1 bra WORK;\n" +
           products + "bra DONE;\nWORK:\n" + repeat(rounds, work) + "DONE:\n",
       384, "sm_90a"});
  Schedule steps = schedule(recording, *figuresOf("sm_90a", Level::Middle));
  Ends ends;
  for (size_t i = 0; i < recording.warps.size(); ++i) {
    double &end = recording.warps[i].warp < 8 ? ends.products : ends.work;
    for (const Timed &step : steps.steps[i])
      end = std::max(end, step.end);
  }
  return ends;
}

/// Four shuffles of a warp, each of the value that it had the round before.
std::string shuffles() {
  std::string text;
  for (unsigned i = 10; i < 14; ++i)
    text += "shfl.sync.bfly.b32 %r" + std::to_string(i) + ", %r" +
            std::to_string(i) + ", 1, 31, -1;\n";
  return text;
}

/// Clocks of four shuffles of each warp of a warpgroup.
double clocksOfShuffles(const std::string &products) {
  return (endsOf(products, 12, shuffles()).work -
          endsOf(products, 4, shuffles()).work) /
         8;
}

TEST(Port, ShufflesWaitForProducts) {
  EXPECT_NEAR(clocksOfShuffles(""), 29.8, 6);
  for (auto [columns, a, measured] : {std::tuple(32u, kSmem, 404.),
                                      {48u, kSmem, 414.},
                                      {64u, kSmem, 414.},
                                      {80u, kSmem, 138.7},
                                      {96u, kSmem, 87.3},
                                      {112u, kSmem, 72.1},
                                      {128u, kSmem, 67.4},
                                      {48u, kRegisters, 72.2},
                                      {128u, kRegisters, 72.3}})
    EXPECT_NEAR(clocksOfShuffles(chain(120, columns, a)), measured,
                0.13 * measured)
        << columns << " " << a;
}

TEST(Port, ShufflesHoldUpProductsThatNeedAllOfIt) {
  // Measured with 64 columns: 530.7 in place of 513.8 clocks, in which there
  // are 530.7 / 413.6 rounds of 16 accesses, 0.82 clocks for each; with 96
  // columns 772.6 in place of 769.4 clocks.
  auto delay = [](unsigned columns) {
    std::string products = chain(64, columns, kSmem);
    return endsOf(products, 8, shuffles()).products -
           endsOf(products, 0, shuffles()).products;
  };
  EXPECT_NEAR(delay(64), 8 * 16 * 0.82, 10);
  EXPECT_NEAR(delay(96), 0, 8);
}

TEST(Port, AnAccessEndsWithTheProducts) {
  // The last shuffles find no products and take their own latency.
  Ends ends = endsOf(chain(2, 64, kSmem), 4, shuffles());
  EXPECT_LT(ends.work - ends.products, 4 * 40);
}

TEST(Port, AWaitForProductsThatHaveEndedIsShort) {
  // Measured: 3 to 5 clocks (results/h200-rounds-2026-11-30.md).
  auto clocks = [](unsigned waits) {
    return clocksOf({"mov.b64 %q1, 0x0000001000080040;\n" +
                         chain(1, 64, kSmem) +
                         repeat(waits, "wgmma.wait_group.sync.aligned 0;\n"),
                     128, "sm_90a"});
  };
  EXPECT_NEAR((clocks(11) - clocks(1)) / 10, 4, 1);
}

} // namespace

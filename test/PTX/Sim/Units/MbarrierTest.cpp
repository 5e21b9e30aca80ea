//===- MbarrierTest.cpp - The barrier against scripts run on silicon ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/Mbarrier.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

constexpr uint64_t nothing = 0xEEEEEEEEEEEEEEEE;

struct Step {
  MbarrierFault fault = MbarrierFault::None;
  uint64_t value = nothing;
  bool isState = false;
};

/// One operation of the recorded scripts; `index` as in their list `ops`.
Step perform(Mbarrier &b, uint32_t index, uint32_t arg, uint64_t ref) {
  uint64_t before = b.state();
  switch (index) {
  case 0:
    return {b.init(arg)};
  case 1:
    return {b.arrive(), before, true};
  case 2:
  case 3:
    return {b.arrive(arg), before, true};
  case 4:
    return {b.arriveDrop(), before, true};
  case 5:
  case 6:
    return {b.arriveDrop(arg), before, true};
  case 7:
    return {b.expectTx(arg)};
  case 8:
    return {b.completeTx(arg)};
  case 9:
    return {b.arriveExpectTx(arg), before, true};
  case 10:
    return {b.arriveDropExpectTx(arg), before, true};
  case 11:
  case 16:
    return {MbarrierFault::None, b.completed(ref)};
  case 12:
  case 13:
    return {MbarrierFault::None, b.completedParity(arg)};
  case 14:
    return {MbarrierFault::None, Mbarrier::pendingCount(ref)};
  default:
    return {b.invalidate()};
  }
}

TEST(Mbarrier, AgreesWithEveryScriptRunOnSilicon) {
  const Recordings &recordings = Recordings::get();
  unsigned scripts = 0, results = 0, faults = 0;
  for (const nlohmann::json *entry : recordings.named("mbarrier.")) {
    const auto *script = Recordings::find((*entry)["inputs"], "script");
    if (!script)
      continue;
    bool dies = entry->contains("error");
    std::vector<uint32_t> rows = recordings.values<uint32_t>(*script);
    std::vector<uint64_t> expected;
    if (!dies)
      expected = recordings.values<uint64_t>(
          *Recordings::find((*entry)["outputs"], "value"));
    Mbarrier barrier;
    std::vector<uint64_t> values;
    bool faulted = false;
    for (size_t i = 0; i * 4 < rows.size() && !faulted; ++i) {
      uint32_t ref = rows[i * 4 + 2];
      Step step = perform(barrier, rows[i * 4], rows[i * 4 + 1],
                          ref < values.size() ? values[ref] : 0);
      values.push_back(step.value);
      faulted = step.fault != MbarrierFault::None;
      if (dies)
        continue;
      EXPECT_FALSE(faulted)
          << (*entry)["name"] << " step " << i << ": " << describe(step.fault);
      // The low half of a state is not defined.
      unsigned shift = step.isState ? 32 : 0;
      EXPECT_EQ(step.value >> shift, expected[i] >> shift)
          << (*entry)["name"] << " step " << i;
      ++results;
    }
    EXPECT_EQ(faulted, dies) << (*entry)["name"];
    ++scripts;
    faults += dies;
  }
  EXPECT_GE(scripts, 99u);
  EXPECT_GE(results, 1000u);
  EXPECT_EQ(faults, 9u);
}

TEST(Mbarrier, CountsPhasesInFull) {
  Mbarrier barrier;
  ASSERT_EQ(barrier.init(2), MbarrierFault::None);
  uint64_t state = barrier.state();
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(barrier.arrive(), MbarrierFault::None);
  // Two phases later the one bit looks as before; the count does not.
  EXPECT_FALSE(barrier.completed(state));
  EXPECT_EQ(barrier.phase, 2u);
}

TEST(Mbarrier, ExpectAndArriveAreOneStep) {
  // Were they two steps, a negative tx-count brought to zero with no arrival
  // pending would complete the phase before the arrival.
  Mbarrier barrier;
  ASSERT_EQ(barrier.init(1), MbarrierFault::None);
  ASSERT_EQ(barrier.completeTx(16), MbarrierFault::None);
  ASSERT_EQ(barrier.arriveExpectTx(16), MbarrierFault::None);
  EXPECT_EQ(barrier.phase, 1u);
  EXPECT_EQ(barrier.pending, 1u);
  EXPECT_EQ(barrier.tx, 0);
}

TEST(Mbarrier, AFaultChangesNothing) {
  Mbarrier barrier;
  EXPECT_EQ(barrier.arrive(), MbarrierFault::NotInitialized);
  ASSERT_EQ(barrier.init(1), MbarrierFault::None);
  uint64_t state = barrier.state();
  EXPECT_EQ(barrier.arrive(2), MbarrierFault::ArriveUnderflow);
  EXPECT_EQ(barrier.expectTx(1u << 20), MbarrierFault::TxOperand);
  EXPECT_EQ(barrier.arriveDrop(1), MbarrierFault::DropsLast);
  EXPECT_EQ(barrier.state(), state);
}

} // namespace

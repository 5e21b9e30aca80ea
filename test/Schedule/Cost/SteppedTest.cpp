//===- SteppedTest.cpp - The model against stepped SASS ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/data/stepped lists kernels that differ in emulated exponentials, slices
// of P and the order of products, and the clocks of their SASS, stepped with
// all roles of a sub-partition. The planner compares them by the clocks of one
// softmax warp alone (SoftmaxStreams.def) and has to come to the same order.
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "fmha/Schedule/Cost/CostModel.h"

#include "gmock/gmock.h"

#include <fstream>
#include <sstream>
#include <tuple>

using namespace fmha::schedule;

namespace {

/// Smaller differences depend on the draws of latencies.
constexpr double noise = 0.03;

struct Kernel {
  unsigned headDim = 0, emulated = 0, slices = 0, keys = 0;
  bool causal = false, apart = false;
  MmaOrder order = MmaOrder::Commit;
  double median = 0, mean = 0;
  std::string reason;

  auto group() const { return std::tuple(headDim, causal, order, apart, keys); }
  Problem problem() const {
    Problem made = problemOf(headDim);
    made.mask = causal ? Mask::Causal : Mask::None;
    return made;
  }
  double modeled() const {
    Schedule schedule;
    schedule.kvStages = 5;
    schedule.mmaOrder = order;
    schedule.exp2EmulatedPercent = emulated;
    schedule.pSlices = slices;
    schedule.kvBlock = keys;
    KernelModel kernel = modelOf(problem(), schedule);
    kernel.probabilitiesApart = apart;
    return modelCost(kernel).ordered * 128 / keys;
  }
  bool isFasterThan(const Kernel &other) const {
    return median < other.median * (1 - noise) &&
           mean < other.mean * (1 - noise);
  }
  std::string name() const {
    std::ostringstream text;
    text << "head dim " << headDim << (causal ? " causal, " : ", ")
         << stringify(order) << ", " << emulated << " %, " << slices
         << " slices, " << keys << " keys" << (apart ? ", P apart" : "")
         << ": stepped " << median << ", modeled " << modeled();
    return text.str();
  }
};

std::vector<Kernel> readKernels() {
  std::ifstream file(FMHA_TEST_DATA "/stepped/kernels.csv");
  EXPECT_TRUE(file);
  std::vector<Kernel> kernels;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::vector<std::string> row;
    std::istringstream text(line + ";");
    for (std::string field; std::getline(text, field, ';');)
      row.push_back(field);
    EXPECT_EQ(row.size(), 10u) << line;
    if (row.size() != 10)
      continue;
    Kernel kernel;
    kernel.headDim = unsigned(std::stoul(row[0]));
    kernel.causal = row[1] == "1";
    kernel.order = row[2] == "issue" ? MmaOrder::Issue : MmaOrder::Commit;
    kernel.emulated = unsigned(std::stoul(row[3]));
    kernel.slices = unsigned(std::stoul(row[4]));
    kernel.apart = row[5] == "apart";
    kernel.keys = unsigned(std::stoul(row[6]));
    kernel.median = std::stod(row[7]);
    kernel.mean = std::stod(row[8]);
    kernel.reason = row[9];
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

} // namespace

/// A kernel with a reason must be one that the model gets wrong.
TEST(Stepped, TheModelOrdersEveryPair) {
  std::vector<Kernel> kernels = readKernels();
  unsigned ordered = 0;
  for (const Kernel &slow : kernels) {
    unsigned wrong = 0;
    for (const Kernel &fast : kernels) {
      if (fast.group() != slow.group() || !fast.isFasterThan(slow))
        continue;
      bool agrees = fast.modeled() < slow.modeled();
      EXPECT_TRUE(agrees || !slow.reason.empty()) << fast.name() << "\n"
                                                  << slow.name();
      ++(agrees ? ordered : wrong);
    }
    EXPECT_EQ(slow.reason.empty(), wrong == 0) << slow.name();
  }
  EXPECT_GE(ordered, 50u);
}

/// The level is right within a tenth, except for those kernels.
TEST(Stepped, TheModelHasTheirClocks) {
  for (const Kernel &kernel : readKernels())
    if (kernel.reason.empty())
      EXPECT_NEAR(kernel.modeled() / kernel.mean, 1, 0.1) << kernel.name();
}

/// The planner emulates where that is faster on average than the schedule that
/// it would choose otherwise, and no other kernel is much faster.
TEST(Stepped, ThePlannerChoosesAsTheyDo) {
  std::vector<Kernel> kernels = readKernels();
  unsigned emulating = 0;
  for (const Kernel &base : kernels) {
    Overrides overrides;
    overrides.fix(Choice::MmaOrder, unsigned(base.order));
    overrides.fix(Choice::KvBlock, base.keys);
    Schedule chosen = mustPlan(base.problem(), "sm_100a", overrides).schedule;
    overrides.fix(Choice::Exp2Emulated, 0);
    Schedule without = mustPlan(base.problem(), "sm_100a", overrides).schedule;
    bool isApart =
        layOut(base.problem(), chosen).findTmem("P0")->aliases.empty();
    if (base.emulated || base.slices != without.pSlices ||
        base.apart != isApart)
      continue;
    const Kernel *best = &base, *taken = nullptr;
    for (const Kernel &one : kernels) {
      if (one.group() != base.group())
        continue;
      if (one.mean < best->mean)
        best = &one;
      if (one.emulated == chosen.exp2EmulatedPercent &&
          one.slices == chosen.pSlices)
        taken = &one;
    }
    ASSERT_TRUE(taken) << base.name();
    EXPECT_EQ(taken != &base, best->mean < base.mean * (1 - noise))
        << base.name() << "\n"
        << best->name();
    EXPECT_LT(taken->mean, best->mean * (1 + noise)) << taken->name();
    emulating += taken != &base;
  }
  EXPECT_EQ(emulating, 8u);
}

/// Exponentials are fast there, and loads give the maximum of a row.
TEST(Stepped, NoneIsEmulatedOnB300) {
  for (unsigned headDim : {64u, 128u})
    for (Mask mask : {Mask::None, Mask::Causal}) {
      Problem problem = problemOf(headDim);
      problem.mask = mask;
      Plan plan = mustPlan(problem, "sm_103a");
      EXPECT_EQ(plan.schedule.exp2EmulatedPercent, 0u);
      EXPECT_THAT(plan.reason, testing::Not(testing::HasSubstr("emulated")));
    }
}

/// ptxas spills 16 bytes of such a kernel if it has an LSE.
TEST(Stepped, NoneIsEmulatedWithASinkAndALeftBound) {
  Problem problem = problemOf(128);
  problem.mask = Mask::Causal;
  problem.mask.left = 100;
  problem.lse = true;
  EXPECT_EQ(mustPlan(problem, "sm_100a").schedule.exp2EmulatedPercent, 25u);
  problem.sink = true;
  EXPECT_EQ(mustPlan(problem, "sm_100a").schedule.exp2EmulatedPercent, 0u);
}

TEST(Stepped, ARequestedShareStays) {
  for (unsigned share : {0u, 12u, 18u}) {
    Overrides wanted;
    wanted.fix(Choice::Exp2Emulated, share);
    EXPECT_EQ(mustPlan(problemOf(128), "sm_100a", wanted)
                  .schedule.exp2EmulatedPercent,
              share);
  }
}

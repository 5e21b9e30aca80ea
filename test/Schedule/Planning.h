//===- Planning.h - Problems and plans for tests ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_SCHEDULE_PLANNING_H
#define FMHA_TEST_SCHEDULE_PLANNING_H

#include "fmha/Schedule/Model/Schedule.h"

#include "gtest/gtest.h"

namespace fmha::schedule {

inline Problem problemOf(unsigned headDim, unsigned qLenHint = 0) {
  Problem problem;
  problem.headDim = problem.headDimV = headDim;
  problem.qLenHint = qLenHint;
  return problem;
}

inline Overrides fixed(std::optional<unsigned> qTiles,
                       std::optional<unsigned> kvStages, PPlacement placement) {
  Overrides overrides;
  overrides.fix(Choice::QTiles, qTiles).fix(Choice::KvStages, kvStages);
  overrides.pPlacement = placement;
  return overrides;
}

/// An empty plan, and a failure of the test, where there is none.
inline Plan mustPlan(const Problem &problem, std::string_view target,
                     const Overrides &overrides = {}) {
  std::string error;
  std::optional<Plan> result = plan(problem, target, overrides, error);
  EXPECT_TRUE(result) << error;
  return result.value_or(Plan());
}

/// The error.
inline std::string mustFail(const Problem &problem, std::string_view target,
                            const Overrides &overrides = {}) {
  std::string error;
  EXPECT_FALSE(plan(problem, target, overrides, error));
  return error;
}

} // namespace fmha::schedule

#endif // FMHA_TEST_SCHEDULE_PLANNING_H

//===- CheckCase.h - A sound schedule to break rules with -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_SCHEDULE_RULES_CHECKCASE_H
#define FMHA_TEST_SCHEDULE_RULES_CHECKCASE_H

#include "fmha/Schedule/Model/Schedule.h"

#include <functional>
#include <string>
#include <string_view>

namespace fmha::schedule {

inline Problem problemOf(unsigned headDim) {
  Problem problem;
  problem.headDim = problem.headDimV = headDim;
  return problem;
}

/// A schedule with two query tiles that breaks no rule.
inline Schedule soundSchedule() {
  Schedule schedule;
  schedule.roles = {{"softmax0", 0, 4, 184},  {"softmax1", 4, 4, 184},
                    {"correction", 8, 4, 72}, {"load", 12, 1, 72},
                    {"mma", 13, 1, 72},       {"store", 14, 1, 72},
                    {"spare", 15, 1, 72}};
  return schedule;
}

/// Returns the planner's roles.
inline std::vector<Role> defaultRoles(unsigned qTiles, bool emulating = false,
                                      unsigned kvBlock = 128) {
  Schedule schedule;
  schedule.qTiles = qTiles;
  schedule.exp2EmulatedPercent = emulating;
  schedule.kvBlock = kvBlock;
  return withRoles(schedule).roles;
}

/// check() of the sound schedule for head dim 128 after `change`, with the
/// planner's roles if that leaves them alone; "" if it passes.
inline std::string
violation(const std::function<void(Problem &, Schedule &)> &change) {
  Problem problem = problemOf(128);
  Schedule schedule = soundSchedule();
  change(problem, schedule);
  if (schedule.roles == soundSchedule().roles) {
    schedule.roles.clear();
    schedule = withRoles(schedule);
  }
  return check(problem, schedule).value_or("");
}

inline Role &role(Schedule &s, std::string_view name) {
  return const_cast<Role &>(*s.findRole(name));
}

} // namespace fmha::schedule

#endif // FMHA_TEST_SCHEDULE_RULES_CHECKCASE_H

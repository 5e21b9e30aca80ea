//===- WgmmaCase.h - A sound schedule of wgmma to break rules with -*- C++ -*-//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_SCHEDULE_FAMILIES_WGMMA_WGMMACASE_H
#define FMHA_TEST_SCHEDULE_FAMILIES_WGMMA_WGMMACASE_H

#include "Planning.h"

#include <functional>
#include <string>

namespace fmha::schedule::wgmma {

/// Two consumers of 64 rows that break no rule.
inline Schedule hopper() {
  Schedule schedule;
  schedule.target = "sm_90a";
  schedule.qTileRows = 64;
  schedule.kvStages = 4;
  schedule.pPlacement = PPlacement::Registers;
  return withRoles(schedule);
}

/// check() after `change`, with the planner's roles; "" if it passes.
inline std::string
violation(const std::function<void(Problem &, Schedule &)> &change) {
  Problem problem = problemOf(128);
  Schedule schedule = hopper();
  change(problem, schedule);
  if (schedule.qTiles != 2)
    schedule.roles.clear();
  return check(problem, withRoles(schedule)).value_or("");
}

} // namespace fmha::schedule::wgmma

#endif // FMHA_TEST_SCHEDULE_FAMILIES_WGMMA_WGMMACASE_H

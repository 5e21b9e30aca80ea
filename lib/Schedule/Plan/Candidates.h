//===- Candidates.h - Schedules that the planner chooses from ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree with one field of the schedule per level. A branch is cut if check()
// names a rule that no field below it can repair, so that few of the leaves are
// visited. The rings are not a level: each leaf gets the deepest that fit, and
// becomes one candidate for each number of slices of P.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_PLAN_CANDIDATES_H
#define FMHA_LIB_SCHEDULE_PLAN_CANDIDATES_H

#include "fmha/Schedule/Model/Overrides.h"

namespace fmha::schedule {

/// Maximum number of stages of a ring: more do not make a kernel faster.
constexpr unsigned mostStages = 8;
/// Shared memory left free for additions of a host or a tool to the CTA.
constexpr unsigned smemMargin = 1024;

struct Candidates {
  /// Schedules that check() accepts with the roles of withRoles(), the default
  /// ones first.
  std::vector<Schedule> sound;
  /// Schedules that it rejects, and accepted ones with a tile without rows.
  std::vector<Rejected> rejected;
};

/// Enumerates every schedule that `overrides` permit. The first one, sound or
/// rejected, is the most likely choice of a user.
Candidates enumerate(const Problem &problem, std::string_view target,
                     const Overrides &overrides);

/// Returns the default rescale_threshold: 0 if outputs depend on the true
/// maximum, as those of partial kernels do.
double usualThreshold(const Problem &problem, const Schedule &schedule);

/// Returns whether the queries of the hints end before a CTA's second tile.
bool hasTileWithoutRows(const Problem &problem, const Schedule &schedule);

/// Returns "q_tiles = 2, p_placement = tmem, kv_stages = 5", and the other
/// fields that differ from their default.
std::string title(const Schedule &schedule);

/// Returns the message of check(), or of one of the planner's own two rules,
/// for a rejected candidate.
std::string violationOf(const Problem &problem, const Schedule &other);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_PLAN_CANDIDATES_H

//===- Candidates.h - Schedules that a planner can choose from --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree with one field of the schedule per level. A branch is cut where
// check() names a rule that no field below it can mend, so that few of the
// leaves are looked at. The rings are no level: each leaf gets the deepest that
// fit, and becomes one candidate for each number of slices of P.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_PLAN_CANDIDATES_H
#define FMHA_LIB_SCHEDULE_PLAN_CANDIDATES_H

#include "fmha/Schedule/Model/Overrides.h"

namespace fmha::schedule {

/// Stages of a ring: fewer cannot overlap loads and products, more gain
/// nothing.
constexpr unsigned leastStages = 2, mostStages = 8;
/// Left free, for what a host or a tool adds to the CTA's shared memory.
constexpr unsigned smemMargin = 1024;

struct Candidates {
  /// Those that check() takes with the roles of withRoles(), the usual ones
  /// first.
  std::vector<Schedule> sound;
  /// Those that it refuses, and those that it would take but that have a tile
  /// without rows.
  std::vector<Rejected> rejected;
};

/// Every schedule that `overrides` leave open. The first one looked at, sound
/// or rejected, is what a person would most likely want.
Candidates enumerate(const Problem &problem, std::string_view target,
                     const Overrides &overrides);

/// Columns of O that one pass of a consumer computes at most.
constexpr unsigned widestPass = 256;

/// Keys of a block that are worth a thought where MMAs are wgmma, the usual
/// ones first.
std::vector<unsigned> wgmmaKeyBlocks(const Problem &problem);
/// And the schedulers, by Scheduler.
std::vector<unsigned> wgmmaSchedulers(const Problem &problem);
std::vector<unsigned> wgmmaCtasPerSm(const Problem &problem, unsigned sms);

/// Growth of a row's maximum, as log2, below which O is not rescaled: none
/// where maxima have to be true ones, as those of parts.
double usualThreshold(const Problem &problem, const Schedule &schedule);

/// Whether the queries of the hints end before the second tile of a CTA.
bool hasTileWithoutRows(const Problem &problem, const Schedule &schedule);

/// "q_tiles = 2, p_placement = tmem, kv_stages = 5", and the other fields that
/// are not as usual.
std::string title(const Schedule &schedule);

/// Returns the sentence of check(), or of one of the planner's own two rules,
/// for a candidate that was rejected.
std::string complaintOf(const Problem &problem, const Schedule &other);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_PLAN_CANDIDATES_H

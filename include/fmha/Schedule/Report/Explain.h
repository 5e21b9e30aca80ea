//===- Explain.h - The report of a plan -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_REPORT_EXPLAIN_H
#define FMHA_SCHEDULE_REPORT_EXPLAIN_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// Returns the kernel family of `schedule`: "tcgen05" or "wgmma".
std::string_view familyName(const Schedule &schedule);

/// Returns the schedule and the reason for it, the loads of all units for it
/// and for the runners-up, the roles with their warps and registers, tensor
/// memory and shared memory drawn to scale, and the rejected schedules with
/// reasons. Lines end with '\n' and have at most 80 characters.
std::string explain(const Problem &problem, const Plan &plan);

/// Returns the report for a problem that no kernel serves, for `reason`.
std::string explainRejection(const std::string &target,
                             const std::string &reason);

/// The sections of the report, "" for an empty one.
std::string drawTmem(const MemoryMap &map);
std::string drawSmem(const MemoryMap &map, unsigned capacityBytes);
std::string tabulateRoles(const Schedule &schedule);
std::string tabulateResources(const Problem &problem, const Plan &plan);
/// Returns one row of clocks for the choice and for the best runners-up.
std::string tabulateLoads(const Problem &problem, const Plan &plan);
/// Returns CTAs, waves and clocks, as far as the hints determine them.
std::string describeLaunch(const Problem &problem, const Plan &plan);
/// Returns the modeled clocks of the choice with other numbers of splits.
std::string listSplits(const Problem &problem, const Plan &plan);
/// Returns the values that the model considers faster but that the planner uses
/// only on request, on targets without measurements.
std::string listByRequest(const Problem &problem, const Plan &plan);
std::string listRunnersUp(const Problem &problem, const Plan &plan);
std::string listRejected(const Problem &problem, const Plan &plan);

/// Returns why runner-up `other` was not chosen: "q_tiles = 1, ...: modeled
/// 19.70 clk per row and 128 keys, the choice takes 9.31; it is ...".
std::string whySlower(const Problem &problem, const Plan &plan,
                      const Schedule &other);

/// One entry per reason, regardless of numbers: the first message with that
/// reason, or the one that exceeds shared memory least among equal tiles and P
/// placement, and the number of candidates that have it.
struct Reason {
  std::string text;
  unsigned candidates = 1;
};
std::vector<Reason> groupByReason(const Problem &problem,
                                  const std::vector<Rejected> &list);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_REPORT_EXPLAIN_H

//===- Explain.h - A plan, for people to read -------------------*- C++ -*-===//
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
std::string_view familyOf(const Schedule &schedule);

/// The schedule and why it was chosen, the loads of all units for it and for
/// the runners-up, the roles with their warps and registers, tensor memory and
/// shared memory as drawings to scale, and what was rejected and why. Lines end
/// with '\n' and have at most 80 characters.
std::string explain(const Problem &problem, const Plan &plan);

/// Returns the report for a problem that no kernel serves, for `reason`.
std::string explainRefusal(const std::string &target,
                           const std::string &reason);

/// The parts, each for itself; "" where there is nothing to tell.
std::string drawTmem(const MemoryMap &map);
std::string drawSmem(const MemoryMap &map, unsigned capacityBytes);
std::string tabulateRoles(const Schedule &schedule);
std::string tabulateResources(const Problem &problem, const Plan &plan);
/// One row of clocks for the choice, and for the best runners-up.
std::string tabulateLoads(const Problem &problem, const Plan &plan);
/// CTAs, waves and clocks, where the problem's hints tell them.
std::string describeLaunch(const Problem &problem, const Plan &plan);
/// Modelled clocks of the choice in other numbers of parts.
std::string listSplits(const Problem &problem, const Plan &plan);
/// What the planner leaves to a person and the model calls faster, on targets
/// that nobody has measured.
std::string listByRequest(const Problem &problem, const Plan &plan);
std::string listRunnersUp(const Problem &problem, const Plan &plan);
std::string listRejected(const Problem &problem, const Plan &plan);

/// Why `other` was not chosen, one of `plan.runnersUp`: "q_tiles = 1, ...:
/// modelled 19.70 clk per row and 128 keys, the choice takes 9.31; it is ...".
std::string whySlower(const Problem &problem, const Plan &plan,
                      const Schedule &other);

/// One entry per reason, numbers aside: the sentence of the first with that
/// reason, or of the one that lacks the least shared memory of its tiles and
/// its place of P, and how many candidates have it.
struct Reason {
  std::string text;
  unsigned candidates = 1;
};
std::vector<Reason> groupByReason(const Problem &problem,
                                  const std::vector<Rejected> &list);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_REPORT_EXPLAIN_H

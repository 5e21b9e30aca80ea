//===- Timeline.h - Owners of tensor memory over time -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates the first blocks of a KV loop with the clocks of the cost model:
// one MMA pipe that executes products in the order in which the mma role issues
// them, one exp unit that the softmax roles share first come, first served, and
// the waits between. A product of P in slices is a span for each slice. It
// illustrates the schedule, and is not a measurement.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_COST_TIMELINE_H
#define FMHA_SCHEDULE_COST_TIMELINE_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// `role` owns region `region` ("S0", "P1", "O0") for KV block `block` in
/// clocks [begin, end), for the action `what`.
struct Span {
  std::string region, role, what;
  unsigned block = 0;
  double begin = 0, end = 0;
};

/// Returns the spans of `blocks` KV blocks. Those of one stage of a region are
/// in order of time and do not overlap; those of P lie inside those of its S.
/// `schedule`'s target must be known.
std::vector<Span> playOut(const Problem &problem, const Schedule &schedule,
                          unsigned blocks);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_COST_TIMELINE_H

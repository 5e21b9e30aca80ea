//===- Solver.h - Modulo schedules of least interval ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts, order and warpgroups of all ops are one problem of difference logic
// for Z3. An optional part of the build: compiling needs only its results.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_SOLVER_SOLVER_H
#define FMHA_SCHEDULE_SOLVER_SOLVER_H

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

namespace fmha::schedule::modulo {

struct SolverOptions {
  /// Stop after that time with the best schedule and the gap.
  unsigned milliseconds = 60000;
  /// An iteration ends at most that many intervals after it began.
  unsigned stages = 6;
};

struct Solution {
  std::optional<ModuloSchedule> schedule;
  /// No interval below this one is possible; equal to the schedule's interval
  /// if it is proven to be the least.
  unsigned bound = 0;
  /// What makes a smaller interval impossible: the bound of one resource, or
  /// the rules that Z3 needs for its proof. Without a schedule, what excludes
  /// any.
  std::string binding;
  /// Clocks by which every hand-over between threads and products may be late:
  /// the most with this interval.
  unsigned slack = 0;
  unsigned milliseconds = 0;
};

/// Returns the schedule of least interval. Of these it takes the warpgroups of
/// which the busiest has the least to do, then the most slack, then the
/// shortest iteration.
Solution solve(const LoopGraph &graph, const SolverOptions &options = {});

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_SOLVER_SOLVER_H

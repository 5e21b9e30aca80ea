//===- Solver.h - Modulo schedules of least interval ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds starts, order and warpgroups of all ops as one problem of difference
// logic, which Z3 solves. This library is an optional part of the build, since
// compiling needs only its results.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_SOLVER_SOLVER_H
#define FMHA_SCHEDULE_SOLVER_SOLVER_H

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

namespace fmha::schedule::modulo {

struct SolverOptions {
  /// The solver stops after about this processor time, with the best schedule
  /// that it found. It counts steps of Z3 and reads no clock, so that the
  /// result depends on neither the machine nor other programs.
  unsigned milliseconds = 60000;
  /// Most intervals from the start of an iteration to its end.
  unsigned stages = 6;
  /// Most stages of a role.
  unsigned roleStages = mostRoleStages;
};

struct Solution {
  std::optional<ModuloSchedule> schedule;
  /// Proven lower bound of the interval. If the schedule has this interval, it
  /// is proven to be the least.
  unsigned bound = 0;
  /// The reason why no smaller interval is possible: the bound of one resource,
  /// or the rules that the proof of Z3 uses. Without a schedule, the reason why
  /// there is none.
  std::string binding;
  /// The most clocks by which every hand-over between threads and products may
  /// be late with this interval.
  unsigned slack = 0;
  /// Processor time that was needed.
  unsigned milliseconds = 0;
  /// The rule that a schedule of Z3 violates, a defect of the solver, which
  /// then stops; else empty.
  std::string wrong;
};

/// Returns the schedule of the least interval. Of several, it returns the one
/// whose busiest warpgroup has the least work; of these, the one with the most
/// slack; and of these, the one with the shortest iteration.
Solution solve(const LoopGraph &graph, const SolverOptions &options = {});

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_SOLVER_SOLVER_H

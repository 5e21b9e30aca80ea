//===- Compare.h - Compares the results of several schedules ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_COMPARE_H
#define FMHA_TOOLS_PTXSIM_COMPARE_H

#include "CommandLine.h"
#include "Difference.h"
#include "Progress.h"

namespace ptxsim::tool {

/// A schedule whose result differs from the first run's.
struct Divergence {
  /// Name of the schedule: "seed 7", or "choices 3:1,8:2".
  std::string schedule;
  std::optional<uint64_t> seed;
  Difference difference;
  /// The command that runs this schedule and the first one for comparison.
  std::string replay;
  Outcome outcome;
};

/// The results of a launch and its repetitions.
struct Comparison {
  Outcome first;
  std::optional<Divergence> divergence;
  /// The findings of the first run, those found only in the differing schedule,
  /// and schedule-dependent-result if bytes differ.
  std::vector<Finding> findings;
  /// The worse of both; Findings if there are any.
  Status status = Status::Ok;
  /// A schedule other than the first that --max-steps stopped, or empty for
  /// none.
  std::string cut;
  /// Number of schedules that ran besides the first, and warp instructions of
  /// all runs.
  uint64_t schedules = 0, instructions = 0;
  /// Policy exhaustive: whether every remaining schedule is equivalent to one
  /// that ran, and the steps of the longest.
  std::optional<bool> exhausted;
  size_t longest = 0;
  /// Returns the graph of the first run that has one, or null.
  const DeadlockReport *deadlock() const;
};

struct Job {
  const CommandLine &line;
  std::string text;
  Module module;
};

/// Runs the launch, and then the runs that --schedules, --compare or
/// --policy=exhaustive request, each with fresh memory, until one differs.
Comparison runAll(const Job &job, const LaunchConfig &config,
                  const Arguments &arguments, Progress &progress);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_COMPARE_H

//===- Stepper.h - Replays a recording in time ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_STEPPER_H
#define FMHA_PTX_TIME_STEPPER_H

#include "fmha/PTX/Time/Recording.h"

#include <limits>

namespace ptxsim::timing {

/// A step of a warp: indices into Recording::warps and WarpRecord::steps.
struct StepId {
  uint32_t warp = UINT32_MAX, step = 0;
  bool valid() const { return warp != UINT32_MAX; }
  friend bool operator==(const StepId &, const StepId &) = default;
};

/// Why something did not happen earlier.
enum class Why : uint8_t {
  /// Nothing held it up: the launch began.
  Start,
  /// The latency of the step itself.
  Latency,
  /// A result, a completed wait, or the end of asynchronous work.
  Result,
  /// A unit was busy with another step.
  Busy,
  /// The sub-partition issued another step.
  Slot,
  /// The step before it in the order of the program had to issue.
  Program,
};

/// The latest predecessor of the issue or the end of a step. `afterEnd` says
/// whether it is the end of the other step or its issue.
struct Cause {
  StepId by;
  Why why = Why::Start;
  bool afterEnd = false;
};

/// When a step issued and when its result or its work was complete.
struct Timed {
  double issue = -1, end = -1;
  Cause issueCause, endCause;
  bool issued() const { return issue >= 0; }
};

/// One piece of work of a unit that works on one step after the other.
struct Work {
  /// Index into Schedule::units.
  uint32_t unit = 0;
  double begin = 0, end = 0;
  StepId step;
};

/// A recording in time.
struct Schedule {
  /// Per warp and step.
  std::vector<std::vector<Timed>> steps;
  /// Clocks until everything has ended, and the step that ended last.
  double clocks = 0;
  StepId last;
  /// Clocks for which tensor pipes worked, per SM on average.
  double mmaBusy = 0;
  /// Names of the units, "SM 0 TMA", and what they did if that was asked for.
  std::vector<std::string> units;
  std::vector<Work> work;
  const Timed &at(StepId id) const { return steps[id.warp][id.step]; }
};

/// Replays the recording on one SM for each CTA of a cluster. Throws
/// Error::Launch if warps wait for each other, which cannot happen if the
/// recorded run ended. With `keepsWork`, the result has the work of units. With
/// a seed, latencies of copies from L2 are drawn from Figure::TmaL2Spread.
Schedule schedule(const Recording &recording, const Figures &figures,
                  bool keepsWork = false, uint32_t seed = 0);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_STEPPER_H

//===- CriticalPath.h - What bounds a kernel --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_CRITICALPATH_H
#define FMHA_PTX_TIME_CRITICALPATH_H

#include "fmha/PTX/Time/Stepper.h"

#include <string>
#include <vector>

namespace ptxsim::timing {

/// A part of the critical path: a step and the clocks that nothing but it
/// explains. `label` names a unit or a wait.
struct Segment {
  StepId step;
  std::string_view label;
  double clocks = 0;
};

/// Returns the chain of latest predecessors of the last event, first to last.
/// Neighbors of one warp and label are joined.
std::vector<Segment> criticalPath(const Recording &recording,
                                  const Schedule &schedule);

/// Returns one line: a round of the path, "warp 0: MUFU → arrive → warp 4: MMA
/// wait", and the shares of the whole: "MUFU 61 %, MMA 20 %".
std::string describePath(const Recording &recording,
                         const std::vector<Segment> &path);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_CRITICALPATH_H

//===- Timeline.h - A schedule as a picture ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_TIMELINE_H
#define FMHA_PTX_TIME_TIMELINE_H

#include "fmha/PTX/Time/Stepper.h"

#include <string>

namespace ptxsim::timing {

/// Returns a schedule as a trace in Perfetto's native format
/// (https://ui.perfetto.dev): a track for each warp, with what it issues and
/// waits for, and one for each unit that worked. A nanosecond of the trace is a
/// modeled clock.
std::string timelineOf(const Recording &recording, const Schedule &schedule);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_TIMELINE_H

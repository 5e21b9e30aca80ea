//===- Tune.h - Choose a schedule by modeled clocks -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_COMPILE_TUNE_H
#define FMHA_TOOLS_COMPILE_TUNE_H

#include "CompileFlags.h"

namespace fmha::tools {

/// Steps the schedules that the planner ranks highest with fmha-run --time,
/// prints their clocks (to standard output with --explain, else to standard
/// error) and fixes the schedule of the fastest launch in `flags`.
llvm::Error tune(CompileFlags &flags);

} // namespace fmha::tools

#endif // FMHA_TOOLS_COMPILE_TUNE_H

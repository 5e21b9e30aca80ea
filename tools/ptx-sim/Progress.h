//===- Progress.h - A progress line for long runs ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_PROGRESS_H
#define FMHA_TOOLS_PTXSIM_PROGRESS_H

#include "fmha/PTX/Sim/Simulator.h"

#include <string>

namespace ptxsim::tool {

/// One line on standard error, rewritten in place; silent if that is not a
/// terminal.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  /// Makes the launch call this object, which must outlive it.
  void attach(Options &options);
  /// Sets the text before the counts: which of several schedules runs.
  void schedule(uint64_t number, uint64_t of);
  /// Removes the line.
  void clear();

private:
  void show(uint64_t warpInstructions, uint64_t done, uint64_t all);
  bool terminal, shown = false;
  std::string prefix;
};

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_PROGRESS_H

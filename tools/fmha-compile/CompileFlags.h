//===- CompileFlags.h - The flags of fmha-compile ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_COMPILE_COMPILEFLAGS_H
#define FMHA_TOOLS_COMPILE_COMPILEFLAGS_H

#include "fmha/Options/ProblemFlags.h"

namespace fmha::tools {

struct CompileFlags {
  /// Its target is the current one of `targets`.
  ProblemFlags problem;
  /// The names that --target lists.
  std::vector<std::string> targets;
  std::string emit = "ptx", output = "-", dumpTo, drawTo, function,
              pipeline = "table";
  std::optional<Level> from, to;
  bool explain = false, help = false, version = false, verifyKernels = true;
  bool cache = false, verifyRegisters = false, listDemand = false;
  /// The most schedules that --tune compares, 0 without it.
  unsigned tune = 0;
  /// The tiles whose layouts are printed, in which format, and the folder for
  /// one file of each.
  std::vector<std::string> layouts;
  std::string layoutFormat = "text", layoutsTo;
  /// The flags of the problem, as they were given.
  std::vector<FlagTable::Given> problemFlags;

  void add(FlagTable &table);
  /// Reads the value of --tune.
  llvm::Error readTune(llvm::StringRef text);
  /// Adds the flags for measurements of registers.
  void addRegisterDemand(FlagTable &table);
  /// Adds the flags for layouts of tiles.
  void addLayouts(FlagTable &table);
  /// Returns whether the output of --emit has kernels for several targets.
  bool isAheadOfTime() const;
  /// Returns whether a report takes the place of the kernel on standard output.
  bool reports() const { return explain || !layouts.empty(); }
};

void printHelp(const FlagTable &table);

/// Sets `targets`. Fails for flags that contradict each other.
llvm::Error checkFlags(CompileFlags &flags, const FlagTable &table);

CompileOptions optionsOf(const CompileFlags &flags);

} // namespace fmha::tools

#endif // FMHA_TOOLS_COMPILE_COMPILEFLAGS_H

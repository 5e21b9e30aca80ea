//===- RunFlags.h - The command line of fmha-run ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_RUNFLAGS_H
#define FMHA_TOOLS_RUN_RUNFLAGS_H

#include "fmha/Options/ProblemFlags.h"
#include "fmha/Runtime/Attention.h"

namespace fmha::tools {

struct RunFlags {
  ProblemFlags problem;
  runtime::DeviceKind device = runtime::DeviceKind::Simulator;
  runtime::RunOptions options;
  std::optional<uint64_t> seed, scheduleSeed, schedules, maxCtas;
  std::string q, k, v, out, lseOut, rowMaxOut, rowSumOut, ptx;
  std::string kCacheOut, vCacheOut;
  std::string rotaryCos, rotarySin;
  bool everyPolicy = false;
  bool json = false, help = false, version = false;

  void add(FlagTable &table);
  bool hasRotary() const { return problem.hasRotary(); }
  /// Returns whether tokens are appended before attention, or by it.
  bool appends() const { return problem.keyNew || hasRotary(); }

private:
  void addData(FlagTable &table);
  void addAppend(FlagTable &table);
  void addReport(FlagTable &table);
};

void printHelp(const FlagTable &table);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_RUNFLAGS_H

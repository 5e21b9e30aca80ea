//===- CommandLine.h - The options of ptx-sim -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_COMMANDLINE_H
#define FMHA_TOOLS_PTXSIM_COMMANDLINE_H

#include "fmha/PTX/Sim/Simulator.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ptxsim::tool {

/// One schedule of policy eager, late, random or pct.
struct ScheduleChoice {
  Policy policy = Policy::Eager;
  uint64_t seed = 0;
};

struct CommandLine {
  std::string kernel, entry;
  Dim3 grid;
  std::optional<Dim3> block, cluster;
  uint32_t sharedBytes = 0;
  std::vector<std::string> arguments;
  Options options;
  uint64_t schedules = 0, maxSchedules = 10000;
  /// The schedule to hold the run against.
  std::optional<ScheduleChoice> compare;
  /// Policy exhaustive: the one schedule to run, empty: all.
  std::string schedulePath;
  bool json = false, listEntries = false;
  std::optional<WarpTrace> trace;
  /// Where the SARIF log goes, empty: nowhere.
  std::string sarif;
  /// All of argv, for the command that replays a schedule.
  std::vector<std::string> words;
};

/// The options, or the exit code where there is nothing more to do (--help,
/// --version). Throws BadInput for what cannot be understood.
std::variant<CommandLine, int> parseCommandLine(int argc, char **argv);

/// A word as a shell takes it.
std::string quote(const std::string &word);

/// The command itself, as typed to a shell.
std::string commandText(const CommandLine &line);

/// The command that repeats the run of one schedule, as typed to a shell:
/// everything that was given, with `flags` in place of what chose schedules.
std::string replayCommand(const CommandLine &line, const std::string &flags);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_COMMANDLINE_H

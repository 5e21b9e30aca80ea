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

#include <map>
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
  /// The schedule to compare the run with.
  std::optional<ScheduleChoice> compare;
  /// Policy exhaustive: the only schedule to run, or empty to run all.
  std::string schedulePath;
  bool json = false, listEntries = false, time = false;
  /// Whether the time is that of SASS.
  bool sass = false;
  /// Whether the time is that of a launch whose data is in L2.
  bool warmL2 = false;
  std::optional<WarpTrace> trace;
  /// Path of the trace of the modeled time, or empty for none.
  std::string timeline;
  /// How often the time is modeled with drawn figures.
  unsigned timeDraws = 0;
  /// Path of a cubin that is modeled in place of PTX, the trips file that says
  /// how, and the path of one to write; empty for none.
  std::string cubin, trips, writeTrips;
  /// Parameters of the trips file, by name.
  std::map<std::string, int64_t> set;
  /// Path of the SARIF log, or empty for none.
  std::string sarif;
  /// All of argv, for the command that replays a schedule.
  std::vector<std::string> words;
};

/// Returns the options, or the exit code if there is nothing more to do
/// (--help, --version). Throws BadInput for malformed options.
std::variant<CommandLine, int> parseCommandLine(int argc, char **argv);

/// Quotes a word for a shell.
std::string quote(const std::string &word);

/// Returns the command itself, as typed in a shell.
std::string commandText(const CommandLine &line);

/// Returns the command that repeats the run of one schedule, as typed in a
/// shell: all given words, with `flags` in place of those that chose schedules.
std::string replayCommand(const CommandLine &line, const std::string &flags);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_COMMANDLINE_H

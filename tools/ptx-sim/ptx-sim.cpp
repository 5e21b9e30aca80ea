//===- ptx-sim.cpp - Run a PTX kernel on the CPU --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Files.h"
#include "Output.h"
#include "Sarif.h"
#include "Trips/Cubin.h"
#include "fmha/PTX/Host/Report.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace ptxsim;
using namespace ptxsim::tool;
using Json = nlohmann::ordered_json;

namespace {

enum ExitCode { Clean = 0, Findings = 1, BadInputCode = 2, StepLimit = 3 };

const Module::Entry &findEntry(const Module &module, const CommandLine &line) {
  const auto &entries = module.entries();
  if (line.entry.empty() && entries.size() == 1)
    return entries.front();
  std::string names;
  for (const Module::Entry &entry : entries)
    names += (names.empty() ? "" : ", ") + entry.name;
  if (entries.empty())
    throw BadInput(line.kernel + " has no entry");
  if (line.entry.empty())
    throw BadInput("--entry is missing and " + line.kernel +
                   " has several: " + names);
  const Module::Entry *entry = module.findEntry(line.entry);
  if (!entry)
    throw BadInput(line.kernel + " has no entry '" + line.entry +
                   "', expected one of " + names);
  return *entry;
}

LaunchConfig configure(const CommandLine &line, const Module::Entry &entry) {
  LaunchConfig config;
  config.entry = entry.name;
  config.grid = line.grid;
  config.block = line.block.value_or(entry.requiredBlock.value_or(Dim3()));
  config.cluster = line.cluster;
  config.dynamicSharedBytes = line.sharedBytes;
  return config;
}

/// Rejects a trace of a warp that the block does not have, which would be
/// empty.
void checkTrace(const CommandLine &line, const Dim3 &block) {
  uint64_t warps = (block.count() + 31) / 32;
  if (line.trace && line.trace->warp >= warps)
    throw BadInput("--trace-warp names warp " +
                   std::to_string(line.trace->warp) + ", expected one below " +
                   std::to_string(warps) + ": the block has " +
                   std::to_string(block.count()) + " threads");
}

ExitCode codeOf(Status status) {
  if (status == Status::StepLimit)
    return StepLimit;
  return status == Status::Ok ? Clean : Findings;
}

/// Stores the outputs, unless the kernel hung or a limit of steps stopped it.
void store(const Arguments &arguments, const Outcome &outcome) {
  bool ended = outcome.result.status == Status::Ok ||
               outcome.result.status == Status::Findings;
  size_t output = 0;
  for (const Argument &argument : arguments.list) {
    if (!argument.isOutput() || !ended)
      continue;
    Array array = argument.array;
    array.bytes = outcome.outputs[output++];
    if (argument.type && argument.type->kind == ElementType::Kind::BF16)
      array.bytes = widenBf16(array.bytes);
    if (auto wrong = writeWhole(argument.outputPath, npyText(array)))
      throw BadInput(*wrong);
  }
}

/// Enables colors only on a terminal (https://no-color.org).
Color colorOf(std::FILE *stream) {
  const char *off = std::getenv("NO_COLOR");
  bool wanted = isatty(fileno(stream)) && !(off && *off);
  return wanted ? Color::Always : Color::Never;
}

/// Says of PTX whose time cannot be modeled what to do about it, before it
/// runs.
void checkTime(const Module &module) {
  try {
    timing::checkTarget(module.target());
  } catch (const Error &error) {
    throw BadInput("--time: " + std::string(error.what()) +
                   "; compile the PTX for one of them (sm_90a runs PTX of "
                   "older targets, with its .target changed), or leave --time "
                   "out");
  }
}

int simulate(const Job &job) {
  const CommandLine &line = job.line;
  if (line.time)
    checkTime(job.module);
  const Module::Entry &entry = findEntry(job.module, line);
  Arguments arguments = readArguments(line.arguments, entry);
  LaunchConfig config = configure(line, entry);
  checkTrace(line, config.block);
  Progress progress;
  Comparison comparison = runAll(job, config, arguments, progress);
  progress.clear();
  store(arguments, comparison.first);
  Summary summary{line, config, arguments, comparison, job.text};
  if (!line.timeline.empty() && !comparison.first.time)
    std::fprintf(stderr,
                 "ptx-sim: %s is not written, since the launch did not end\n",
                 line.timeline.c_str());
  if (!line.timeline.empty() && comparison.first.time)
    if (auto wrong = writeWhole(line.timeline, comparison.first.timeline))
      throw BadInput(*wrong);
  if (!line.sarif.empty())
    if (auto wrong = writeWhole(line.sarif, sarifLog(summary)))
      throw BadInput(*wrong);
  std::fputs(
      (line.json ? jsonReport(summary) : textReport(summary, colorOf(stdout)))
          .c_str(),
      stdout);
  return codeOf(comparison.status);
}

/// Where errors are reported besides standard error.
struct Reports {
  bool json = false;
  std::string sarif, command;
};

/// Reports that nothing could be run. A SARIF log of an earlier run must not
/// remain and be mistaken for the result.
int reportFailure(const Reports &reports, const Failure &failure,
                  const std::string &text) {
  std::fputs(text.c_str(), stderr);
  if (!reports.sarif.empty())
    if (auto wrong =
            writeWhole(reports.sarif, sarifFailure(failure, reports.command));
        wrong && *wrong != failure.message)
      std::fprintf(stderr, "ptx-sim: error: %s\n", wrong->c_str());
  if (reports.json)
    std::fputs(jsonError(failure.message, failure.ptxLine).c_str(), stdout);
  return BadInputCode;
}

int reportFailure(const Reports &reports, const std::string &message) {
  return reportFailure(reports, Failure{message, "", 0},
                       "ptx-sim: error: " + message + "\n");
}

int runTool(const CommandLine &line) {
  Reports reports{line.json, line.sarif, commandText(line)};
  std::string text;
  try {
    if (!line.cubin.empty()) {
      std::fputs(runCubin(line).c_str(), stdout);
      return Clean;
    }
    text = readFile(line.kernel);
    Job job{line, text, Module::parse(text, line.kernel)};
    if (!line.listEntries)
      return simulate(job);
    std::fputs(listEntries(job.module, line.json).c_str(), stdout);
    return Clean;
  } catch (const Error &error) {
    return reportFailure(reports,
                         Failure{error.what(), line.kernel, error.line},
                         describe(error, line.kernel, text));
  } catch (const BadInput &error) {
    return reportFailure(reports, error.what());
  } catch (const std::bad_alloc &) {
    return reportFailure(reports, "out of memory");
  }
}

/// Returns the reports that argv requests, if the options as a whole are
/// invalid.
Reports reportsOf(int argc, char **argv) {
  static constexpr std::string_view flag = "--sarif";
  Reports reports;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    reports.command += (i ? " " : "") + quote(argv[i]);
    reports.json |= word == "--json";
    if (word.starts_with("--sarif="))
      reports.sarif = word.substr(flag.size() + 1);
    else if (word == flag && i + 1 < argc)
      reports.sarif = argv[i + 1];
  }
  return reports;
}

} // namespace

int main(int argc, char **argv) {
  try {
    auto parsed = parseCommandLine(argc, argv);
    if (const int *code = std::get_if<int>(&parsed))
      return *code;
    return runTool(std::get<CommandLine>(parsed));
  } catch (const BadInput &error) {
    // The options are invalid, but requested reports are still written.
    return reportFailure(reportsOf(argc, argv), error.what());
  }
}

//===- Compare.cpp - Whether other schedules give the same ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include "fmha/PTX/Driver/Report.h"
#include "fmha/PTX/Sim/Exploration.h"

#include <cstdio>

namespace ptxsim::tool {
namespace {

class Comparer {
public:
  Comparer(const Job &job, const LaunchConfig &config,
           const Arguments &arguments, Progress &progress)
      : job(job), config(config), arguments(arguments), progress(progress) {}
  Comparison run() {
    if (job.line.options.policy == Policy::Exhaustive)
      explore();
    else
      seeds();
    return std::move(result);
  }

private:
  Outcome launchOnce(Options options, bool traced);
  bool differs(Outcome next, const std::string &schedule,
               std::optional<uint64_t> seed, const std::string &flags);
  void seeds();
  void explore();

  const Job &job;
  const LaunchConfig &config;
  const Arguments &arguments;
  Progress &progress;
  Comparison result;
};

Outcome Comparer::launchOnce(Options options, bool traced) {
  progress.attach(options);
  if (traced && job.line.trace) {
    options.trace = job.line.trace;
    options.trace->line = [](void *, const std::string &text) {
      std::fprintf(stderr, "%s\n", text.c_str());
    };
  }
  Outcome outcome = tool::run(job.module, config, arguments, options);
  result.instructions += outcome.result.warpInstructions;
  return outcome;
}

/// Holds a run against the first, and keeps it if it differs.
bool Comparer::differs(Outcome next, const std::string &schedule,
                       std::optional<uint64_t> seed, const std::string &flags) {
  ++result.schedules;
  auto what = difference(arguments, result.first, next);
  if (what)
    result.divergence = Divergence{
        schedule, seed, *what, replayCommand(job.line, flags), std::move(next)};
  return what.has_value();
}

void Comparer::seeds() {
  result.first = launchOnce(job.line.options, true);
  Options options = job.line.options;
  if (!options.randomised())
    options.policy = Policy::Random;
  for (uint64_t i = 0; i < job.line.schedules; ++i) {
    options.scheduleSeed = job.line.options.scheduleSeed + i;
    progress.schedule(i + 1, job.line.schedules);
    std::string seed = std::to_string(options.scheduleSeed);
    if (differs(launchOnce(options, false), "seed " + seed,
                options.scheduleSeed,
                std::string("--policy=") + nameOf(options.policy) +
                    " --schedule-seed=" + seed))
      return;
  }
}

void Comparer::explore() {
  Exploration all = job.line.schedulePath.empty()
                        ? Exploration(job.line.maxSchedules)
                        : Exploration(job.line.schedulePath);
  Options options = job.line.options;
  options.exploration = &all;
  bool first = true;
  while (all.next()) {
    progress.schedule(all.schedules() + 1, job.line.maxSchedules);
    Outcome next = launchOnce(options, first);
    if (all.redundant())
      continue;
    if (first)
      result.first = std::move(next);
    else if (differs(std::move(next), "choices " + all.path(), std::nullopt,
                     "--policy=exhaustive --schedule=" + all.path()))
      break;
    first = false;
  }
  result.longest = all.longest();
  if (job.line.schedulePath.empty())
    result.exhausted = all.exhausted();
}

} // namespace

Comparison runAll(const Job &job, const LaunchConfig &config,
                  const Arguments &arguments, Progress &progress) {
  return Comparer(job, config, arguments, progress).run();
}

} // namespace ptxsim::tool

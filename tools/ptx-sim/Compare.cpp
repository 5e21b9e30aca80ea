//===- Compare.cpp - Compares the results of several schedules ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include "fmha/PTX/Host/Report.h"
#include "fmha/PTX/Sim/Core/Machine/Report.h"
#include "fmha/PTX/Sim/Exploration.h"

#include <algorithm>
#include <cstdio>

namespace ptxsim::tool {
namespace {

class Comparer {
public:
  Comparer(const Job &job, const LaunchConfig &config,
           const Arguments &arguments, Progress &progress)
      : job(job), config(config), arguments(arguments), progress(progress) {}
  Comparison run() {
    if (job.line.options.policy != Policy::Exhaustive)
      repeat();
    else if (job.line.schedulePath.empty())
      explore();
    else
      repeatPath();
    conclude();
    return std::move(result);
  }

private:
  /// A schedule with its name in reports, and the flags that select it.
  struct Schedule {
    Policy policy = Policy::Eager;
    std::string name, inWords, flags;
    std::optional<uint64_t> seed;
  };
  static Schedule scheduleOf(const Options &options);
  static Schedule scheduleOf(const std::string &path);

  Outcome launchOnce(Options options, bool traced);
  void begin(Outcome outcome, Schedule schedule);
  bool goesOn(Outcome next, const Schedule &schedule);
  std::string replayOf(const Schedule &schedule) const;
  void repeat();
  void repeatPath();
  void explore();
  void conclude();
  Finding dependentResult() const;

  const Job &job;
  const LaunchConfig &config;
  const Arguments &arguments;
  Progress &progress;
  Comparison result;
  Schedule firstSchedule, otherSchedule;
};

Comparer::Schedule Comparer::scheduleOf(const Options &options) {
  std::string policy = nameOf(options.policy);
  Schedule schedule{
      options.policy, policy, "policy " + policy, "--policy=" + policy, {}};
  if (!options.randomized())
    return schedule;
  std::string seed = std::to_string(options.scheduleSeed);
  schedule.seed = options.scheduleSeed;
  schedule.name = "seed " + seed;
  schedule.inWords += ", schedule seed " + seed;
  schedule.flags += " --schedule-seed=" + seed;
  return schedule;
}

Comparer::Schedule Comparer::scheduleOf(const std::string &path) {
  return {Policy::Exhaustive,
          "choices " + path,
          "policy exhaustive, choices " + path,
          "--policy=exhaustive --schedule=" + path,
          {}};
}

Outcome Comparer::launchOnce(Options options, bool traced) {
  progress.attach(options);
  if (traced && job.line.trace) {
    options.trace = job.line.trace;
    options.trace->line = [](void *, const std::string &text) {
      std::fprintf(stderr, "%s\n", text.c_str());
    };
  }
  std::optional<timing::TimeOptions> timed;
  if (traced && job.line.time) {
    timed.emplace();
    timed->frontEnd =
        job.line.sass ? timing::FrontEnd::Sass : timing::FrontEnd::Ptx;
    timed->isL2Warm = job.line.warmL2;
    timed->draws = job.line.timeDraws;
  }
  Outcome outcome = tool::run(job.module, config, arguments, options, timed,
                              !job.line.timeline.empty());
  result.instructions += outcome.result.warpInstructions;
  return outcome;
}

void Comparer::begin(Outcome outcome, Schedule schedule) {
  result.first = std::move(outcome);
  firstSchedule = std::move(schedule);
}

/// Returns the command for a run of `schedule` that is compared with the first
/// run. A command that already repeats the run is returned unchanged.
std::string Comparer::replayOf(const Schedule &schedule) const {
  const CommandLine &line = job.line;
  if (line.compare || !line.schedulePath.empty())
    return commandText(line);
  if (line.options.policy == Policy::Exhaustive)
    return replayCommand(line, schedule.flags);
  std::string other = nameOf(line.options.policy);
  if (line.options.randomized())
    other += ":" + std::to_string(line.options.scheduleSeed);
  return replayCommand(line, schedule.flags + " --compare=" + other);
}

/// Compares a run with the first, and keeps it if it differs. Returns false if
/// further runs are useless.
bool Comparer::goesOn(Outcome next, const Schedule &schedule) {
  ++result.schedules;
  // The result of a run that was cut off is unknown.
  if (next.result.status == Status::StepLimit) {
    result.cut = schedule.inWords;
    return false;
  }
  auto found = difference(arguments, result.first, next);
  if (!found)
    return true;
  result.divergence =
      Divergence{schedule.name, schedule.seed, std::move(*found),
                 replayOf(schedule), std::move(next)};
  otherSchedule = schedule;
  return false;
}

void Comparer::repeat() {
  Options options = job.line.options;
  begin(launchOnce(options, true), scheduleOf(options));
  if (result.first.result.status == Status::StepLimit)
    return;
  if (const auto &other = job.line.compare) {
    options.policy = other->policy;
    options.scheduleSeed = other->seed;
    goesOn(launchOnce(options, false), scheduleOf(options));
    return;
  }
  if (!options.randomized())
    options.policy = Policy::Random;
  for (uint64_t i = 0; i < job.line.schedules; ++i) {
    options.scheduleSeed = job.line.options.scheduleSeed + i;
    progress.schedule(i + 1, job.line.schedules);
    if (!goesOn(launchOnce(options, false), scheduleOf(options)))
      return;
  }
}

void Comparer::repeatPath() {
  static const std::string usual = "-";
  auto run = [this](const std::string &path, bool traced) {
    Exploration one{std::string_view(path)};
    Options options = job.line.options;
    options.exploration = &one;
    one.next();
    return launchOnce(options, traced);
  };
  const std::string &path = job.line.schedulePath;
  begin(run(path, true), scheduleOf(path));
  if (path != usual && result.first.result.status != Status::StepLimit)
    goesOn(run(usual, false), scheduleOf(usual));
}

void Comparer::explore() {
  Exploration all(job.line.maxSchedules);
  Options options = job.line.options;
  options.exploration = &all;
  bool first = true, wanted = true;
  while (wanted && all.next()) {
    progress.schedule(all.schedules() + 1, job.line.maxSchedules);
    Outcome next = launchOnce(options, first);
    if (all.redundant())
      continue;
    if (first) {
      begin(std::move(next), scheduleOf(all.path()));
      wanted = result.first.result.status != Status::StepLimit;
    } else {
      wanted = goesOn(std::move(next), scheduleOf(all.path()));
    }
    first = false;
  }
  result.longest = all.longest();
  result.exhausted = all.exhausted();
}

Finding Comparer::dependentResult() const {
  const FindingInfo &info = infoOf(FindingId::ScheduleDependent);
  const Divergence &other = *result.divergence;
  const ElementDifference &element = *other.difference.element;
  Finding finding;
  finding.id = info.id;
  finding.severity = info.severity;
  finding.message =
      element.output + " differs in " + std::to_string(element.differing) +
      " of " + std::to_string(element.elements) + " elements; the first, " +
      element.place + ", is " + element.first + " under " +
      firstSchedule.inWords + " but " + element.second + " under " +
      otherSchedule.inWords + ". " + std::string(info.text);
  finding.fix = info.fix;
  // No single instruction is at fault, so report the entry.
  finding.ptxLine = job.module.findEntry(config.entry)->line;
  finding.policy = otherSchedule.policy;
  finding.scheduleSeed = other.seed.value_or(0);
  return finding;
}

/// Combines findings and status of all runs.
void Comparer::conclude() {
  result.findings = result.first.result.findings;
  result.status = result.first.result.status;
  if (result.divergence) {
    for (const Finding &finding : result.divergence->outcome.result.findings)
      if (std::ranges::none_of(result.findings, [&](const Finding &known) {
            return known.id == finding.id && known.ptxLine == finding.ptxLine;
          }))
        result.findings.push_back(finding);
    if (result.divergence->difference.element)
      result.findings.push_back(dependentResult());
  }
  if (result.status == Status::StepLimit)
    return;
  if (result.deadlock())
    result.status = Status::Deadlock;
  else if (!result.findings.empty())
    result.status = Status::Findings;
  else if (!result.cut.empty())
    result.status = Status::StepLimit;
}

} // namespace

const DeadlockReport *Comparison::deadlock() const {
  if (first.result.deadlock)
    return &*first.result.deadlock;
  if (divergence && divergence->outcome.result.deadlock)
    return &*divergence->outcome.result.deadlock;
  return nullptr;
}

Comparison runAll(const Job &job, const LaunchConfig &config,
                  const Arguments &arguments, Progress &progress) {
  return Comparer(job, config, arguments, progress).run();
}

} // namespace ptxsim::tool

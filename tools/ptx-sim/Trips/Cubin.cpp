//===- Cubin.cpp - Models a cubin by a trips file -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cubin.h"

#include "ElementType.h"
#include "Files.h"
#include "fmha/PTX/Host/Report.h"
#include "fmha/PTX/Host/Target.h"
#include "fmha/PTX/Sass/Reader.h"
#include "fmha/PTX/Sass/Tools.h"
#include "fmha/PTX/Time/Json.h"
#include "fmha/PTX/Time/Trips.h"

#include <cstdio>

namespace ptxsim::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Cubin {
  std::string target;
  std::vector<sass::Function> functions;
};

Cubin readCubin(const std::string &path) {
  // The error of the system, if the file cannot be read.
  readFile(path);
  try {
    std::string text = sass::disassembledCubin(path);
    return {sass::targetOf(text), sass::read(text)};
  } catch (const std::runtime_error &error) {
    throw BadInput(error.what());
  }
}

std::string namesOf(const Cubin &cubin) {
  std::string names;
  for (const sass::Function &function : cubin.functions)
    names += (names.empty() ? "" : ", ") + function.name;
  return names;
}

/// Returns the function of that name, or the only one that has the text in its
/// name.
sass::Function &find(Cubin &cubin, const std::string &path,
                     const std::string &name) {
  sass::Function *found = nullptr;
  unsigned count = 0;
  for (sass::Function &function : cubin.functions) {
    if (function.name == name)
      return function;
    if (function.name.find(name) == std::string::npos)
      continue;
    found = &function;
    ++count;
  }
  if (count != 1)
    throw BadInput("expected an entry of " + path + " for --entry, one of " +
                   namesOf(cubin) + ", got '" + name + "', which " +
                   (count ? "several have" : "none has") + " in its name");
  return *found;
}

std::string listed(const Cubin &cubin, bool isJson) {
  if (isJson) {
    Json names = Json::array();
    for (const sass::Function &function : cubin.functions)
      names.push_back(function.name);
    return Json({{"target", cubin.target}, {"entries", names}}).dump(2) + "\n";
  }
  std::string text;
  for (const sass::Function &function : cubin.functions)
    text += function.name + ", " +
            std::to_string(function.instructions.size()) +
            " instructions for " + cubin.target + "\n";
  return text;
}

/// Checks extents against what a launch may have.
void checkExtents(const char *flag, const Dim3 &got, const Dim3 &most) {
  if (got.x <= most.x && got.y <= most.y && got.z <= most.z)
    return;
  auto text = [](const Dim3 &of) {
    return std::to_string(of.x) + "," + std::to_string(of.y) + "," +
           std::to_string(of.z);
  };
  throw BadInput(std::string(flag) + ": expected extents of at most " +
                 text(most) + ", got " + text(got));
}

void checkLaunch(const CommandLine &line) {
  checkExtents("--grid", line.grid, {INT32_MAX, 65535, 65535});
  if (!line.block)
    return;
  constexpr uint32_t mostThreads = 1024;
  checkExtents("--block", *line.block, {mostThreads, mostThreads, 64});
  if (uint64_t threads = line.block->count(); threads > mostThreads)
    throw BadInput("--block: expected at most " + std::to_string(mostThreads) +
                   " threads, got " + std::to_string(threads));
}

std::string writeFirst(const CommandLine &line, const sass::Function &function,
                       const std::string &target) {
  unsigned threads = unsigned(line.block.value_or(Dim3{128, 1, 1}).count());
  std::string text = timing::firstTrips(function, target, (threads + 31) / 32);
  if (line.writeTrips == "-")
    return text;
  if (auto wrong = writeWhole(line.writeTrips, text))
    throw BadInput(*wrong);
  return line.writeTrips +
         " is written: replace its nulls, then pass --trips=" +
         line.writeTrips + "\n";
}

/// Returns how the grid fills the SMs, as the file says how many CTAs one has.
timing::Occupancy occupancyOf(const CommandLine &line, uint32_t perSm,
                              const std::string &target) {
  auto name = TargetName::parse(target);
  uint64_t sms = factsOf(name ? name->cc : 0).multiprocessors;
  timing::Occupancy occupancy;
  occupancy.perSm = perSm;
  occupancy.perWave = std::max<uint64_t>(sms, 1) * perSm;
  occupancy.waves =
      (line.grid.count() + occupancy.perWave - 1) / occupancy.perWave;
  return occupancy;
}

timing::Estimate modeled(const CommandLine &line, const timing::Trips &trips,
                         const sass::Function &function,
                         const std::string &target, std::string &timeline) {
  timing::checkTarget(target);
  timing::Recording recording =
      timing::recordingOf(trips, function, line.warmL2);
  timing::TimeOptions how;
  how.timeline = line.timeline.empty() ? nullptr : &timeline;
  how.draws = line.timeDraws;
  LaunchConfig config;
  config.grid = line.grid;
  try {
    timing::Estimate time =
        timing::estimate(recording, occupancyOf(line, trips.ctasPerSm, target),
                         config, target, how);
    time.frontEnd = timing::FrontEnd::Sass;
    // Draws may take a little longer than the slowest level.
    constexpr double most = 0x1p62;
    if (time.clocks.high > most)
      throw BadInput("--grid: expected CTAs whose modeled clocks are below "
                     "2^62, got " +
                     std::to_string(line.grid.count()) + " CTAs");
    return time;
  } catch (const Error &error) {
    throw BadInput("expected trips whose warps do not wait for each other in a "
                   "cycle, got '" +
                   std::string(error.what()) +
                   "': look at the order of their waits and at 'free' of their "
                   "barriers");
  }
}

std::string run(const CommandLine &line) {
  checkLaunch(line);
  Cubin cubin = readCubin(line.cubin);
  if (line.listEntries)
    return listed(cubin, line.json);
  timing::Trips trips;
  if (!line.trips.empty())
    trips = timing::readTrips(readFile(line.trips), line.set);
  std::string name = line.entry.empty() ? trips.kernel : line.entry;
  if (name.empty() && cubin.functions.size() > 1)
    throw BadInput("--entry is missing and " + line.cubin +
                   " has several: " + namesOf(cubin));
  sass::Function &function = find(cubin, line.cubin, name);
  if (line.trips.empty())
    return writeFirst(line, function, cubin.target);
  if (!trips.target.empty() && trips.target != cubin.target)
    throw BadInput(line.trips + ": expected a cubin for " + trips.target +
                   ", got one for " + cubin.target);
  std::string timeline;
  timing::Estimate time =
      modeled(line, trips, function, cubin.target, timeline);
  if (!line.timeline.empty())
    if (auto wrong = writeWhole(line.timeline, timeline))
      throw BadInput(*wrong);
  if (!line.json)
    return timing::describe(time);
  Json json = {{"schema_version", 1},
               {"entry", function.name},
               {"target", cubin.target}};
  json.update(timing::toJson(&time));
  return json.dump(2) + "\n";
}

} // namespace

std::string runCubin(const CommandLine &line) {
  try {
    return run(line);
  } catch (const Error &error) {
    throw BadInput(error.what());
  }
}

} // namespace ptxsim::tool

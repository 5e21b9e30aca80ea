//===- Estimate.cpp - The modeled time of a launch ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Estimate.h"

#include "fmha/PTX/Host/Target.h"
#include "fmha/PTX/Time/CriticalPath.h"
#include "fmha/PTX/Time/Recorder.h"
#include "fmha/PTX/Time/Timeline.h"

#include <algorithm>
#include <cmath>

namespace ptxsim::timing {
namespace {

/// Registers of an SM (CUDA programming guide, technical specifications), and
/// shared memory of each CTA that belongs to the system.
constexpr uint64_t kRegisters = 65536, kSystemBytes = 1024;

uint64_t ctasPerCluster(const Module::Entry &entry,
                        const LaunchConfig &config) {
  if (config.cluster)
    return config.cluster->count();
  return entry.requiredCluster ? entry.requiredCluster->count() : 1;
}

uint64_t ctasPerSm(const Module::Entry &entry, const LaunchConfig &config,
                   const DeviceFacts &facts) {
  uint64_t threads = (config.block.count() + 31) / 32 * 32;
  uint64_t bytes =
      entry.staticSharedBytes + config.dynamicSharedBytes + kSystemBytes;
  uint64_t most = std::min<uint64_t>({facts.blocksPerMultiprocessor,
                                      facts.threadsPerMultiprocessor / threads,
                                      facts.sharedPerMultiprocessor / bytes});
  if (entry.maxRegisters && *entry.maxRegisters)
    most =
        std::min<uint64_t>(most, kRegisters / (threads * *entry.maxRegisters));
  return std::max<uint64_t>(most, 1);
}

Figures figuresAt(std::string_view target, Level level) {
  checkTarget(target);
  return *figuresOf(target, level);
}

/// Returns the bytes that a launch reads from device memory: of what loads
/// read, only the recorded CTAs are known, and others are taken to read as
/// much.
double bytesOf(const Recording &recording, uint64_t clusters) {
  double recorded = double(std::max<uint64_t>(recording.clusters, 1));
  return double(recording.copiedBytes) +
         double(recording.loadedBytes) *
             std::max(double(clusters) / recorded, 1.0);
}

/// Makes low the least and high the most. Slower figures may give fewer clocks:
/// warps that compete meet at other times.
void sort(Range &range) {
  auto [least, most] = std::minmax({range.low, range.middle, range.high});
  range = {least, range.middle, most};
}

std::string number(double clocks) {
  return std::to_string(std::llround(clocks));
}

std::string text(const Range &range) {
  return number(range.middle) + " (" + number(range.low) + " to " +
         number(range.high) + ")";
}

} // namespace

void checkTarget(std::string_view target) {
  if (!figuresOf(target, Level::Middle))
    throw Error(Error::Kind::Launch, "expected a target with figures for the "
                                     "modeled time (" +
                                         targetsWithFigures() + "), got " +
                                         std::string(target));
}

Occupancy occupancyOf(const Module::Entry &entry, const LaunchConfig &config,
                      std::string_view target) {
  auto name = TargetName::parse(target);
  const DeviceFacts &facts = factsOf(name ? name->cc : 0);
  uint64_t share = ctasPerCluster(entry, config);
  uint64_t clusters = std::max<uint64_t>(config.grid.count() / share, 1);
  uint64_t places = std::max<uint64_t>(facts.multiprocessors / share, 1);
  Occupancy occupancy;
  occupancy.perSm = std::min(ctasPerSm(entry, config, facts),
                             (clusters + places - 1) / places);
  occupancy.perWave = places * occupancy.perSm;
  occupancy.waves = (clusters + occupancy.perWave - 1) / occupancy.perWave;
  return occupancy;
}

Estimate estimate(const Recording &recording, const Occupancy &occupancy,
                  const LaunchConfig &config, std::string_view target,
                  std::string *timeline) {
  Estimate result;
  result.waves = occupancy.waves;
  result.ctasPerSm = occupancy.perSm;
  uint64_t share = 1;
  for (const WarpRecord &warp : recording.warps)
    share = std::max<uint64_t>(share, warp.rank + 1);
  double bytes = bytesOf(recording, config.grid.count() / share);
  std::pair<Level, double Range::*> levels[] = {{Level::Low, &Range::low},
                                                {Level::Middle, &Range::middle},
                                                {Level::High, &Range::high}};
  for (auto [level, member] : levels) {
    Figures figures = figuresAt(target, level);
    bool draws = timeline && level == Level::Middle;
    Schedule steps = schedule(recording, figures, draws);
    if (draws)
      *timeline = timelineOf(recording, steps);
    double all = steps.clocks * double(occupancy.waves);
    double memory = bytes / figures[Figure::DramBytes];
    result.wave.*member = steps.clocks;
    result.clocks.*member = std::max(all, memory);
    if (level != Level::Middle)
      continue;
    result.mmaUtilisation =
        std::max(all, memory) > 0
            ? steps.mmaBusy * double(occupancy.waves) / std::max(all, memory)
            : 0;
    result.bound = describePath(recording, criticalPath(recording, steps));
    if (memory > all)
      result.bound = "device memory; without it " + result.bound;
  }
  sort(result.wave);
  sort(result.clocks);
  return result;
}

LaunchResult launchTimed(Device &device, const Module &module,
                         const LaunchConfig &config, Options options,
                         std::string_view target, std::optional<Estimate> &time,
                         std::string *timeline) {
  checkTarget(target);
  const Module::Entry *entry = module.findEntry(config.entry);
  // The launch reports that there is none.
  if (!entry)
    return launch(device, module, config, options);
  Occupancy occupancy = occupancyOf(*entry, config, target);
  Recorder recorder(occupancy.perSm);
  options.observer = &recorder;
  LaunchResult result = launch(device, module, config, options);
  bool ended = !result.faulted && (result.status == Status::Ok ||
                                   result.status == Status::Findings);
  if (ended)
    time = estimate(recorder.recording(), occupancy, config, target, timeline);
  return result;
}

std::string describe(const Estimate &estimate) {
  std::string report = "modeled clocks: " + text(estimate.clocks);
  report += estimate.waves == 1
                ? "\n"
                : ", " + std::to_string(estimate.waves) + " waves of modeled " +
                      text(estimate.wave) + "\n";
  report += "modeled bound: " + estimate.bound + "\n";
  return report + "modeled use of the tensor cores: " +
         std::to_string(std::lround(100 * estimate.mmaUtilisation)) + " %\n";
}

} // namespace ptxsim::timing

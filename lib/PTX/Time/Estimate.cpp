//===- Estimate.cpp - The modeled time of a launch ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Estimate.h"

#include "fmha/PTX/Host/Target.h"
#include "fmha/PTX/Sass/Reader.h"
#include "fmha/PTX/Sass/Tools.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"
#include "fmha/PTX/Time/CriticalPath.h"
#include "fmha/PTX/Time/Recorder.h"
#include "fmha/PTX/Time/SassRecording.h"
#include "fmha/PTX/Time/Timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

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

/// The mean clocks of launches, and the seed of the launch that is nearest to
/// it.
struct Typical {
  double clocks = 0;
  uint32_t seed = 0;
};

/// Returns the figures of the launch with a seed: those of a level, or near the
/// middle.
Figures figuresOfLaunch(std::string_view target, Level level, uint32_t seed) {
  Figures figures = figuresAt(target, level);
  if (level != Level::Middle)
    return figures;
  return *figuresNear(target, seed, figures[Figure::LaunchSpread]);
}

/// CTAs and warpgroups that compete can settle into turns or into lockstep, and
/// small differences decide which: one launch alone is not typical. Launches
/// differ in the parts of L2 that copies come from and in figuresOfLaunch().
Typical typicalOf(const Recording &recording, std::string_view target,
                  Level level) {
  std::array<double, 5> clocks;
  for (uint32_t seed = 0; double &of : clocks) {
    Figures figures = figuresOfLaunch(target, level, ++seed);
    of = schedule(recording, figures, false, seed).clocks;
  }
  double mean =
      std::accumulate(clocks.begin(), clocks.end(), 0.0) / clocks.size();
  auto nearest = std::ranges::min_element(
      clocks, {}, [&](double of) { return std::abs(of - mean); });
  return {mean, uint32_t(nearest - clocks.begin()) + 1};
}

/// Returns the SASS of an entry.
sass::Function sassOf(const Module &module, const std::string &entry) {
  try {
    std::string text =
        sass::disassembled(module.impl().tree->text, module.target());
    for (sass::Function &function : sass::read(text))
      if (function.name == entry)
        return std::move(function);
  } catch (const std::runtime_error &error) {
    throw Error(Error::Kind::Launch, error.what());
  }
  throw Error(Error::Kind::Launch,
              "expected SASS of " + entry + ", got none from nvdisasm");
}

/// Returns the clusters that are recorded: those that the SM runs first, or SM
/// 0 if the launch leaves it empty, as one of several kernels may.
ClustersOfSm clustersOf(unsigned sm, const Occupancy &occupancy) {
  uint64_t busy = std::min(occupancy.places, occupancy.clusters);
  return {sm < busy ? sm : 0, occupancy.places, occupancy.perSm};
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
                      std::string_view target, unsigned sms) {
  auto name = TargetName::parse(target);
  const DeviceFacts &facts = factsOf(name ? name->cc : 0);
  uint64_t share = ctasPerCluster(entry, config);
  uint64_t clusters = std::max<uint64_t>(config.grid.count() / share, 1);
  uint64_t all = sms ? sms : facts.multiprocessors;
  uint64_t places = std::max<uint64_t>(all / share, 1);
  Occupancy occupancy;
  occupancy.clusters = clusters;
  occupancy.places = places;
  occupancy.perSm = std::min(ctasPerSm(entry, config, facts),
                             (clusters + places - 1) / places);
  occupancy.perWave = places * occupancy.perSm;
  occupancy.waves = (clusters + occupancy.perWave - 1) / occupancy.perWave;
  return occupancy;
}

Estimate estimate(const Recording &recording, const Occupancy &occupancy,
                  const LaunchConfig &config, std::string_view target,
                  const TimeOptions &how) {
  Estimate result;
  result.waves = occupancy.waves;
  result.ctasPerSm = occupancy.perSm;
  result.copiedBytes = recording.readBytes;
  uint64_t share = 1;
  for (const WarpRecord &warp : recording.warps)
    share = std::max<uint64_t>(share, warp.rank + 1);
  double bytes = bytesOf(recording, config.grid.count() / share);
  auto typicalAt = [&](Level level) {
    return typicalOf(recording, target, level);
  };
  Typical typical = typicalAt(Level::Middle);
  Schedule launch =
      schedule(recording, figuresOfLaunch(target, Level::Middle, typical.seed),
               how.timeline != nullptr, typical.seed);
  if (how.timeline)
    *how.timeline = timelineOf(recording, launch);
  result.wave = {typicalAt(Level::Low).clocks, typical.clocks,
                 typicalAt(Level::High).clocks};
  auto launchWith = [&](const Figures &figures, double wave) {
    double memory = bytes / figures[Figure::DramBytes];
    return std::max(wave * double(occupancy.waves), memory);
  };
  auto launchAt = [&](Level level, double wave) {
    return launchWith(figuresAt(target, level), wave);
  };
  result.clocks = {launchAt(Level::Low, result.wave.low),
                   launchAt(Level::Middle, result.wave.middle),
                   launchAt(Level::High, result.wave.high)};
  for (uint32_t seed = 1; seed <= how.draws; ++seed) {
    Figures figures = *drawnFigures(target, seed);
    double wave = schedule(recording, figures, false, seed).clocks;
    result.drawn.push_back(launchWith(figures, wave));
  }
  double all = result.wave.middle * double(occupancy.waves);
  if (result.clocks.middle > 0)
    result.mmaUtilisation =
        launch.mmaBusy * double(occupancy.waves) / result.clocks.middle;
  result.bound = describePath(recording, criticalPath(recording, launch));
  if (result.clocks.middle > all)
    result.bound = "device memory; without it " + result.bound;
  sort(result.wave);
  sort(result.clocks);
  return result;
}

LaunchResult launchTimed(Device &device, const Module &module,
                         const LaunchConfig &config, Options options,
                         std::string_view target, std::optional<Estimate> &time,
                         const TimeOptions &how) {
  checkTarget(target);
  const Module::Entry *entry = module.findEntry(config.entry);
  // The launch reports that there is none.
  if (!entry)
    return launch(device, module, config, options);
  std::optional<sass::Function> sass;
  if (how.frontEnd == FrontEnd::Sass)
    sass = sassOf(module, config.entry);
  Occupancy occupancy = occupancyOf(*entry, config, target, how.sms);
  Recorder recorder(clustersOf(how.sm, occupancy), Recorder::kMostSteps,
                    how.isL2Warm);
  options.observer = &recorder;
  LaunchResult result = launch(device, module, config, options);
  bool ended = !result.faulted && (result.status == Status::Ok ||
                                   result.status == Status::Findings);
  if (!ended)
    return result;
  moveToUniformPipe(recorder.recording().codes);
  std::optional<Recording> translated;
  if (sass)
    translated = inSass(recorder.recording(), std::move(*sass));
  time = estimate(sass ? *translated : recorder.recording(), occupancy, config,
                  target, how);
  time->frontEnd = how.frontEnd;
  return result;
}

std::string describe(const Estimate &estimate) {
  std::string report = "modeled clocks";
  if (estimate.frontEnd == FrontEnd::Sass)
    report += " of SASS";
  report += ": " + text(estimate.clocks);
  report += estimate.waves == 1
                ? "\n"
                : ", " + std::to_string(estimate.waves) + " waves of modeled " +
                      text(estimate.wave) + "\n";
  report += "modeled bound: " + estimate.bound + "\n";
  return report + "modeled use of the tensor cores: " +
         std::to_string(std::lround(100 * estimate.mmaUtilisation)) + " %\n";
}

} // namespace ptxsim::timing

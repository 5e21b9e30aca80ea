//===- Estimate.h - The modeled time of a launch ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_ESTIMATE_H
#define FMHA_PTX_TIME_ESTIMATE_H

#include "fmha/PTX/Sim/Simulator.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::timing {

struct Recording;

/// Modeled clocks with the figures that make a kernel fast, the likely ones,
/// and those that make it slow.
struct Range {
  double low = 0, middle = 0, high = 0;
};

/// What is replayed: the instructions of PTX, or those of SASS.
enum class FrontEnd : uint8_t { Ptx, Sass };

/// How a launch fills a device.
struct Occupancy {
  /// Clusters that one SM has a part of at a time, those that the device has,
  /// and how often it is filled.
  uint64_t perSm = 1, perWave = 1, waves = 1;
  /// Clusters of the launch, and places of the device. A place is an SM or,
  /// with clusters of several CTAs, the group of SMs that one cluster takes.
  /// Cluster c runs at place c mod `places`.
  uint64_t clusters = 1, places = 1;
};

/// Returns the occupancy by shared memory, threads, CTAs, and registers where
/// .maxnreg gives them. Tensor memory and the registers that ptxas chooses are
/// not considered. A grid that does not fill the device is spread over its SMs:
/// `sms` of them, or as many as the target has.
Occupancy occupancyOf(const Module::Entry &entry, const LaunchConfig &config,
                      std::string_view target, unsigned sms = 0);

/// The modeled time of a launch.
struct Estimate {
  /// Of the launch, and of the CTAs that were recorded, which run together.
  Range clocks, wave;
  /// Of the launch with figures that are drawn with the seeds 1, 2, 3, ...
  std::vector<double> drawn;
  uint64_t waves = 1, ctasPerSm = 1;
  FrontEnd frontEnd = FrontEnd::Ptx;
  /// Share of the clocks for which the tensor cores work, with likely figures.
  double mmaUtilisation = 0;
  /// Bytes that copies read from global memory, counted and not modeled.
  uint64_t copiedBytes = 0;
  /// What bounds it, with likely figures.
  std::string bound;
};

/// The most draws, which take as long as so many replays.
inline constexpr unsigned kMostDraws = 10000;

/// How the time is modeled: `timeline`, if not null, receives a trace of the
/// recorded CTAs (Timeline.h), `sms` is as in occupancyOf(), `isL2Warm` as in
/// Recorder, and `draws` is how often figures are drawn within their ranges.
struct TimeOptions {
  FrontEnd frontEnd = FrontEnd::Ptx;
  std::string *timeline = nullptr;
  unsigned sms = 0;
  bool isL2Warm = false;
  unsigned draws = 0;
  /// The place whose clusters are modeled (Occupancy::places).
  unsigned sm = 0;
};

/// Returns the modeled time of the launch: replays the recording and extends it
/// to the grid. Throws Error::Launch if the target has no figures.
Estimate estimate(const Recording &recording, const Occupancy &occupancy,
                  const LaunchConfig &config, std::string_view target,
                  const TimeOptions &how = {});

/// Launches under Policy::Eager and sets `time` if the launch ended. Throws
/// Error::Launch, before the launch, if the target has no figures, or if the
/// PTX cannot be assembled and disassembled for FrontEnd::Sass; after it, if
/// the SASS does not follow the PTX.
LaunchResult launchTimed(Device &device, const Module &module,
                         const LaunchConfig &config, Options options,
                         std::string_view target, std::optional<Estimate> &time,
                         const TimeOptions &how = {});

/// Returns the modeled time in lines of text, each with the word "modeled".
std::string describe(const Estimate &estimate);

/// Throws Error::Launch if the target has no figures, and names those that do.
void checkTarget(std::string_view target);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_ESTIMATE_H

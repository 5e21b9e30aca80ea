//===- CostModel.cpp - Modelled clocks of one KV block ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/CostModel.h"

#include "Footprint.h"

#include "fmha/Layout/SmemTile.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

std::string_view fmha::schedule::stringify(Unit unit) {
  static constexpr std::string_view names[] = {"exp", "MMA", "SMEM", "TMEM",
                                               "FMA"};
  return names[unsigned(unit)];
}

Unit Cost::bound() const {
  return Unit(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

namespace {

/// f32 operations per score outside the MUFU.
constexpr double fmaPerScore = 3;
/// Blocks whose row maximum outgrows a positive threshold.
constexpr double rescaledShare = 0.1;

/// One query tile and one KV block, in counts that no rate has divided yet.
struct TileWork {
  double rows, keys, d, v;
  bool pInSmem;

  double scores() const { return rows * keys; }
  double kBytes() const { return keys * d * elementBytes; }
  double vBytes() const { return keys * v * elementBytes; }
  double qBytes() const { return rows * d * elementBytes; }
  double pBytes() const { return scores() * elementBytes; }
};

/// Clocks of a chain of MMAs: `k` long, D of `columns`, `aRows` rows of A from
/// shared memory (0 where A is in tensor memory).
double mmaClocks(const target::Target &gpu, double k, double columns,
                 double aRows) {
  constexpr double rowsPerInstruction = 128;
  constexpr unsigned elementsPerStep = layout::kStepBytes / elementBytes;
  double steps = k / elementsPerStep;
  double flops = 2 * rowsPerInstruction * columns * elementsPerStep;
  double operands = layout::kStepBytes * (aRows + columns);
  return steps * std::max(flops / gpu.mmaFlopsPerClock,
                          operands / gpu.smemBytesPerClock);
}

double smemBytes(const TileWork &w) {
  double products = w.qBytes() + w.kBytes() + w.vBytes();
  double rowFactors = 2 * w.rows * sizeof(float);
  return products + rowFactors + (w.pInSmem ? 2 * w.pBytes() : 0);
}

double tmemBytes(const TileWork &w, double threshold) {
  double score = w.scores() * sizeof(float);
  double p = w.pInSmem ? 0 : w.pBytes();
  double rescales = threshold > 0 ? rescaledShare : 1;
  return score + p + rescales * 2 * w.rows * w.v * sizeof(float);
}

std::array<double, unitCount> tileBusy(const target::Target &gpu,
                                       const TileWork &w, double threshold) {
  std::array<double, unitCount> busy{};
  auto at = [&](Unit unit) -> double & { return busy[unsigned(unit)]; };
  at(Unit::Mma) = mmaClocks(gpu, w.d, w.keys, w.rows) +
                  mmaClocks(gpu, w.keys, w.v, w.pInSmem ? w.rows : 0);
  at(Unit::Mufu) = (w.scores() + w.rows) / gpu.mufuPerClock;
  at(Unit::Smem) = smemBytes(w) / gpu.smemBytesPerClock;
  at(Unit::Tmem) = tmemBytes(w, threshold) / gpu.tmemBytesPerClock;
  at(Unit::Fma) = fmaPerScore * w.scores() / gpu.fmaPerClock;
  return busy;
}

} // namespace

Cost fmha::schedule::modelCost(const Problem &problem,
                               const Schedule &schedule) {
  const target::Target *gpu = target::findTarget(schedule.target);
  assert(gpu && gpu->supported && "the schedule has not passed check()");
  TileWork work{double(schedule.qTileRows), double(schedule.kvBlock),
                double(problem.headDim), double(problem.headDimV),
                schedule.pPlacement == PPlacement::Smem};
  Cost cost;
  cost.busy = tileBusy(*gpu, work, schedule.rescaleThreshold);
  for (double &clocks : cost.busy)
    clocks *= schedule.qTiles;
  // Every CTA loads K and V once for all of its tiles.
  double loads = (work.kBytes() + work.vBytes()) / gpu->smemBytesPerClock;
  cost.busy[unsigned(Unit::Smem)] += loads;

  double softmax =
      std::max({cost.of(Unit::Mufu), cost.of(Unit::Tmem), cost.of(Unit::Fma)});
  cost.clocks = cost.of(cost.bound());
  double turns = cost.of(Unit::Mma) + softmax;
  cost.serial = schedule.qTiles == 1 && turns > cost.clocks;
  if (cost.serial)
    cost.clocks = turns;
  unsigned full = schedule.qTiles;
  if (problem.qLenHint)
    full = std::min(full, (problem.qLenHint - 1) / schedule.qTileRows + 1);
  cost.clocksPerTile = cost.clocks / full;
  return cost;
}

/// "MMA and SMEM within 5 %", or nothing where one unit stands alone.
static std::string closeUnits(const Cost &cost) {
  constexpr double near = 0.95;
  std::string text;
  for (unsigned i = 0; i < unitCount; ++i)
    if (Unit(i) != cost.bound() && cost.busy[i] >= near * cost.of(cost.bound()))
      text += (text.empty() ? "" : " and ") + std::string(stringify(Unit(i)));
  return text.empty() ? text : "; " + text + " within 5 %";
}

static std::string boundBy(const Cost &cost) {
  if (cost.serial)
    return "bound by MMA and softmax taking turns (modelled, " +
           std::to_string(std::llround(cost.clocks)) + " clk)";
  return std::string(stringify(cost.bound())) + "-bound (modelled" +
         closeUnits(cost) + ")";
}

std::string fmha::schedule::describe(const Cost &cost,
                                     const Schedule &schedule) {
  std::string text = boundBy(cost) + ": per KV block of " +
                     std::to_string(schedule.qTiles) +
                     (schedule.qTiles == 1 ? " query tile" : " query tiles");
  for (unsigned i = 0; i < unitCount; ++i)
    text += (i ? ", " : " ") + std::to_string(std::llround(cost.busy[i])) +
            " clk " + std::string(stringify(Unit(i)));
  return text;
}

bool fmha::schedule::isCheaper(const Cost &a, const Cost &b) {
  auto key = [](const Cost &c) {
    return std::pair(c.clocksPerTile, c.of(c.bound()));
  };
  return key(a) < key(b);
}

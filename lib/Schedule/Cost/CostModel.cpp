//===- CostModel.cpp - Modeled clocks of one KV block -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/CostModel.h"

#include "Counts.h"
#include "FamilyCost.h"
#include "Model/Footprint.h"
#include "Model/Text.h"

#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

std::string_view fmha::schedule::stringify(Unit unit) {
  static constexpr std::string_view names[] = {"exp", "MMA", "SMEM", "TMEM",
                                               "FMA", "ALU", "L2"};
  return names[unsigned(unit)];
}

Unit Cost::bound() const {
  return Unit(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

namespace {

/// One query tile and one KV block, in counts that are not divided by rates.
struct TileWork {
  const KernelModel &kernel;
  const target::Target &gpu;
  bool inTmem;

  double rows() const { return kernel.tileRows; }
  double keys() const { return kernel.keys; }
  double scores() const { return rows() * keys(); }
  double kBytes() const { return keys() * kernel.headDim * eb() / group(); }
  double vBytes() const { return keys() * kernel.headDimV * eb() / group(); }
  double pBytes() const { return scores() * eb(); }
  double scoreBytes() const { return scores() * sizeof(float); }
  /// Bytes of an element in shared memory, and in device memory.
  double eb() const { return kernel.conversionsPerElement ? 2 : stored(); }
  double stored() const { return kernel.elementBytes; }
  double group() const { return kernel.ctaGroup; }
  bool pInSmem() const { return kernel.pPlacement == PPlacement::Smem; }
  double rescales() const {
    return kernel.rescaleThreshold > 0 ? rescaledShare : 1;
  }
  double outputs() const { return rows() * kernel.headDimV; }
};

/// Returns the product with D of R rows and `columns`, and K of `k` elements.
Product product(const TileWork &w, double k, double columns, bool aInSmem) {
  return productOf(w.gpu,
                   {w.rows(), columns, k, w.eb(), aInSmem, w.kernel.ctaGroup});
}

struct Products {
  Product qk, pv;
};

Products products(const TileWork &w) {
  return {product(w, w.kernel.headDim, w.keys(), /*aInSmem=*/true),
          product(w, w.keys(), w.kernel.headDimV, w.pInSmem())};
}

Traffic trafficOf(const TileWork &w, const Products &p) {
  Traffic traffic;
  double tiles = w.kernel.tiles, rowFactors = w.rows() * sizeof(float);
  double keysAndValues =
      w.kernel.shareKv ? w.kBytes() : w.kBytes() + w.vBytes();
  double scales =
      w.kernel.scaleBlock ? keysAndValues / w.eb() / w.kernel.scaleBlock : 0;
  traffic.smemRead = tiles * (p.qk.bytes + p.pv.bytes + rowFactors) + scales;
  traffic.smemWritten = tiles * rowFactors + keysAndValues + scales;
  traffic.l2Read = keysAndValues / w.eb() * w.stored() + scales;
  if (w.pInSmem())
    traffic.smemWritten += tiles * w.pBytes();
  if (!w.inTmem)
    return traffic;
  double rescaled = w.rescales() * w.outputs() * sizeof(float);
  traffic.tmemRead = tiles * (w.scoreBytes() + rescaled);
  traffic.tmemWritten = tiles * rescaled + scales;
  if (w.kernel.pPlacement == PPlacement::Tmem)
    traffic.tmemWritten += tiles * w.pBytes();
  return traffic;
}

std::array<double, unitCount> busyOf(const TileWork &w, const Products &p,
                                     const Traffic &traffic) {
  std::array<double, unitCount> busy{};
  auto at = [&](Unit unit) -> double & { return busy[unsigned(unit)]; };
  const target::Target &gpu = w.gpu;
  double tiles = w.kernel.tiles, scores = tiles * w.scores();
  double emulated = scores * w.kernel.emulated;
  at(Unit::Mma) = tiles * (p.qk.clocks + p.pv.clocks);
  at(Unit::Mufu) = (scores - emulated + tiles * w.rows()) / gpu.mufuPerClock;
  at(Unit::Smem) =
      (traffic.smemRead + traffic.smemWritten) / gpu.smemBytesPerClock;
  if (w.inTmem)
    at(Unit::Tmem) =
        (traffic.tmemRead + traffic.tmemWritten) / gpu.tmemBytesPerClock;
  at(Unit::Fma) = (fmaPerScore * scores + fmaPerEmulated * emulated +
                   tiles * w.rescales() * w.outputs()) /
                  gpu.fmaPerClock;
  at(Unit::Alu) =
      (maximaPerScore * scores + aluPerEmulated * emulated) / gpu.aluPerClock +
      conversionsPerScore * scores / gpu.convertPerClock;
  at(Unit::L2) = traffic.l2Read / gpu.l2BytesPerClock;
  return busy;
}

/// Returns the clocks of softmax of one tile alone: its busiest unit.
double softmaxClocks(const TileWork &w, const Cost &cost) {
  double busiest = 0;
  for (Unit unit : {Unit::Mufu, Unit::Tmem, Unit::Fma, Unit::Alu})
    busiest = std::max(busiest, cost.of(unit));
  return busiest / w.kernel.tiles;
}

double handOverOf(const TileWork &w) {
  return w.gpu.probabilityLatency + (w.pInSmem() ? w.gpu.proxyFenceLatency : 0);
}

double chainOf(const TileWork &w, const Products &p, const Cost &cost) {
  double softmax = cost.softmaxClocks, slices = w.kernel.pSlices;
  double stored = softmax + slices * cost.handOver;
  // With a second S, QK of the next block overlaps softmax of this one.
  if (w.kernel.scoreStages > 1) {
    double waits = w.kernel.waitsForProducts ? w.gpu.mmaLatency : 0;
    double ofWarps = w.gpu.scoreLatency + stored;
    double ofProducts = p.qk.clocks + p.pv.clocks + waits;
    // P.V of a block, Q.K of the second after it, and its softmax.
    double ofTwoBlocks = w.inTmem ? ofProducts + w.gpu.mmaLatency + ofWarps : 0;
    return std::max({ofWarps, ofProducts, ofTwoBlocks / 2});
  }
  double byFirst = softmax / slices + cost.handOver + p.pv.clocks;
  double byLast = stored + p.pv.clocks / slices;
  double scales = w.kernel.scaleBlock ? 2.0 * w.gpu.scaleCopyLatency : 0;
  return p.qk.clocks + w.gpu.mmaLatency + w.gpu.scoreLatency +
         std::max(byFirst, byLast) + scales;
}

double turnsOf(const TileWork &w, const Cost &cost) {
  double waits = (w.kernel.pSlices - 1.0) * cost.handOver;
  return w.kernel.tiles * (cost.softmaxClocks + waits);
}

unsigned roundUp(unsigned value, unsigned unit) {
  return (value + unit - 1) / unit * unit;
}

/// Returns the average number of existing query rows of a CTA: those of the
/// heads that a chunk of a group has.
double rowsPerCta(const Problem &problem, const KernelModel &kernel) {
  double queries = queriesPerCta(kernel), heads = kernel.packHeads;
  if (problem.qLenHint)
    queries = problem.qLenHint / std::ceil(problem.qLenHint / queries);
  if (double group = groupHint(problem); group && kernel.packHeads > 1)
    heads = group / std::ceil(group / heads);
  return queries * heads;
}

} // namespace

KernelModel fmha::schedule::modelOf(const Problem &problem,
                                    const Schedule &schedule) {
  constexpr unsigned mmaStep = 16;
  KernelModel kernel;
  kernel.target = schedule.target;
  kernel.family = schedule.family;
  kernel.elementBytes = bytesOf(problem.kvDtype());
  if (schedule.kvCopy == KvCopy::Convert &&
      familyOf(schedule).cost.modelsConversions)
    kernel.conversionsPerElement =
        problem.dtype == DataType::F16 ? conversionsToHalf : conversionsToBf16;
  kernel.tiles = schedule.qTiles;
  kernel.tileRows = schedule.qTileRows;
  kernel.packHeads = schedule.packHeads;
  kernel.keys = schedule.kvBlock;
  kernel.headDim = roundUp(problem.headDim, mmaStep);
  unsigned columns = roundUp(problem.headDimV, mmaStep);
  kernel.headDimV = columns;
  if (schedule.oColumns && schedule.oColumns < columns)
    kernel.headDimV = schedule.oColumns;
  kernel.passes =
      (columns + kernel.headDimV - 1) / std::max(1u, kernel.headDimV);
  kernel.consumers = outputConsumers(schedule);
  kernel.ctaGroup = schedule.ctaGroup;
  kernel.ctasPerSm = schedule.ctasPerSm;
  kernel.pPlacement = schedule.pPlacement;
  kernel.pSlices = schedule.pSlices;
  kernel.rescaleThreshold = schedule.rescaleThreshold;
  kernel.emulated = schedule.exp2EmulatedPercent / 100.0;
  kernel.commits = schedule.mmaOrder == MmaOrder::Commit;
  // With emulation, a sink and a window's left bound with a causal mask and
  // an LSE make ptxas spill 16 bytes.
  kernel.compiled = !problem.needsTrueMax() && !problem.score &&
                    !(problem.mask.left && problem.sink);
  kernel.masked = !problem.mask.isFull();
  kernel.shareKv = schedule.shareKv;
  kernel.valueInKey = problem.vInK;
  kernel.persistent = schedule.scheduler != Scheduler::Single;
  kernel.restarts = kernel.persistent && !runsAhead(problem, schedule);
  kernel.draws = drawsTiles(schedule);
  kernel.packedSequences = problem.cuSeqlensQ;
  kernel.splits = schedule.splits;
  const target::Target *gpu = target::findTarget(schedule.target);
  if (boundsCtas(schedule) && gpu)
    kernel.mostCtas = gpu->sms * schedule.ctasPerSm;
  kernel.scoreStages =
      std::max(familyOf(schedule).cost.scoreStages, schedule.sStages);
  kernel.waitsForProducts =
      schedule.sStages > 1 && schedule.mmaOrder == MmaOrder::Commit;
  kernel.probabilitiesApart = putsApart(problem, schedule);
  Rings rings = ringsOf(problem, schedule);
  kernel.rings = rings;
  kernel.ringBytes = unsigned(rings.bytes());
  kernel.messageBytes = unsigned(std::max(rings.keyBytes, rings.valueBytes));
  return kernel;
}

/// Returns the cost of a block of tiles, which tensor cores multiply.
static Cost costOfTiles(const KernelModel &kernel, const target::Target &gpu,
                        const Family &family) {
  TileWork work{kernel, gpu, family.kernel.accumulatesInTensorMemory};
  Products both = products(work);
  Cost cost;
  cost.traffic = trafficOf(work, both);
  cost.busy = busyOf(work, both, cost.traffic);
  cost.qkClocks = both.qk.clocks;
  cost.pvClocks = both.pv.clocks;
  cost.softmaxClocks = softmaxClocks(work, cost);
  if (work.inTmem)
    cost.rescaleClocks =
        2 * work.outputs() * sizeof(float) / gpu.tmemBytesPerClock;
  cost.handOver = handOverOf(work);
  cost.chain = chainOf(work, both, cost);
  cost.turns = turnsOf(work, cost);
  if (kernel.ringBytes)
    cost.loads = family.cost.loads(kernel, gpu, cost);
  double unitClocks = std::max({cost.of(cost.bound()), cost.turns, cost.loads});
  family.cost.setClocks(kernel, gpu, unitClocks, cost);
  cost.serial = cost.chain > unitClocks;
  return cost;
}

Cost fmha::schedule::modelCost(const KernelModel &kernel) {
  const target::Target *gpu = target::findTarget(kernel.target);
  assert(gpu && "no such target");
  const Family &family = familyServing(gpu, kernel.family);
  Cost cost = family.cost.block ? family.cost.block(kernel, *gpu)
                                : costOfTiles(kernel, *gpu, family);
  cost.measured = family.cost.measured;
  constexpr double unitOfKeys = 128;
  cost.clocksPerRow = cost.clocks * kernel.passes * unitOfKeys /
                      (double(kernel.tiles) * kernel.tileRows * kernel.keys);
  return cost;
}

Cost fmha::schedule::modelCost(const Problem &problem, const Schedule &schedule,
                               Launches *launches) {
  KernelModel kernel = modelOf(problem, schedule);
  Cost cost = modelCost(kernel);
  cost.clocksPerRow *=
      double(kernel.tiles) * kernel.tileRows / rowsPerCta(problem, kernel);
  if (launches)
    cost.launchClocks = launches->estimate(kernel, cost).clocks;
  return cost;
}

Cost fmha::schedule::modelCost(const Problem &problem,
                               const Schedule &schedule) {
  std::optional<Launches> launches;
  if (std::optional<Workload> workload = workloadOf(problem, schedule))
    launches.emplace(*workload);
  return modelCost(problem, schedule, launches ? &*launches : nullptr);
}

/// Returns whether `unit` is as busy as the busiest.
static bool isBusiest(const Cost &cost, unsigned unit) {
  constexpr double rounding = 1e-9;
  return cost.busy[unit] >= (1 - rounding) * cost.of(cost.bound());
}

/// Returns "exp", or "exp and SMEM" if both are equally busy.
static std::string busiestUnits(const Cost &cost, const char *between) {
  std::string text;
  for (unsigned i = 0; i < unitCount; ++i)
    if (isBusiest(cost, i))
      text += (text.empty() ? "" : between) + std::string(stringify(Unit(i)));
  return text;
}

/// Returns "; MMA and SMEM within 5 %", or nothing if no other unit is close.
static std::string closeUnits(const Cost &cost) {
  constexpr double near = 0.95;
  std::string text;
  for (unsigned i = 0; i < unitCount; ++i)
    if (!isBusiest(cost, i) && cost.busy[i] >= near * cost.of(cost.bound()))
      text += (text.empty() ? "" : " and ") + std::string(stringify(Unit(i)));
  return text.empty() ? text : "; " + text + " within 5 %";
}

std::string fmha::schedule::boundBy(const Cost &cost) {
  double busiest = cost.of(cost.bound());
  std::string what;
  double clocks = cost.chain;
  if (cost.measured && cost.clocks > cost.loads) {
    what = "units and waits together, as fitted to launches on an H200";
    clocks = cost.clocks;
  } else if (cost.serial) {
    what = "the chain of one tile, QK, softmax, PV and the waits between";
  } else if (cost.loads > std::max(busiest, cost.turns)) {
    what = "loads, too few stages for the latency of memory";
    clocks = cost.loads;
  } else if (cost.turns > busiest) {
    what = "the turns of softmax, which waits for each slice of P";
    clocks = cost.turns;
  } else {
    return busiestUnits(cost, "- and ") + "-bound (modeled" + closeUnits(cost) +
           ")";
  }
  return "bound by " + what + " (modeled, " + rounded(clocks) +
         " clk; the busiest unit is " + busiestUnits(cost, " and ") +
         closeUnits(cost) + ")";
}

std::string fmha::schedule::describe(const Cost &cost,
                                     const Schedule &schedule) {
  std::string text = boundBy(cost) + ": per KV block of " +
                     std::to_string(schedule.qTiles) +
                     (schedule.qTiles == 1 ? " query tile" : " query tiles");
  for (unsigned i = 0; i < unitCount; ++i)
    text += (i ? ", " : " ") + rounded(cost.busy[i]) + " clk " +
            std::string(stringify(Unit(i)));
  return text;
}

bool fmha::schedule::isCheaper(const Cost &a, const Cost &b) {
  auto key = [](const Cost &c) {
    return std::pair(c.clocksPerRow, c.of(c.bound()));
  };
  return key(a) < key(b);
}

std::vector<size_t> fmha::schedule::rankByCost(const std::vector<Cost> &costs) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Cost &cost : costs)
    shortest = std::min(shortest, cost.launchClocks);
  auto launch = [shortest](const Cost &cost) {
    double tolerance = cost.measured ? 0 : launchTolerance;
    bool differs =
        shortest > 0 && cost.launchClocks > shortest * (1 + tolerance);
    return differs ? cost.launchClocks : 0;
  };
  // Compute keys first: there are thousands of costs, each compared often.
  using Key = std::tuple<double, double, double, size_t>;
  std::vector<Key> keys;
  keys.reserve(costs.size());
  for (const Cost &cost : costs)
    keys.emplace_back(launch(cost), cost.clocksPerRow, cost.of(cost.bound()),
                      keys.size());
  std::sort(keys.begin(), keys.end());
  std::vector<size_t> places;
  places.reserve(keys.size());
  for (const Key &key : keys)
    places.push_back(std::get<size_t>(key));
  return places;
}

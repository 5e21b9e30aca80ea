//===- Timeline.cpp - Owners of tensor memory over time ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/Timeline.h"

#include "fmha/Schedule/Cost/CostModel.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cassert>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// The state of a tile.
struct Tile {
  std::string name;
  /// For each stage of S.
  std::vector<double> scoresReady, scoresFree;
  double outputReady = 0;
  /// When its warps have handed off P.
  double handedOff = 0;
  /// When the MMA may read each slice of P.
  std::vector<double> slicesReady;
};

class Play {
public:
  Play(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule),
        cost(modelCost(problem, schedule)),
        gpu(*target::findTarget(schedule.target)) {
    tiles.resize(schedule.qTiles);
    for (unsigned i = 0; i < schedule.qTiles; ++i) {
      tiles[i].name = std::to_string(i);
      tiles[i].scoresReady.resize(schedule.sStages);
      tiles[i].scoresFree.resize(schedule.sStages);
    }
  }

  std::vector<Span> run(unsigned blocks) {
    for (Tile &tile : tiles)
      multiplyScores(tile, 0);
    for (unsigned block = 0; block < blocks; ++block)
      for (Tile &tile : tiles) {
        bool hasNext = block + 1 < blocks, isEarly = schedule.sStages > 1;
        if (hasNext && isEarly)
          multiplyScores(tile, block + 1);
        softmax(tile, block);
        multiplyOutput(tile, block);
        if (hasNext && !isEarly)
          multiplyScores(tile, block + 1);
      }
    for (Tile &tile : tiles)
      readOutput(tile, blocks - 1);
    return std::move(spans);
  }

private:
  void add(const std::string &region, const std::string &role,
           const std::string &what, unsigned block, double begin, double end) {
    spans.push_back({region, role, what, block, begin, end});
  }
  void multiplyScores(Tile &tile, unsigned block);
  void softmax(Tile &tile, unsigned block);
  void multiplyOutput(Tile &tile, unsigned block);
  void readOutput(Tile &tile, unsigned block);

  const Problem &problem;
  const Schedule &schedule;
  Cost cost;
  const target::Target &gpu;
  std::vector<Tile> tiles;
  std::vector<Span> spans;
  double mmaFree = 0, expFree = 0;
};

void Play::multiplyScores(Tile &tile, unsigned block) {
  unsigned stage = block % schedule.sStages;
  double begin = std::max(mmaFree, tile.scoresFree[stage]);
  mmaFree = begin + cost.qkClocks;
  tile.scoresReady[stage] = mmaFree + gpu.mmaLatency;
  add("S" + tile.name, "mma", "S = Q K^T", block, begin, mmaFree);
}

void Play::softmax(Tile &tile, unsigned block) {
  unsigned stage = block % schedule.sStages;
  double ready = tile.scoresReady[stage];
  double from = std::max(ready, tile.handedOff) + gpu.scoreLatency;
  double begin = std::max(from, expFree);
  bool inTmem = schedule.pPlacement == PPlacement::Tmem;
  // A slice's exponentials start when the previous one is handed off.
  double stored = begin;
  tile.slicesReady.clear();
  for (unsigned n = 0; n < schedule.pSlices; ++n) {
    expFree = stored + cost.softmaxClocks / schedule.pSlices;
    stored = expFree + cost.handOver;
    tile.slicesReady.push_back(stored);
  }
  // With P in shared memory the fence does not access S.
  double written = inTmem ? stored : expFree + gpu.probabilityLatency;
  // P covers half of S; the scores themselves are in registers by then.
  add("S" + tile.name, "softmax" + tile.name, "read S", block, ready, written);
  if (inTmem)
    add("P" + tile.name, "softmax" + tile.name, "write P", block, begin,
        written);
  tile.scoresFree[stage] = tile.handedOff = stored;
  if (block == 0)
    return;
  // The row maximum is known when the exponentials start.
  double rescaled = std::max(begin, tile.outputReady);
  double until = rescaled + cost.rescaleClocks;
  add("O" + tile.name, "correction", "rescale O, where a maximum grew", block,
      rescaled, until);
  tile.outputReady = until;
}

/// Adds the products of the slices one after another; what the owner of P still
/// writes when the first starts is drawn as written.
void Play::multiplyOutput(Tile &tile, unsigned block) {
  mmaFree = std::max(mmaFree, tile.outputReady);
  for (double ready : tile.slicesReady) {
    double begin = std::max(mmaFree, ready);
    mmaFree = begin + cost.pvClocks / schedule.pSlices;
    add("O" + tile.name, "mma", "O += P V", block, begin, mmaFree);
  }
  tile.outputReady = mmaFree + gpu.mmaLatency;
  if (schedule.pPlacement != PPlacement::Tmem)
    return;
  double written = tile.slicesReady.back();
  add("S" + tile.name, "mma", "holds P", block, written, mmaFree);
  add("P" + tile.name, "mma", "read P", block, written, mmaFree);
  bool waits = modelOf(problem, schedule).waitsForProducts;
  tile.scoresFree[block % schedule.sStages] =
      mmaFree + (waits ? gpu.mmaLatency : 0);
}

void Play::readOutput(Tile &tile, unsigned block) {
  add("O" + tile.name, "correction", "read O, normalize", block,
      tile.outputReady,
      tile.outputReady + gpu.scoreLatency + cost.rescaleClocks / 2);
}

} // namespace

std::vector<Span> fmha::schedule::playOut(const Problem &problem,
                                          const Schedule &schedule,
                                          unsigned blocks) {
  assert(target::findTarget(schedule.target) && "no such target");
  if (blocks == 0)
    return {};
  return Play(problem, schedule).run(blocks);
}

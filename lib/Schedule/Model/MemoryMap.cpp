//===- MemoryMap.cpp - Lay regions out, and verify a map --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"

#include "fmha/Layout/SmemTile.h"
#include "fmha/Layout/Tmem.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <array>
#include <bit>

using namespace fmha;
using namespace fmha::schedule;

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool fmha::schedule::stagesOutputApart(const Problem &problem,
                                       const Schedule &s) {
  if (s.scheduler == Scheduler::Single || problem.outF32 || s.splits > 1)
    return false;
  const target::Target *gpu = target::findTarget(s.target);
  unsigned stages = outputStages(s);
  if (!stages)
    return false;
  constexpr unsigned twoBlocks = 4;
  uint64_t columns = outputColumns(problem, s);
  uint64_t perTile =
      panelTileBytes(s.qTileRows, problem.headDim) +
      (s.pPlacement == PPlacement::Smem ? panelTileBytes(s.qTileRows, s.kvBlock)
                                        : 0);
  // Each CTA of a pair has a part of K's keys and of V's columns.
  uint64_t ctas = std::max(1u, s.ctaGroup);
  uint64_t stage = std::max(panelTileBytes(s.kvBlock / ctas, problem.headDim),
                            panelTileBytes(s.kvBlock, columns / ctas));
  uint64_t needed = s.qTiles * perTile +
                    stages * panelTileBytes(s.qTileRows, columns) +
                    std::max(s.kvStages, twoBlocks) * stage +
                    barrierSlots * barrierBytes + smallAlignment +
                    nextTileBytes(s) + factorStages * factorBytes(problem, s);
  uint64_t there = smemOfCta(*gpu, s);
  return needed <= there &&
         Footprint(problem, s, /*outApart=*/true).smemBytes(s) <= there;
}

bool fmha::schedule::putsApart(const Problem &problem, const Schedule &s) {
  bool loads = s.kvCopy == KvCopy::Tma && !s.shareKv;
  uint64_t columns =
      s.kvBlock + outputColumns(problem, s) + probabilityColumns(s);
  return loads && s.pPlacement == PPlacement::Tmem && s.sStages == 1 &&
         s.qTiles == 2 && s.qTileRows == layout::tmemLanes &&
         s.qTiles * columns <= layout::tmemColumns &&
         ringsOf(problem, s).holdBlock();
}

Footprint::Footprint(const Problem &problem, const Schedule &schedule)
    : Footprint(problem, schedule, stagesOutputApart(problem, schedule)) {}

Footprint::Footprint(const Problem &problem, const Schedule &schedule,
                     bool outApart)
    : outApart(outApart) {
  uint64_t rows = schedule.qTileRows, keys = schedule.kvBlock;
  uint64_t chunk = schedule.keyChunk ? schedule.keyChunk : problem.headDim;
  uint64_t chunkKeys = schedule.valueChunk ? schedule.valueChunk : keys;
  uint64_t columns = outputColumns(problem, schedule);
  unsigned distance = lanesOfHalves(schedule);
  bool ofPair = distance == layout::tmemPairLanes;
  sColumns = ofPair ? keys / 2 : keys;
  oColumns = ofPair ? columns / 2 : columns;
  pColumns = probabilityColumns(schedule);
  pColumnInS = sColumns - pColumns;
  pApart = putsApart(problem, schedule);
  bool halfLanes = distance == layout::tmemHalfLanes;
  bool apart = halfLanes && sColumns + oColumns > layout::tmemColumns;
  sLane = apart ? layout::tmemHalfLanes : 0;
  qBytes = panelTileBytes(rows, problem.headDim);
  // Each CTA of a pair has a part of K's keys and of V's columns.
  uint64_t ctas = std::max(1u, schedule.ctaGroup);
  uint64_t key =
      panelTileBytes(keys / ctas, std::min<uint64_t>(chunk, problem.headDim));
  uint64_t value = panelTileBytes(chunkKeys, columns / ctas);
  bool together = schedule.vStages == 0 && !schedule.shareKv;
  kvStageBytes = together ? std::max(key, value) : key;
  vStageBytes = schedule.vStages ? value : 0;
  pBytes = panelTileBytes(rows, keys);
  // Partial outputs of split-KV are f32 as well.
  bool staged = !problem.outF32 && schedule.splits == 1;
  outBytes = staged ? panelTileBytes(rows, columns) : 0;
  outStages = outApart ? outputStages(schedule) : 0;
  inTensorMemory = familyOf(schedule).kernel.accumulatesInTensorMemory;
  statsInSmem = inTensorMemory || outputConsumers(schedule) > 1;
  statsBytes = statsInSmem ? statsPerTile * sizeof(float) : 0;
  halvesBytes = ofPair ? statsBytes : 0;
  factorBytes = schedule::factorBytes(problem, schedule);
}

uint64_t Footprint::tmemColumns(const Schedule &schedule) const {
  if (!inTensorMemory)
    return 0;
  uint64_t ofS = schedule.sStages * sColumns;
  uint64_t columns = sLane ? std::max(ofS, oColumns) : ofS + oColumns;
  columns += pApart ? pColumns : 0;
  return schedule.qTiles * columns;
}

uint64_t Footprint::smemBytes(const Schedule &schedule) const {
  bool pInSmem = schedule.pPlacement == PPlacement::Smem;
  uint64_t perTile = alignTo(queryBytes(), tileAlignment) +
                     (pInSmem ? alignTo(pBytes, tileAlignment) : 0) +
                     statsBytes + halvesBytes;
  uint64_t rings =
      schedule.kvStages * alignTo(kvStageBytes, uint64_t(tileAlignment)) +
      schedule.vStages * alignTo(vStageBytes, uint64_t(tileAlignment));
  return alignTo(schedule.qTiles * perTile + rings +
                     outStages * alignTo(outBytes, tileAlignment) +
                     factorStages * factorBytes + barrierSlots * barrierBytes +
                     smallAlignment + nextTileBytes(schedule),
                 smallAlignment);
}

namespace {

/// Appends regions one after another.
class Layouter {
public:
  Layouter(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), sizes(problem, schedule) {}

  MemoryMap run() {
    if (sizes.inTensorMemory)
      layOutTmem();
    if (auto regions = familyOf(schedule).kernel.regions)
      for (const SmemRegion &region : regions(problem, schedule))
        smem(region.name, region.bytes, region.stages, region.alignment);
    else
      layOutTiles();
    map.smemBytes = alignTo(nextByte, smallAlignment);
    return std::move(map);
  }

private:
  void tmem(std::string name, unsigned columns, unsigned lane,
            unsigned stages = 1) {
    unsigned &next = nextColumn[lane != 0];
    unsigned pitch = stages > 1 ? columns : 0;
    map.tmem.push_back(
        {std::move(name), next, columns, "", lane, stages, pitch});
    next += columns * stages;
  }
  void smem(std::string name, uint64_t bytes, unsigned stages,
            unsigned alignment) {
    nextByte = alignTo(nextByte, alignment);
    map.smem.push_back({std::move(name), unsigned(nextByte), unsigned(bytes),
                        stages, alignment, ""});
    nextByte += bytes * stages;
  }
  /// Calls `function` with the index of each query tile.
  template <typename Function> void forTiles(Function function) {
    for (unsigned tile = 0; tile < schedule.qTiles; ++tile)
      function(std::to_string(tile));
  }
  void layOutTmem();
  void layOutTiles();

  const Problem &problem;
  const Schedule &schedule;
  Footprint sizes;
  MemoryMap map;
  /// The next free column from lane 0 on, and from the other half's first lane.
  std::array<unsigned, 2> nextColumn = {};
  uint64_t nextByte = 0;
};

void Layouter::layOutTmem() {
  forTiles([&](const std::string &i) {
    tmem("S" + i, sizes.sColumns, sizes.sLane, schedule.sStages);
  });
  forTiles([&](const std::string &i) { tmem("O" + i, sizes.oColumns, 0); });
  if (sizes.pApart)
    forTiles([&](const std::string &i) { tmem("P" + i, sizes.pColumns, 0); });
  else if (schedule.pPlacement == PPlacement::Tmem)
    forTiles([&](const std::string &i) {
      TmemRegion over = *map.findTmem("S" + i);
      map.tmem.push_back({"P" + i, unsigned(over.column + sizes.pColumnInS),
                          unsigned(sizes.pColumns), over.name, over.lane,
                          over.stages, over.pitch});
    });
  map.tmemColumns = layout::tmemAllocation(
      *std::max_element(nextColumn.begin(), nextColumn.end()));
}

/// Lays out tiles first, so that their alignment costs nothing.
void Layouter::layOutTiles() {
  forTiles([&](const std::string &i) {
    smem("Q" + i, sizes.queryBytes(), 1, tileAlignment);
  });
  smem("KV", sizes.kvStageBytes, schedule.kvStages, tileAlignment);
  if (schedule.vStages)
    smem("V", sizes.vStageBytes, schedule.vStages, tileAlignment);
  if (schedule.pPlacement == PPlacement::Smem)
    forTiles([&](const std::string &i) {
      smem("P" + i, sizes.pBytes, 1, tileAlignment);
    });
  // The last product is done before the output is staged, so Q is dead. An f32
  // output is not staged.
  for (unsigned tile = 0; sizes.outBytes && tile < schedule.qTiles; ++tile) {
    std::string name = "out" + std::to_string(tile);
    std::string over = sizes.outputOver(tile);
    if (over.empty())
      smem(name, sizes.outBytes, 1, tileAlignment);
    else
      map.smem.push_back({name, map.findSmem(over)->offset,
                          unsigned(sizes.outBytes), 1, tileAlignment, over});
  }
  if (sizes.statsInSmem)
    forTiles([&](const std::string &i) {
      smem("stats" + i, sizes.statsBytes, 1, smallAlignment);
    });
  if (sizes.halvesBytes)
    forTiles([&](const std::string &i) {
      smem("halves" + i, sizes.halvesBytes, 1, smallAlignment);
    });
  if (sizes.factorBytes)
    smem("factors", sizes.factorBytes, factorStages, smallAlignment);
  smem("barriers", barrierSlots * barrierBytes, 1, smallAlignment);
  if (sizes.inTensorMemory)
    smem("tmem_address", 4, 1, smallAlignment);
  if (unsigned bytes = nextTileBytes(schedule))
    smem("next_tile", bytes, 1, smallAlignment);
}

} // namespace

MemoryMap fmha::schedule::layOut(const Problem &problem,
                                 const Schedule &schedule) {
  return Layouter(problem, schedule).run();
}

CheckedMap fmha::schedule::checkAndLayOut(const Problem &problem,
                                          const Schedule &schedule) {
  CheckedMap checked;
  checked.error = check(problem, schedule);
  if (checked.error)
    return checked;
  checked.map = layOut(problem, schedule);
  checked.error = verify(problem, schedule, checked.map);
  return checked;
}

//===- Candidates.cpp - Levels of the tree for mma.sync -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan/Axes.h"

#include "Model/Footprint.h"

using namespace fmha::schedule;

/// Returns the rows of a tile. With 128 each fragment of K and V that a warp
/// reads serves two products.
static Values rowsOfTile(const Problem &problem) {
  constexpr unsigned few = 64, many = 128;
  if (problem.blockRows % many && problem.blockRows)
    return {few, many};
  return {many, few};
}

/// Adds the levels of the tree. While one CTA computes softmax, another one
/// multiplies.
static void addAxes(Axes &axes) {
  const Problem &problem = axes.problem;
  bool isListed = problem.topk || problem.kvIndices;
  axes.addTiles({1}, /*rows=*/64, rule(1));
  axes.add("q_tile_rows", rowsOfTile(problem), isListed ? 0 : rule(3));
  axes.addPacking();
  axes.add("o_columns", parts(problem.headDimV, 64, 256), 0);
  axes.add("scheduler", {unsigned(Scheduler::Single)}, 0);
  axes.add("kv_copy", {unsigned(KvCopy::CpAsync)}, 0);
  axes.add("ctas_per_sm", {2, 3, 1}, isListed ? 0 : rule(3));
  axes.addBlocks({128, 112, 96, 80, 64, 48, 32, 16}, rule(3));
  axes.addPlacement({PPlacement::Registers}, rule(5) | rule(2));
  axes.add("share_kv", problem.vInK ? Values{1, 0} : Values{0}, rule(8));
  for (std::string_view name : {"key_chunk", "value_chunk", "v_stages"})
    axes.add(name, {0}, rule(8));
  axes.addSlices({1});
}

/// Returns the bytes of a ring with one block: while its V is multiplied, the
/// next K arrives. More stages gained at most 3 % in small blocks, on an H200,
/// and larger blocks gain more.
static uint64_t ringBytes(const Problem &problem, const Schedule &schedule,
                          const fmha::target::Target &) {
  constexpr unsigned messages = 2;
  uint64_t columns =
      std::max<uint64_t>(problem.headDim, outputColumns(problem, schedule));
  return messages * panelTileBytes(schedule.kvBlock, columns);
}

constinit const FamilyCandidates fmha::schedule::mmaSyncCandidates = {
    .qTileRows = 128,
    .pPlacement = PPlacement::Registers,
    .addAxes = addAxes,
    .leastStages = 2,
    .delaysRescales = true,
    .roundsScaledP = false,
    .ringBytes = ringBytes};

//===- Candidates.cpp - Levels of the tree for wgmma ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan/Axes.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Target/Target.h"

#include <bit>

using namespace fmha::schedule;

/// The most columns of O in one head_dim_v tile of a consumer.
static constexpr unsigned widestPass = 256;

/// Returns the schedulers. If the launch is known, the model decides whether a
/// CTA loops over tiles. Loops are not considered with several head_dim_v tiles
/// or a score_mod that reads several tensors: an H200 took up to 1.73 and 1.25
/// times as long there, which the model does not predict. With a causal mask
/// CTAs draw their tiles (results/h100-prefill-2026-11-26.md), but not with
/// paged caches, which were not measured. CTAs may also draw the tiles of
/// packed queries: any number of them may be empty, so a fixed share may have
/// no work. Without a mask, CTAs always draw the tiles of packed queries, which
/// was the fastest for every head dim measured. With lists of blocks, some of
/// which may be empty, CTAs always draw their tiles, too. Lists of keys and new
/// keys have no loops (plan.C8).
static Values schedulersFor(const Problem &problem) {
  bool slow = problem.headDimV > widestPass ||
              (problem.scoreByKey && problem.captures.size() > 1);
  std::optional<Workload> launch = workloadOf(problem);
  if (!launch || slow || problem.topk || problem.keyNew)
    return {unsigned(Scheduler::Single)};
  const Mask &mask = problem.mask;
  bool draws = (mask.rightBound() || problem.cuSeqlensQ || problem.kvIndices) &&
               !mask.left && !problem.source2 && !problem.blockTables;
  if (problem.kvIndices || (draws && problem.cuSeqlensQ && mask.isFull()))
    return {unsigned(Scheduler::Dynamic)};
  return {unsigned(Scheduler::Single),
          unsigned(draws ? Scheduler::Dynamic : Scheduler::Static)};
}

/// Returns whether a CTA reads each key once, for all queries that there are,
/// and L2 does not hold the keys, so that memory bounds the launch: decoding
/// with packed heads.
static bool streamsKeys(const Problem &problem) {
  constexpr uint64_t rows = 64, l2Bytes = 50 << 20, narrowest = 64;
  constexpr uint64_t widest = 128;
  std::optional<Workload> launch = workloadOf(problem);
  uint64_t least = std::min(problem.headDim, problem.headDimV);
  uint64_t most = std::max(problem.headDim, problem.headDimV);
  if (!launch || !launch->kvHeads || problem.kvE4M3)
    return false;
  uint64_t bytes =
      2 * launch->batch * launch->kvHeads * launch->kvLen * (least + most);
  uint64_t group = launch->qHeads / launch->kvHeads;
  // New keys need all packed heads in one tile (plan.C8).
  uint64_t heads = problem.keyNew ? std::bit_ceil(group) : group;
  return bytes > l2Bytes && launch->qLen * heads <= rows &&
         least >= narrowest && most <= widest && !problem.score &&
         !problem.source2 && !problem.mask.left;
}

/// Of a CTA that streams keys. (Measured on an H200, head dims 64 and 128: with
/// twice as many bytes under way, or blocks twice as large, launches take 1.02
/// to 1.1 times as long: results/h200-decode-2026-11-26.md.)
static constexpr uint64_t streamedRing = 64 << 10, streamedBlock = 16 << 10;

/// Returns the CTAs per SM. One CTA of several consumers loads each key once
/// for all of them; several CTAs of one consumer wait, start and end
/// independently, which pays for short sequences. The model decides if the
/// launch is known; it was fitted to launches of many tiles.
static Values ctasPerSm(const Problem &problem, unsigned sms) {
  constexpr uint64_t rows = 64, rounds = 4;
  std::optional<Workload> launch = workloadOf(problem);
  if (!launch)
    return {1};
  if (streamsKeys(problem))
    return {2};
  if (problem.kvE4M3)
    return {1};
  uint64_t tiles =
      launch->batch * launch->qHeads * ((launch->qLen + rows - 1) / rows);
  return tiles < rounds * sms ? Values{1} : Values{1, 2, 3};
}

/// Returns the blocks. A wgmma has any multiple of 8 columns, so registers are
/// the limit. Half of the last block is hidden by a bound of the mask: if
/// lengths are unknown, larger blocks may lose more there than they gain.
static Values keyBlocks(const Problem &problem) {
  if (streamsKeys(problem)) {
    unsigned dim = std::max(problem.headDim, problem.headDimV);
    return {unsigned(streamedBlock / (2 * dim) / 16 * 16)};
  }
  if (problem.kvE4M3)
    return {128, 96, 64, 32};
  Values blocks = {128, 112, 96, 80, 64, 48, 32, 16};
  bool counted = workloadOf(problem) && !problem.mask.left;
  if ((problem.mask.isFull() || counted) && !problem.source2)
    blocks.insert(blocks.begin(), {192, 176, 160, 144});
  return blocks;
}

/// Returns the columns of O of a CTA: all of them, which two consumers share,
/// or as many as one consumer has.
static Values partsOfValues(unsigned columns) {
  Values values = parts(columns, 64, widestPass);
  if (columns <= 2 * widestPass)
    values.front() = paddedColumns(columns);
  return values;
}

/// Returns how K and V are copied. A message of TMA covers at most one page, or
/// one listed key, and 64 columns. Threads are faster with small pages or many
/// columns (results/h100-page-copies-2026-11-26.md).
static Values copiesOfKeys(const Problem &problem) {
  if (problem.kvE4M3)
    return {unsigned(KvCopy::Convert)};
  constexpr unsigned fewKeys = 16, manyColumns = 256;
  bool wide = std::max(problem.headDim, problem.headDimV) >= manyColumns;
  bool small =
      problem.pageSize < fewKeys || (wide && problem.pageSize == fewKeys);
  bool byThreads =
      (problem.topk || (problem.pageSize && small)) && !problem.source2;
  return {unsigned(byThreads ? KvCopy::CpAsync : KvCopy::Tma)};
}

/// Returns the most bytes of a ring. If a launch needs splits to fill the SMs,
/// each SM has one CTA, which has as many pages under way as fit
/// (results/h100-page-rings-2026-11-27.md).
static uint64_t ringBytes(const Problem &problem, const Schedule &schedule,
                          const fmha::target::Target &gpu) {
  if (!streamsKeys(problem))
    return 0;
  Workload launch = *workloadOf(problem);
  bool splits = launch.batch * launch.kvHeads < gpu.sms;
  bool copiesPages = problem.blockTables && schedule.kvCopy == KvCopy::Tma;
  return copiesPages && splits ? 0 : streamedRing;
}

/// Adds the levels of the tree. Query tiles are warpgroups; larger blocks have
/// fewer waits, up to the limit of registers or of rings of two stages each.
static void addAxes(Axes &axes) {
  const Problem &problem = axes.problem;
  Values tiles = {2, 3, 1};
  if (streamsKeys(problem) || problem.topk)
    tiles = {1};
  else if (problem.kvE4M3)
    tiles = {2, 1};
  axes.addTiles(tiles, /*rows=*/64, rule(1));
  // Packed heads and KV blocks are part of plan.C3 if lists name the keys.
  bool isListed = problem.topk || problem.kvIndices;
  axes.add("q_tile_rows", {64}, isListed ? 0 : rule(3));
  axes.addPacking();
  axes.add("o_columns",
           problem.headDimV > widestPass ? partsOfValues(problem.headDimV)
                                         : Values{0},
           0);
  axes.add("scheduler", schedulersFor(problem), 0);
  axes.add("kv_copy", copiesOfKeys(problem), 0);
  axes.add("ctas_per_sm", ctasPerSm(problem, axes.gpu->sms),
           isListed ? 0 : rule(3));
  axes.addBlocks(keyBlocks(problem), rule(3));
  axes.addPlacement({PPlacement::Registers, PPlacement::Smem},
                    rule(5) | rule(2));
  axes.add("share_kv", problem.vInK ? Values{1, 0} : Values{0}, rule(8));
  for (std::string_view name : {"key_chunk", "value_chunk", "v_stages"})
    axes.add(name, {0}, rule(8));
  axes.addSlices({1});
}

constinit const FamilyCandidates fmha::schedule::wgmmaCandidates = {
    .qTileRows = 64,
    .pPlacement = PPlacement::Registers,
    .addAxes = addAxes,
    .leastStages = 2,
    .delaysRescales = true,
    .roundsScaledP = true,
    .ringBytes = ringBytes};

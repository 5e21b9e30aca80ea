//===- Candidates.cpp - Levels of the tree with tensor memory ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plain.h"

#include "Plan/Axes.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Target/Target.h"

#include <algorithm>

using namespace fmha::schedule;

/// Returns how K and V are copied. A message of TMA covers at most one page, or
/// one listed key, unless it gathers four rows.
static Values copiesOfKeys(const Problem &problem) {
  if (problem.kvE4M3)
    return {unsigned(KvCopy::Convert)};
  bool gathers = (problem.topk || problem.pageSize == 1) && !problem.source2;
  return {unsigned(gathers ? KvCopy::Gather4 : KvCopy::Tma)};
}

/// Returns whether the tiles of a launch can come in the order of their lengths
/// alone: L2 holds the keys of all heads, or device memory can bring them for
/// each tile. Without sharing, tiles of head dim 128 need 3.3 of its 3.7 KB
/// a clock.
static bool canMixHeads(const Problem &problem, const Workload &launch) {
  constexpr uint64_t columnsPerHead = 64, elementBytes = 2;
  uint64_t columns = problem.headDim + problem.headDimV;
  uint64_t bytes =
      launch.batch * launch.kvHeads * launch.kvLen * columns * elementBytes;
  return !problem.mask.rightBound() || bytes <= bytesOfKeysInL2 ||
         problem.headDim * launch.kvHeads <= columnsPerHead * launch.qHeads;
}

/// Returns the schedulers. The model decides whether a CTA computes several
/// tiles and runs ahead into the next one, if a launch is known that may have
/// more tiles than SMs.
static Values schedulersFor(const Axes &axes) {
  constexpr uint64_t rows = 128;
  std::optional<Workload> launch = workloadOf(axes.problem);
  if (!launch || !axes.gpu || !isPlain(axes.problem) ||
      !canMixHeads(axes.problem, *launch))
    return {unsigned(Scheduler::Single)};
  uint64_t tiles =
      launch->batch * launch->qHeads * ((launch->qLen + rows - 1) / rows);
  if (tiles <= axes.gpu->sms)
    return {unsigned(Scheduler::Single)};
  return {unsigned(Scheduler::Single), unsigned(Scheduler::Static)};
}

/// Returns whether a pair of CTAs may share the heads of a group and so compute
/// Q·K once: tensor memory of one CTA does not hold S and O of 128 rows, and
/// the heads of a group fill the tiles of 64 rows of whole pairs.
static bool sharesHeads(const Axes &axes) {
  constexpr unsigned rows = 64, scores = 128;
  unsigned group = groupHint(axes.problem);
  bool isWide = axes.gpu && paddedColumns(axes.problem.headDimV) + scores >
                                axes.gpu->tmemColumns;
  return isWide && group && (group + rows - 1) / rows % 2 == 0;
}

/// Returns the KV blocks. Smaller ones are slower, but block_keys may allow no
/// others, and with 80 keys P of two tiles has columns of its own next to O of
/// 128 columns. Pages and lists have keys in powers of two.
static Values keyBlocks(const Problem &problem) {
  constexpr unsigned columns = 128;
  if (problem.blockKeys % 64 != 0)
    return {32, 16};
  bool isListed = problem.pageSize || problem.topk || problem.kvIndices;
  bool fits = problem.headDim == columns && problem.headDimV == columns;
  return fits && !isListed && !problem.kvE4M3 ? Values{128, 64, 80, 256}
                                              : Values{128, 64, 256};
}

/// Adds the levels of the tree. Other pairs of CTAs are by request only: no GPU
/// has shown that they are faster. Subtiles, separate rings and head_dim_v
/// tiles cost something, and are needed only if whole blocks are large.
static void addAxes(Axes &axes) {
  constexpr unsigned wide = 128;
  const Problem &problem = axes.problem;
  bool wideKeys = problem.headDim > wide, wideValues = problem.headDimV > wide;
  bool uneven = problem.headDim != problem.headDimV;
  // The warps of a second softmax convert K and V.
  bool converts = problem.kvE4M3;
  bool isPair = axes.overrides[Choice::CtaGroup].value_or(1) > 1;
  axes.add("cta_group", sharesHeads(axes) ? Values{1, 2} : Values{1}, 0);
  axes.add("kv_copy", copiesOfKeys(problem), 0);
  axes.addTiles(problem.topk || converts ? Values{1} : Values{2, 1},
                /*rows=*/128, 0);
  // If 128 does not divide block_rows, tiles of 64 rows have fewer lists.
  bool isUneven = problem.blockRows % 128 != 0;
  // A requested pair has 128 rows in each CTA if they fit.
  constexpr unsigned mostOfPair = 256;
  bool isWhole = isPair && problem.headDimV <= mostOfPair;
  axes.add("q_tile_rows",
           isUneven  ? Values{64}
           : isWhole ? Values{128}
                     : Values{128, 64},
           0);
  axes.addPacking();
  axes.add("scheduler", schedulersFor(axes), 0);
  axes.addBlocks(keyBlocks(problem), rule(3));
  axes.add("o_columns",
           wideValues ? parts(problem.headDimV, 64, 256) : Values{0}, rule(2));
  axes.addPlacement({PPlacement::Tmem, PPlacement::Smem, PPlacement::Registers},
                    rule(5));
  // No second S for the warps that convert (plan.C8).
  axes.add("s_stages", converts ? Values{1} : Values{1, 2}, 0);
  // plan.C8 requires subtiles or sharing for wide heads: decides key_chunk.
  axes.add("share_kv", problem.vInK ? Values{1, 0} : Values{0}, 0);
  Values keyChunks = wideKeys ? parts(problem.headDim, 64, 256) : Values{0};
  Values valueChunks =
      wideValues ? parts(wide, converts ? 32 : 16, 64) : Values{0};
  // Of schedules that cost the same the first one is taken. The rings of a pair
  // hold about one block, so that small messages wait least for a free stage.
  if (sharesHeads(axes)) {
    std::ranges::reverse(keyChunks);
    std::ranges::reverse(valueChunks);
  }
  axes.add("key_chunk", keyChunks, rule(8));
  axes.add("value_chunk", valueChunks, rule(8));
  bool ownRing = wideKeys || wideValues || uneven;
  axes.add("v_stages", ownRing ? Values{0, 1} : Values{0}, rule(8));
  // Eight would save an eighth of a product for four more hand-offs, and no
  // product of a tile takes that long.
  axes.addSlices({1, 2, 4});
}

static constexpr unsigned emulatedShares[] = {12, 25};

constinit const FamilyCandidates fmha::schedule::tcgen05Candidates = {
    .qTileRows = 128,
    .pPlacement = PPlacement::Tmem,
    .addAxes = addAxes,
    .leastStages = 2,
    .delaysRescales = true,
    .roundsScaledP = true,
    .ringBytes = [](const Problem &, const Schedule &,
                    const fmha::target::Target &) { return uint64_t(0); },
    .emulatedShares = emulatedShares};

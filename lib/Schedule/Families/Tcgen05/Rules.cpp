//===- Rules.cpp - Rules of schedules with tensor memory --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Footprint.h"
#include "Rules/CheckRules.h"

#include "fmha/Layout/Tmem.h"

#include <algorithm>
#include <bit>
#include <iterator>

using namespace fmha;
using namespace fmha::schedule;

/// Checks that S and O of every tile fit tensor memory.
static Violation checkTmem(const Case &c) {
  const Schedule &s = c.schedule;
  Footprint sizes(c.problem, s);
  uint64_t needed = sizes.tmemColumns(s), there = c.gpu->tmemColumns;
  if (needed <= there)
    return std::nullopt;
  bool halfLanes = lanesOfHalves(s) == layout::tmemHalfLanes;
  bool several = s.sStages > 1;
  uint64_t room = halfLanes && !several
                      ? there
                      : there / s.qTiles - s.sStages * sizes.sColumns;
  std::string ways = several ? "s_stages = 1, or " : "";
  ways += "o_columns of at most " + str(room / panelColumns * panelColumns);
  if (s.qTiles > 1)
    ways += ", or one query tile";
  else if (!halfLanes && !several)
    ways += ", or q_tile_rows = 64";
  return tiles(s) + (s.qTiles == 1 ? " needs " : " need ") + str(needed) +
         " tensor-memory columns (" + (several ? str(s.sStages) + " x " : "") +
         "S " + str(sizes.sColumns) + " and O " + str(sizes.oColumns) +
         " each), " + str(there) + " are available; take " + ways;
}

/// Whether a pair of CTAs has 64 rows in each, whose halves are in the lanes of
/// different warps.
static bool isPairOfHalves(const Schedule &s) {
  return lanesOfHalves(s) == layout::tmemPairLanes;
}

/// Checks that a second S is that of a single query tile, with P over it, or in
/// shared memory where a pair leaves no other place.
static Violation checkScoreStages(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.sStages == 1)
    return std::nullopt;
  auto must = [&](const std::string &what, const std::string &why,
                  const std::string &got) {
    return "expected " + what + " with s_stages = 2" + why + ", got " + got +
           "; take s_stages = 1";
  };
  if (s.sStages != 2)
    return "expected s_stages to be 1 or 2, got " + str(s.sStages);
  if (s.qTiles != 1)
    return must("q_tiles to be 1",
                ", since a second query tile overlaps softmax already",
                str(s.qTiles));
  if (s.pPlacement != PPlacement::Tmem && !isPairOfHalves(s))
    return must("p_placement to be tmem", ", since P lies in S",
                std::string(stringify(s.pPlacement)));
  if (s.kvCopy == KvCopy::Convert)
    return must("kv_copy to be tma or gather4", "", "convert");
  Footprint sizes(c.problem, s);
  if (sizes.sLane)
    return must("S and O of a tile of 64 rows to take at most " +
                    str(c.gpu->tmemColumns) + " columns",
                "", str(s.sStages * sizes.sColumns + sizes.oColumns));
  return std::nullopt;
}

static Violation checkTiles(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.qTiles != 1 && s.qTiles != 2)
    return "expected q_tiles to be 1 or 2, got " + str(s.qTiles);
  if (s.qTileRows != 64 && s.qTileRows != 128)
    return "expected q_tile_rows to be 64 or 128, the rows of an MMA, got " +
           str(s.qTileRows);
  if (s.qTileRows == 64 && s.qTiles != 1)
    return "expected one query tile of 64 rows, got " + str(s.qTiles) +
           "; take q_tiles = 1, or q_tile_rows = 128";
  if (!std::has_single_bit(s.packHeads) || s.packHeads > s.qTileRows)
    return "expected pack_heads to be a power of two of at most q_tile_rows, " +
           str(s.qTileRows) + ", got " + str(s.packHeads);
  constexpr unsigned keyStep = 16, mostKeys = 128;
  if (s.kvBlock == 0 || s.kvBlock % keyStep || s.kvBlock > mostKeys)
    return "expected kv_block to be a multiple of 16 from 16 to 128, got " +
           str(s.kvBlock);
  if (s.qTiles != 1 && (s.keyChunk || s.valueChunk))
    return "expected key_chunk and value_chunk to be 0 with 2 query tiles, "
           "which take whole blocks, got " +
           str(s.keyChunk) + " and " + str(s.valueChunk) +
           "; take one query tile";
  return std::nullopt;
}

static Violation checkCtasPerSm(const Case &c) {
  if (c.schedule.ctasPerSm == 1)
    return std::nullopt;
  return "expected ctas_per_sm to be 1 on " + c.schedule.target +
         ", where a CTA has the tensor memory of its SM, got " +
         str(c.schedule.ctasPerSm);
}

/// Checks the schedule of a kernel that gathers rows.
static Violation checkGather(const Case &c) {
  unsigned size = c.problem.pageSize;
  if (!c.problem.topk && size != 1)
    return "expected lists of keys (topk) or pages of one key with kv_copy = "
           "gather4, which copies four rows from anywhere by one message, "
           "got " +
           (size ? "pages of " + str(size) + " keys" : "neither") +
           "; take kv_copy = tma";
  if (c.problem.source2)
    return "expected one KV segment with kv_copy = gather4, got two; take "
           "kv_copy = tma";
  return std::nullopt;
}

/// Checks that no warps copy keys without converting them, and that softmax of
/// a second query tile does not need the warps that convert.
static Violation checkKvCopies(const Case &c) {
  const Schedule &s = c.schedule;
  if (copiesKeysByThreads(s) && s.kvCopy != KvCopy::Convert)
    return "expected kv_copy to be tma or gather4, or convert for e4m3, on " +
           s.target + ", got " + std::string(stringify(s.kvCopy)) +
           ": no warps there copy keys as they are; leave kv_copy out";
  if (Violation violation = checkKvCopy(c))
    return violation;
  if (gathersRows(s))
    return checkGather(c);
  if (s.kvCopy == KvCopy::Convert && s.qTiles != 1)
    return withConversion("q_tiles = 1, since the warps of a second softmax "
                          "convert",
                          str(s.qTiles));
  return std::nullopt;
}

/// Returns a feature of the problem that pairs of CTAs do not support, or null.
/// With 64 rows of one head in each CTA a mask hides fewer blocks than with
/// heads of the same rows.
static const char *unpaired(const Problem &p, const Schedule &s) {
  bool sameRows = s.packHeads > 1;
  bool halves = isPairOfHalves(s);
  struct {
    bool there;
    const char *what;
  } features[] = {
      {!p.mask.isFull() && halves && !sameRows,
       "a mask, with 64 rows of one head in each CTA"},
      {p.cuSeqlensQ || p.cuSeqlensK, "packed sequences (cu_seqlens_q)"},
      {p.blockTables && !sameRows, "pages (block_tables)"},
      {gathersRows(s), "rows that messages gather (kv_copy = gather4)"},
      {p.topk, "lists of keys (topk)"},
      {p.kvIndices, "lists of blocks (kv_indices)"},
      {p.source2, "a second KV segment (source2)"},
      {p.keyNew, "new keys (key_new)"},
      {p.rotates(), "rotated queries (rotary)"},
      {p.kvE4M3, "keys of 8 bits, which threads convert"},
  };
  const auto *found = std::ranges::find_if(
      features, [](const auto &feature) { return feature.there; });
  return found == std::end(features) ? nullptr : found->what;
}

namespace {
/// A field that has one value in pairs of CTAs.
struct PairField {
  const char *name;
  unsigned expected, got;
  /// Whether it has that value with 64 rows, too.
  bool ofHalves;
};
} // namespace

/// Checks fields that have one value in pairs of CTAs. With 128 rows nothing
/// needs chunks.
static Violation checkPairFields(const Schedule &s) {
  bool halves = isPairOfHalves(s);
  PairField fields[] = {{"q_tile_rows", 128, s.qTileRows, false},
                        {"pack_heads", 1, s.packHeads, false},
                        {"key_chunk", 0, s.keyChunk, false},
                        {"value_chunk", 0, s.valueChunk, false},
                        {"o_columns", 0, s.oColumns, true},
                        {"share_kv", 0, s.shareKv, true},
                        {"splits", 1, s.splits, false}};
  // Splits of a row block are neighbors in the grid, and so are row blocks of a
  // pair; chunks of heads come before both.
  if (halves && s.splits > 1 && s.packHeads == 1)
    return "expected splits to be 1 with cta_group = 2 and without packed "
           "heads, got " +
           str(s.splits) + "; take pack_heads above 1, or cta_group = 1";
  for (const PairField &field : fields)
    if (field.got != field.expected && (field.ofHalves || !halves))
      return "expected " + std::string(field.name) + " to be " +
             str(field.expected) + " with cta_group = 2" +
             (field.ofHalves ? "" : " and tiles of 128 rows") + ", got " +
             str(field.got) + "; leave it out, or take cta_group = 1";
  return std::nullopt;
}

/// Checks what pairs with 64 rows in each CTA need beyond those with 128: S has
/// the keys of one CTA in the lanes of two warps, from which tcgen05.mma reads
/// no A.
static Violation checkPairOfHalves(const Schedule &s) {
  if (!isPairOfHalves(s))
    return std::nullopt;
  const std::string with =
      " with cta_group = 2 and tiles of 64 rows, whose halves are in different "
      "warps, got ";
  if (s.pPlacement == PPlacement::Tmem)
    return "expected p_placement to be smem" + with +
           "tmem; take smem, or "
           "cta_group = 1";
  if (s.pSlices != 1)
    return "expected p_slices to be 1" + with + str(s.pSlices) +
           "; leave it out, or take cta_group = 1";
  return std::nullopt;
}

/// Checks that a pair whose CTAs compute several tiles runs ahead: the CTAs
/// cannot initialize barriers again, which the other one signals.
static Violation checkPairLoop(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.scheduler == Scheduler::Single)
    return std::nullopt;
  const std::string way = "; leave it out, or take cta_group = 1";
  if (isPairOfHalves(s) || s.scheduler != Scheduler::Static)
    return std::string("expected scheduler to be single") +
           (isPairOfHalves(s) ? "" : " or static") + " with cta_group = 2" +
           (isPairOfHalves(s) ? " and tiles of 64 rows" : "") + ", got " +
           std::string(stringify(s.scheduler)) + way;
  if (!runsAhead(c.problem, s))
    return "expected scheduler to be single with cta_group = 2 where shared "
           "memory has no room for an output next to the queries and a block "
           "of K and V, got static" +
           way;
  return std::nullopt;
}

/// Checks that a product of two CTAs can be built: each has half of the rows,
/// 128 of M = 256 or 64 of M = 128, half of the keys of K and half of the
/// columns of V, and both have the same blocks.
static Violation checkPairs(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.ctaGroup == 1)
    return std::nullopt;
  if (s.ctaGroup != 2)
    return "expected cta_group to be 1 or 2, got " + str(s.ctaGroup);
  if (const char *what = unpaired(c.problem, s))
    return "expected a problem that a pair of CTAs can compute (cta_group = "
           "2), got one with " +
           std::string(what) + "; take cta_group = 1";
  if (Violation violation = checkPairFields(s))
    return violation;
  if (Violation violation = checkPairOfHalves(s))
    return violation;
  if (Violation violation = checkPairLoop(c))
    return violation;
  // N of a product with A in tensor memory is a multiple of 32.
  constexpr unsigned columnStep = 32;
  unsigned most = isPairOfHalves(s) ? 512 : 256;
  unsigned columns = outputColumns(c.problem, s);
  if (columns % columnStep || columns > most)
    return "expected a head_dim_v that is a multiple of 32 up to " + str(most) +
           " with cta_group = 2, got " + str(columns) + "; take cta_group = 1";
  if (isPairOfHalves(s) && s.kvBlock % columnStep)
    return "expected a kv_block that is a multiple of 32 with cta_group = 2 "
           "and tiles of 64 rows, got " +
           str(s.kvBlock) + "; take kv_block = 64, or cta_group = 1";
  return std::nullopt;
}

static Violation checkPlacement(const Case &c) {
  Footprint sizes(c.problem, c.schedule);
  switch (c.schedule.pPlacement) {
  case PPlacement::Tmem:
    if (!sizes.sLane)
      return std::nullopt;
    return "p_placement tmem is not available where O of " +
           str(sizes.oColumns) + " columns leaves S of " + str(sizes.sColumns) +
           " the other lanes, since tcgen05.mma reads A from the lanes of D; "
           "take smem, or o_columns of at most " +
           str((c.gpu->tmemColumns - sizes.sColumns) / panelColumns *
               panelColumns);
  case PPlacement::Smem:
    return std::nullopt;
  case PPlacement::Auto:
    return "expected p_placement to be tmem or smem in a schedule, got auto: "
           "the planner decides it, so leave the schedule out";
  case PPlacement::Registers:
    break;
  }
  return "p_placement registers is not available on " + c.schedule.target +
         ": tcgen05.mma reads A from tensor memory or shared memory only; take "
         "tmem or smem";
}

static constexpr Entry entries[] = {
    {1, checkTarget},      {1, checkDtype},        {3, checkTiles},
    {3, checkListedKeys},  {3, checkListedBlocks}, {2, checkHeadDims},
    {8, checkChunks},      {8, checkSlices},       {8, checkSharing},
    {8, checkScoreStages}, {2, checkTmem},         {8, checkCtasPerSm},
    {4, checkPairs},       {8, checkKvCopies},     {8, checkSplitBy},
    {8, checkNewKeys},     {5, checkPlacement},    {8, checkDemand},
    {8, checkLoopDemand},  {6, checkSmem},         {8, checkFeatures},
    {7, checkThreshold},   {9, checkRoles},        {10, checkWarps},
    {11, checkRegisters}};

static bool convertsKeys(const Schedule &s) {
  return s.kvCopy == KvCopy::Convert;
}

static constexpr KnownRole roles[] = {
    {"softmax0", 4, 0},   {"softmax1", 4, 1}, {"convert", 4, 0, convertsKeys},
    {"correction", 4, 0}, {"load", 1, 0},     {"mma", 1, 0},
    {"store", 1, 0}};

constinit const FamilyRules fmha::schedule::tcgen05Rules = {
    .entries = entries,
    .roles = roles,
    // Warp w reaches lanes 32*(w % 4) .. +31 of tensor memory only.
    .whyAligned = "reach lanes 0 to 127 in order",
    .loadsChunks = true,
    .limitsNameTarget = false};

//===- Rules.cpp - Rules of schedules with wgmma ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaRules.h"

#include <bit>
#include <string_view>

using namespace fmha;
using namespace fmha::schedule;

static Violation checkTiles(const Case &c) {
  const Schedule &s = c.schedule;
  constexpr unsigned mostTiles = 3, rows = 64, keyStep = 16, mostKeys = 256;
  if (s.qTiles < 1 || s.qTiles > mostTiles)
    return "expected q_tiles to be 1, 2 or 3 on " + s.target +
           ", warpgroups with a tile each, got " + str(s.qTiles);
  if (s.ctasPerSm < 1 || s.ctasPerSm > mostTiles)
    return "expected ctas_per_sm to be 1, 2 or 3 on " + s.target + ", got " +
           str(s.ctasPerSm);
  if (s.ctasPerSm > 1 && s.qTiles > 1)
    return "expected q_tiles = 1 with several CTAs per SM, which have the "
           "registers of one consumer each, got " +
           str(s.qTiles) + "; take ctas_per_sm = 1";
  if (s.qTileRows != rows)
    return "expected q_tile_rows to be 64 on " + s.target +
           ", the rows of a wgmma, got " + str(s.qTileRows);
  if (!std::has_single_bit(s.packHeads) || s.packHeads > rows)
    return "expected pack_heads to be a power of two of at most q_tile_rows, "
           "64, got " +
           str(s.packHeads);
  if (s.kvBlock == 0 || s.kvBlock % keyStep || s.kvBlock > mostKeys)
    return "expected kv_block to be a multiple of 16 from 16 to 256 on " +
           s.target + ", the columns of a wgmma, got " + str(s.kvBlock);
  return std::nullopt;
}

/// Checks that FMA units do not become busier than the exp unit they relieve.
static Violation checkEmulation(const Schedule &s) {
  constexpr unsigned most = 50;
  if (s.exp2EmulatedPercent <= most)
    return std::nullopt;
  return "expected exp2_emulated of at most " + str(most) + " per cent on " +
         s.target +
         ", beyond which the FMA units are busier than the unit that it "
         "spares, got " +
         str(s.exp2EmulatedPercent);
}

/// Checks fields that no pass of these targets implements yet.
static Violation checkUnbuilt(const Case &c) {
  const Schedule &s = c.schedule;
  auto must = [&](const char *field, const char *value, unsigned got,
                  const char *why) -> Violation {
    bool isSwitch = std::string_view(value) == "false";
    return "expected " + std::string(field) + " to be " + value + " on " +
           s.target + ", " + why + "; got " + (isSwitch ? "true" : str(got));
  };
  if (s.pSlices != 1)
    return must("p_slices", "1", s.pSlices,
                "where a warpgroup multiplies its own P");
  if (Violation violation = checkEmulation(s))
    return violation;
  if (s.keyChunk || s.valueChunk)
    return must("key_chunk and value_chunk", "0",
                s.keyChunk ? s.keyChunk : s.valueChunk,
                "since no pass implements anything else");
  if (s.vStages)
    return must("v_stages", "0", s.vStages,
                "since no pass implements anything else");
  if (s.sStages != 1)
    return must("s_stages", "1", s.sStages,
                "where a warpgroup has S in registers");
  if (s.mmaOrder != MmaOrder::Commit)
    return "expected mma_order to be commit on " + s.target +
           ", where a warpgroup waits for its own products, got issue";
  return std::nullopt;
}

/// Checks that no loop over tiles counts the entries of lists: single threads
/// of the load and store roles run the loops, and a whole warp counts.
static Violation checkLists(const Case &c) {
  const Schedule &s = c.schedule;
  if (!c.problem.topk || s.scheduler == Scheduler::Single)
    return std::nullopt;
  return "expected scheduler = single with topk on " + s.target +
         ", where single threads loop over the tiles and a list is counted by "
         "a warp; got " +
         std::string(stringify(s.scheduler));
}

/// Checks a CTA in which several consumers share the columns of O.
static Violation checkConsumers(const Case &c) {
  const Schedule &s = c.schedule;
  constexpr unsigned mostConsumers = 2;
  unsigned consumers = outputConsumers(s);
  if (consumers == 1)
    return std::nullopt;
  unsigned most = c.family.kernel.columnsOfConsumer;
  if (!c.problem.vInK || outputPasses(c.problem, s) > 1)
    return "expected o_columns of at most " + str(most) + " on " + s.target +
           ", or all " + str(paddedColumns(c.problem.headDimV)) +
           " columns of a V that lies in K, which two consumers share; got " +
           str(s.oColumns) +
           (c.problem.vInK ? "" : ", and V does not lie in K");
  if (consumers > mostConsumers)
    return "expected o_columns of at most " + str(mostConsumers * most) +
           " on " + s.target + ", which " + str(mostConsumers) +
           " consumers share, got " + str(s.oColumns);
  auto must = [&](const char *what, const std::string &got) {
    return "expected " + std::string(what) + " with o_columns above " +
           str(most) + ", which two consumers share, got " + got +
           "; take that, or o_columns of at most " + str(most);
  };
  if (s.qTiles != 1)
    return must("q_tiles = 1", str(s.qTiles));
  if (s.ctasPerSm != 1)
    return must("ctas_per_sm = 1", str(s.ctasPerSm));
  if (s.scheduler != Scheduler::Single)
    return must("scheduler = single", std::string(stringify(s.scheduler)));
  if (s.pPlacement != PPlacement::Smem)
    return must("p_placement = smem", std::string(stringify(s.pPlacement)));
  if (!s.shareKv)
    return must("share_kv = true", "false");
  return std::nullopt;
}

/// Checks the consumers next to a warpgroup that converts.
static Violation checkConversion(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.ctasPerSm != 1)
    return withConversion("ctas_per_sm = 1", str(s.ctasPerSm));
  if (consumersOf(s) > 2)
    return withConversion("at most two consumers", str(consumersOf(s)));
  return std::nullopt;
}

/// Checks that the warps that copy have enough registers: with 24 or 32 ptxas
/// 13.0 spills some kernels (4 to 32 bytes).
static Violation checkGather(const Schedule &s) {
  if (s.kvCopy != KvCopy::CpAsync)
    return std::nullopt;
  if (s.ctasPerSm > 2)
    return "expected ctas_per_sm of at most 2 with kv_copy = cp_async, got " +
           str(s.ctasPerSm);
  if (consumersOf(s) > 2)
    return "expected at most two consumers with kv_copy = cp_async, got " +
           str(consumersOf(s)) + "; take q_tiles of at most 2";
  return std::nullopt;
}

/// Checks a CTA in which threads copy K and V.
static Violation checkKvCopies(const Case &c) {
  if (gathersRows(c.schedule))
    return "expected kv_copy to be tma, cp_async or convert on " +
           c.schedule.target +
           ", whose TMA does not gather rows, got gather4; leave kv_copy out";
  if (Violation violation = checkKvCopy(c))
    return violation;
  return c.schedule.kvCopy == KvCopy::Convert ? checkConversion(c)
                                              : checkGather(c.schedule);
}

static Violation checkPlacement(const Case &c) {
  const Schedule &s = c.schedule;
  switch (s.pPlacement) {
  case PPlacement::Registers:
    return std::nullopt;
  case PPlacement::Smem:
    if (s.ctasPerSm == 1)
      return std::nullopt;
    return "expected p_placement to be registers with ctas_per_sm = " +
           str(s.ctasPerSm) +
           ": several CTAs of an SM have too little shared memory; take "
           "ctas_per_sm = 1";
  case PPlacement::Auto:
    return "expected p_placement to be registers or smem in a schedule, got "
           "auto: the planner decides it, so leave the schedule out";
  case PPlacement::Tmem:
    break;
  }
  return "p_placement tmem is not available on " + s.target +
         ", which has no tensor memory; take registers or smem";
}

/// As with tensor memory, with registers in its place.
static constexpr Entry entries[] = {
    {1, checkTarget},       {1, checkDtype},        {3, checkTiles},
    {3, checkListedKeys},   {3, checkListedBlocks}, {2, checkHeadDims},
    {8, checkUnbuilt},      {8, checkDemand},       {8, checkKvCopies},
    {8, checkSplitBy},      {8, checkChunks},       {8, checkConsumers},
    {8, checkLists},        {8, checkNewKeys},      {8, checkSharing},
    {2, checkAccumulators}, {8, checkLoopDemand},   {4, checkCtaGroup},
    {5, checkPlacement},    {6, checkSmem},         {8, checkFeatures},
    {7, checkThreshold},    {9, checkRoles},        {10, checkWarps},
    {11, checkRegisters}};

static bool gathersKeys(const Schedule &s) {
  return s.kvCopy == KvCopy::CpAsync;
}
static bool convertsKeys(const Schedule &s) {
  return s.kvCopy == KvCopy::Convert;
}

static constexpr KnownRole roles[] = {{"load", 1, 0},
                                      {"gather", 2, 0, gathersKeys},
                                      {"convert", 4, 0, convertsKeys},
                                      {"store", 1, 0},
                                      {"consumer0", 4, 0},
                                      {"consumer1", 4, 1},
                                      {"consumer2", 4, 2}};

constinit const FamilyRules fmha::schedule::wgmmaRules = {
    .entries = entries,
    .roles = roles,
    .whyAligned = "are a warpgroup",
    .loadsChunks = false,
    .limitsNameTarget = true};

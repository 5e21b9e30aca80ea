//===- Rules.cpp - Rules of schedules with mma.sync -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaSyncRules.h"

#include "fmha/Schedule/Model/Overrides.h"

#include <algorithm>
#include <bit>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

static Violation checkTiles(const Case &c) {
  const Schedule &s = c.schedule;
  constexpr unsigned fewRows = 64, manyRows = 128, mostKeys = 256, mostCtas = 4;
  if (s.qTiles != 1)
    return "expected q_tiles to be 1 on " + s.target +
           ", whose four warps have one tile, got " + str(s.qTiles);
  if (s.qTileRows != fewRows && s.qTileRows != manyRows)
    return "expected q_tile_rows to be 64 or 128 on " + s.target +
           ", 16 or 32 rows of each warp, got " + str(s.qTileRows);
  if (s.ctasPerSm < 1 || s.ctasPerSm > mostCtas)
    return "expected ctas_per_sm to be from 1 to 4 on " + s.target + ", got " +
           str(s.ctasPerSm);
  if (!std::has_single_bit(s.packHeads) || s.packHeads > s.qTileRows)
    return "expected pack_heads to be a power of two of at most q_tile_rows, " +
           str(s.qTileRows) + ", got " + str(s.packHeads);
  if (s.kvBlock == 0 || s.kvBlock % leastKeys || s.kvBlock > mostKeys)
    return "expected kv_block to be a multiple of 16 from 16 to 256 on " +
           s.target + ", the keys of a step of mma.sync, got " + str(s.kvBlock);
  return std::nullopt;
}

/// Checks fields that have one value with mma.sync.
static Violation checkUnbuilt(const Case &c) {
  static const std::pair<std::string_view, unsigned> only[] = {
      {"v_stages", 0},  {"key_chunk", 0}, {"value_chunk", 0}, {"p_slices", 1},
      {"scheduler", 0}, {"mma_order", 0}, {"s_stages", 1}};
  for (auto [name, value] : only) {
    const ScheduleField &field =
        *std::ranges::find(scheduleFields(), name, &ScheduleField::name);
    if (unsigned got = field.get(c.schedule); got != value)
      return "expected " + std::string(name) + " to be " + field.print(value) +
             " on " + c.schedule.target +
             ", where no pass implements anything else, got " +
             field.print(got) + "; leave " + std::string(name) + " out";
  }
  constexpr unsigned mostEmulated = 50;
  if (unsigned got = c.schedule.exp2EmulatedPercent; got > mostEmulated)
    return "expected exp2_emulated of at most 50 per cent on " +
           c.schedule.target + ", got " + str(got);
  return std::nullopt;
}

/// Checks what threads copy.
static Violation checkCopies(const Case &c) {
  if (c.problem.source2)
    return "expected one KV segment on " + c.schedule.target +
           ", got two; compute each with row_max and row_sum and combine them "
           "by fmha.merge";
  if (c.schedule.kvCopy == KvCopy::CpAsync)
    return std::nullopt;
  return "expected kv_copy to be cp_async on " + c.schedule.target +
         ", whose threads copy, got " +
         std::string(stringify(c.schedule.kvCopy)) + "; leave kv_copy out";
}

static Violation checkPlacement(const Case &c) {
  if (c.schedule.pPlacement == PPlacement::Registers)
    return std::nullopt;
  return "expected p_placement to be registers on " + c.schedule.target +
         ", where P is a factor in registers, got " +
         std::string(stringify(c.schedule.pPlacement));
}

static constexpr Entry entries[] = {{1, checkTarget},
                                    {1, checkDtype},
                                    {3, checkTiles},
                                    {3, checkListedKeys},
                                    {3, checkListedBlocks},
                                    {2, checkHeadDims},
                                    {8, checkUnbuilt},
                                    {8, checkCopies},
                                    {8, checkSplitBy},
                                    {8, checkChunks},
                                    {8, checkNewKeys},
                                    {8, checkSharing},
                                    {2, checkMmaSyncRegisters},
                                    {4, checkCtaGroup},
                                    {5, checkPlacement},
                                    {6, checkSmem},
                                    {8, checkFeatures},
                                    {7, checkThreshold},
                                    {9, checkRoles},
                                    {10, checkWarps},
                                    {11, checkRegisters}};

static constexpr KnownRole roles[] = {{mmaSyncRole, 4, 0}};

constinit const FamilyRules fmha::schedule::mmaSyncRules = {
    .entries = entries,
    .roles = roles,
    .whyAligned = "have the rows of a tile in order",
    .loadsChunks = false,
    .limitsNameTarget = true,
    .hasShortProducts = true};

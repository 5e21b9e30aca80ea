//===- Rules.cpp - Rules of schedules of plain threads ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/Footprint.h"
#include "Rules/CheckRules.h"

#include "fmha/Schedule/Model/FmaThreads.h"
#include "fmha/Schedule/Model/Overrides.h"

#include <algorithm>
#include <bit>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

/// Checks that keys and values are whole vectors, and that threads have enough
/// registers for a part of a key.
static Violation checkVectors(const Case &c) {
  constexpr unsigned mostDim = 256;
  unsigned step = FmaThreads::vectorBytes / bytesOf(c.problem.kvDtype());
  for (auto [name, dim] : {std::pair("head_dim", c.problem.headDim),
                           std::pair("head_dim_v", c.problem.headDimV)})
    if (dim == 0 || dim % step || dim > mostDim)
      return "expected " + std::string(name) + " to be a multiple of " +
             str(step) + ", the elements of 16 bytes, from " + str(step) +
             " to 256 with family = fma, got " + str(dim) + "; take " +
             str(std::clamp((dim + step - 1) / step * step, step, mostDim));
  return std::nullopt;
}

static Violation checkRows(const Case &c) {
  constexpr unsigned keyStep = 16, mostKeys = 1024;
  unsigned mostRows = FmaThreads::mostRows(c.problem);
  const Schedule &s = c.schedule;
  if (s.qTiles != 1)
    return "expected q_tiles to be 1 with family = fma, got " + str(s.qTiles);
  if (!std::has_single_bit(s.packHeads) || s.packHeads > mostRows)
    return "expected pack_heads to be " +
           std::string(mostRows < 4 ? "1 or 2 with k and v of e4m3 and"
                                    : "1, 2 or 4 with") +
           " family = fma, whose threads keep all rows in registers, got " +
           str(s.packHeads);
  if (s.qTileRows != s.packHeads)
    return "expected q_tile_rows to be pack_heads with family = fma, whose "
           "CTAs have one query, got " +
           str(s.qTileRows) + " and " + str(s.packHeads);
  if (s.kvBlock == 0 || s.kvBlock % keyStep || s.kvBlock > mostKeys)
    return "expected kv_block to be a multiple of 16 from 16 to 1024 with "
           "family = fma, got " +
           str(s.kvBlock);
  return std::nullopt;
}

/// Checks what a kernel of plain threads cannot read.
static Violation checkInputs(const Case &c) {
  const Problem &p = c.problem;
  if (p.score)
    return "expected no score_mod region with family = fma, got one; convert "
           "q, k and v to f16 or bf16 and take family = mma";
  if (p.kvIndices)
    return "expected no lists of blocks (blocks) with family = fma, got some; "
           "convert q, k and v to f16 or bf16 and take family = mma";
  if (p.source2)
    return "expected one KV segment with family = fma, got two; compute each "
           "with row_max and row_sum and combine them by fmha.merge, or take "
           "f16 or bf16 and family = mma";
  if (p.cuSeqlensQ || p.cuSeqlensK)
    return "expected no packed sequences (cu_seqlens_q, cu_seqlens_k) with "
           "family = fma, got some; pad them to [batch, length] with kv_lens, "
           "or take f16 or bf16 and family = mma";
  return std::nullopt;
}

/// Checks fields that only describe tiles.
static Violation checkUnused(const Case &c) {
  static const std::pair<std::string_view, unsigned> only[] = {
      {"kv_stages", 1},   {"v_stages", 0},    {"key_chunk", 0},
      {"value_chunk", 0}, {"share_kv", 0},    {"o_columns", 0},
      {"p_slices", 1},    {"p_offset", 0},    {"exp2_emulated", 0},
      {"scheduler", 0},   {"ctas_per_sm", 1}, {"kv_copy", 0},
      {"mma_order", 0},   {"mma_k", 16},      {"s_stages", 1}};
  for (auto [name, value] : only) {
    const ScheduleField &field =
        *std::ranges::find(scheduleFields(), name, &ScheduleField::name);
    if (unsigned got = field.get(c.schedule); got != value)
      return "expected " + std::string(name) + " to be " + field.print(value) +
             " with family = fma, where it has no other meaning, got " +
             field.print(got);
  }
  return std::nullopt;
}

static Violation checkPlacement(const Case &c) {
  if (c.schedule.pPlacement == PPlacement::Smem)
    return std::nullopt;
  return "expected p_placement to be smem with family = fma, got " +
         std::string(stringify(c.schedule.pPlacement));
}

static Violation checkMemory(const Case &c) {
  uint64_t needed = 0, there = smemOfCta(*c.gpu, c.schedule);
  for (const SmemRegion &region :
       c.family.kernel.regions(c.problem, c.schedule))
    needed += uint64_t(region.bytes) * region.stages;
  if (needed <= there)
    return std::nullopt;
  return "queries, scores and outputs need " + str(needed) +
         " bytes of shared memory, " + str(there) + " are available (" +
         str(needed - there) + " too many); take a smaller kv_block";
}

static Violation checkMaximum(const Case &c) {
  if (c.schedule.rescaleThreshold == 0)
    return std::nullopt;
  return "expected rescale_threshold = 0 with family = fma, which subtracts "
         "the true maximum, got another one; write rescale_threshold = 0.0";
}

/// Checks the only role: all warps of the CTA.
static Violation checkCompute(const Case &c) {
  const Role *role = c.schedule.findRole(FmaThreads::role);
  if (!role || c.schedule.roles.size() != 1 || role->firstWarp != 0)
    return "expected one role \"" + std::string(FmaThreads::role) +
           "\" from warp 0 with family = fma, got " +
           counted(unsigned(c.schedule.roles.size()), "role");
  if (role->warps != 2 && role->warps != 4 && role->warps != 8)
    return "expected 2, 4 or 8 warps with family = fma, got " +
           str(role->warps);
  FmaThreads all(c.problem, c.schedule);
  if (all.valueVectors > all.threads)
    return "expected a thread for each 16 bytes of a value, " +
           str(all.valueVectors) + ", got " + str(all.threads) +
           "; take more warps";
  return std::nullopt;
}

/// Checks that threads have no fewer registers than the planner gives them,
/// with which no kernel spills, and that the register file has as many.
static Violation checkLeast(const Case &c) {
  Schedule planned = c.schedule;
  planned.roles.clear();
  const Role &role = c.schedule.roles.front();
  unsigned least = withRoles(std::move(planned)).roles.front().registers;
  unsigned most = registersAtLaunch(role.warps * target::warpThreads);
  if (role.registers >= least && role.registers <= most)
    return std::nullopt;
  return "expected " + str(least) + " to " + str(most) +
         " registers per thread with family = fma and " +
         counted(role.warps, "warp") + ", got " + str(role.registers) +
         "; take no roles for the planner's count";
}

static constexpr Entry entries[] = {
    {1, checkTarget},   {1, checkDtype},    {2, checkVectors},
    {3, checkRows},     {8, checkInputs},   {8, checkSplitBy},
    {8, checkUnused},   {4, checkCtaGroup}, {5, checkPlacement},
    {8, checkFeatures}, {7, checkMaximum},  {9, checkCompute},
    {6, checkMemory},   {11, checkLeast}};

constinit const FamilyRules fmha::schedule::fmaRules = {.entries = entries,
                                                        .roles = {},
                                                        .whyAligned = "",
                                                        .loadsChunks = false,
                                                        .limitsNameTarget =
                                                            false};

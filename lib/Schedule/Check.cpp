//===- Check.cpp - Can a schedule serve a problem? --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"

#include "fmha/Layout/Tmem.h"
#include "fmha/Target/Target.h"

#include <array>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

using Complaint = std::optional<std::string>;

static std::string str(uint64_t value) { return std::to_string(value); }

static std::string tiles(const Schedule &s) {
  return str(s.qTiles) + (s.qTiles == 1 ? " query tile" : " query tiles");
}

namespace {

/// What the rules look at.
struct Case {
  const Problem &problem;
  const Schedule &schedule;
  const target::Target *gpu;
};

constexpr unsigned warpsPerGroup = 4;
constexpr unsigned threadsPerGroup = 128;
/// Counts that setmaxnreg takes (PTX ISA 9.7.19.5).
constexpr unsigned leastRegisters = 24, mostRegisters = 256, registerStep = 8;

/// A role that passes know. `tile` is the query tile without which it is not
/// needed.
struct KnownRole {
  std::string_view name;
  unsigned warps;
  unsigned tile;
};
constexpr KnownRole knownRoles[] = {{"softmax0", 4, 0},   {"softmax1", 4, 1},
                                    {"correction", 4, 0}, {"load", 1, 0},
                                    {"mma", 1, 0},        {"store", 1, 0}};
/// Warps that do nothing; there may be any number of them.
constexpr std::string_view spareRole = "spare";

const KnownRole *findKnown(std::string_view name) {
  for (const KnownRole &role : knownRoles)
    if (role.name == name)
      return &role;
  return nullptr;
}

} // namespace

static Complaint checkTarget(const Case &c) {
  const std::string &name = c.schedule.target;
  if (!c.gpu)
    return "C1: expected a known target (" + target::supportedNames() +
           "), got \"" + name + '"';
  if (!c.gpu->supported)
    return "C1: attention cannot be compiled for " + name + ": " +
           c.gpu->reason + "; take one of " + target::supportedNames();
  return std::nullopt;
}

/// Why `headDim` is not among the supported ones, of all reasons the one that
/// lies deepest.
static std::string headDimReason(const Case &c) {
  Footprint sizes(c.problem, c.schedule);
  unsigned dim = std::max(c.problem.headDim, c.problem.headDimV);
  auto panels = [](unsigned d) { return d != 0 && d % panelColumns == 0; };
  if (!panels(c.problem.headDim) || !panels(c.problem.headDimV))
    return "tiles consist of 64-column panels, one row of the 128-byte swizzle "
           "each";
  uint64_t columns = sizes.tmemColumns(c.schedule);
  if (columns > c.gpu->tmemColumns)
    return tiles(c.schedule) + " need " + str(columns) +
           " tensor-memory columns (S " + str(sizes.sColumns) + " and O " +
           str(sizes.oColumns) + " each), " + str(c.gpu->tmemColumns) +
           " are there";
  uint64_t bytes = sizes.smemBytes(c.schedule);
  if (bytes > c.gpu->smemBytesPerCta)
    return tiles(c.schedule) + " and " + str(c.schedule.kvStages) +
           " KV stages need " + str(bytes) + " bytes of shared memory, " +
           str(c.gpu->smemBytesPerCta) + " are there";
  return "an MMA chain over " + str(dim) +
         " columns is not built yet, though it would fit";
}

static Complaint checkHeadDims(const Case &c) {
  unsigned k = c.problem.headDim, v = c.problem.headDimV;
  bool known = k == 64 || k == 128;
  if (known && k == v)
    return std::nullopt;
  std::string got = "C2: expected head_dim 64 or 128 and head_dim_v equal to "
                    "it, got " +
                    str(k) + " and " + str(v) + ": ";
  if (known && (v == 64 || v == 128))
    return got + "K and V blocks take turns in one ring of equal stages";
  return got + headDimReason(c);
}

static Complaint checkTiles(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.qTiles != 1 && s.qTiles != 2)
    return "C3: expected q_tiles to be 1 or 2, got " + str(s.qTiles);
  if (s.qTileRows != layout::tmemLanes)
    return "C3: expected q_tile_rows to be 128, a row per tensor-memory lane, "
           "got " +
           str(s.qTileRows);
  if (s.kvBlock != 128)
    return "C3: expected kv_block to be 128, the only one built, got " +
           str(s.kvBlock);
  return std::nullopt;
}

static Complaint checkCtaGroup(const Case &c) {
  if (c.schedule.ctaGroup == 1)
    return std::nullopt;
  return "C4: expected cta_group to be 1, got " + str(c.schedule.ctaGroup) +
         ": no pass pairs CTAs";
}

static Complaint checkPlacement(const Case &c) {
  switch (c.schedule.pPlacement) {
  case PPlacement::Tmem:
  case PPlacement::Smem:
    return std::nullopt;
  case PPlacement::Auto:
    return "C5: expected p_placement to be tmem or smem in a schedule, got "
           "auto: the planner decides it, so leave the schedule out";
  case PPlacement::Registers:
    break;
  }
  return "C5: p_placement registers cannot be had on " + c.schedule.target +
         ": tcgen05.mma reads A from tensor memory or shared memory only; take "
         "tmem or smem";
}

static Complaint checkSmem(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.kvStages < 2)
    return "C6: expected at least 2 KV stages, since the MMA role holds a V "
           "block while it waits for the next K block; got " +
           str(s.kvStages);
  Footprint sizes(c.problem, s);
  uint64_t needed = sizes.smemBytes(s);
  if (needed <= c.gpu->smemBytesPerCta)
    return std::nullopt;
  std::string text = "C6: " + tiles(s) + " of " + str(sizes.qBytes) +
                     " bytes, " + str(s.kvStages) + " KV stages of " +
                     str(sizes.kvStageBytes) + " bytes";
  if (s.pPlacement == PPlacement::Smem)
    text += ", P of " + str(sizes.pBytes) + " bytes per tile";
  return text + " and the small regions need " + str(needed) +
         " bytes of shared memory, " + str(c.gpu->smemBytesPerCta) +
         " are there (" + str(needed - c.gpu->smemBytesPerCta) +
         " too many); take fewer KV stages";
}

/// Without a rescale P grows to 2^threshold; f16 ends below 2^16, bf16 below
/// 2^128, and the margin keeps rounding and the row sum finite.
static Complaint checkThreshold(const Case &c) {
  double limit = c.problem.dtype == DataType::F16 ? 15 : 96;
  double got = c.schedule.rescaleThreshold;
  if (std::isfinite(got) && got >= 0 && got <= limit)
    return std::nullopt;
  return "C7: expected rescale_threshold from 0 to " + str(uint64_t(limit)) +
         " for " + std::string(stringify(c.problem.dtype)) + ", got " +
         std::to_string(got) + ": P grows to 2^rescale_threshold";
}

static std::string only(const char *field, const char *value,
                        const std::string &got) {
  return std::string("C8: expected ") + field + " to be " + value +
         ", since no pass builds it otherwise; got " + got;
}

static Complaint checkChunks(const Schedule &s) {
  if (s.vStages != 0)
    return only("v_stages", "0", str(s.vStages));
  if (s.keyChunk != 0)
    return only("key_chunk", "0", str(s.keyChunk));
  if (s.valueChunk != 0)
    return only("value_chunk", "0", str(s.valueChunk));
  if (s.shareKv)
    return only("share_kv", "false", "true");
  if (s.oColumns != 0)
    return only("o_columns", "0", str(s.oColumns));
  return std::nullopt;
}

static Complaint checkFeatures(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.pSlices != 1)
    return only("p_slices", "1", str(s.pSlices));
  if (s.exp2EmulatedPercent != 0)
    return only("exp2_emulated", "0", str(s.exp2EmulatedPercent));
  if (s.persistent)
    return only("persistent", "false", "true");
  if (s.splits != 1)
    return only("splits", "1", str(s.splits));
  return checkChunks(s);
}

/// The warps of one role.
static Complaint checkRole(const Role &role) {
  const KnownRole *known = findKnown(role.name);
  if (!known && role.name != spareRole)
    return "C9: expected a role that passes know (softmax0, softmax1, "
           "correction, load, mma, store, spare), got \"" +
           role.name + '"';
  if (known && role.warps != known->warps)
    return "C9: expected role \"" + role.name + "\" to have " +
           str(known->warps) + (known->warps == 1 ? " warp" : " warps") +
           ", got " + str(role.warps);
  // Warp w reaches lanes 32*(w % 4) .. +31 of tensor memory only.
  if (known && known->warps == warpsPerGroup &&
      role.firstWarp % warpsPerGroup != 0)
    return "C9: expected role \"" + role.name +
           "\" to begin at a multiple of 4 warps, so that its warps reach "
           "lanes 0 to 127 in order; got warp " +
           str(role.firstWarp);
  return std::nullopt;
}

static Complaint checkRoles(const Case &c) {
  for (const Role &role : c.schedule.roles) {
    if (Complaint complaint = checkRole(role))
      return complaint;
    if (c.schedule.findRole(role.name) != &role)
      return "C9: expected each role once, got \"" + role.name + "\" twice";
  }
  for (const KnownRole &known : knownRoles)
    if (known.tile < c.schedule.qTiles && !c.schedule.findRole(known.name))
      return "C9: expected a role \"" + std::string(known.name) + "\" for " +
             tiles(c.schedule) + ", got none";
  return std::nullopt;
}

/// The role of each warp, for as many warps as a CTA may have.
using Owners = std::array<const Role *, 32>;

static Complaint assignWarps(const Case &c, Owners &owners, unsigned &warps) {
  unsigned most = c.gpu->maxThreadsPerCta / 32;
  warps = 0;
  for (const Role &role : c.schedule.roles) {
    uint64_t end = uint64_t(role.firstWarp) + role.warps;
    if (end > most)
      return "C10: role \"" + role.name + "\" ends at warp " + str(end) +
             ", a CTA has at most " + str(most) + " warps";
    for (unsigned warp = role.firstWarp; warp < end; ++warp) {
      if (owners[warp])
        return "C10: expected one role per warp, got \"" + owners[warp]->name +
               "\" and \"" + role.name + "\" on warp " + str(warp);
      owners[warp] = &role;
    }
    warps = std::max<unsigned>(warps, end);
  }
  warps = (warps + warpsPerGroup - 1) / warpsPerGroup * warpsPerGroup;
  for (unsigned warp = 0; warp < warps; ++warp)
    if (!owners[warp])
      return "C10: warp " + str(warp) +
             " has no role, but setmaxnreg needs all warps of its warpgroup; "
             "give it to a role \"spare\"";
  return std::nullopt;
}

static Complaint checkRegisters(const Case &c, const Owners &owners,
                                unsigned warps) {
  uint64_t total = 0;
  for (unsigned warp = 0; warp < warps; ++warp) {
    const Role &role = *owners[warp];
    const Role &first = *owners[warp / warpsPerGroup * warpsPerGroup];
    if (role.registers % registerStep || role.registers < leastRegisters ||
        role.registers > mostRegisters)
      return "C11: expected registers to be a multiple of 8 from 24 to 256, "
             "got " +
             str(role.registers) + " in role \"" + role.name + '"';
    if (role.registers != first.registers)
      return "C11: expected the same registers for all roles of warpgroup " +
             str(warp / warpsPerGroup) + ", got " + str(first.registers) +
             " for \"" + first.name + "\" and " + str(role.registers) +
             " for \"" + role.name + '"';
    total += role.registers * (threadsPerGroup / warpsPerGroup);
  }
  unsigned threads = warps * (threadsPerGroup / warpsPerGroup);
  unsigned pool = registersAtLaunch(threads) * threads;
  if (total <= pool)
    return std::nullopt;
  return "C11: the roles need " + str(total) + " registers, " + str(pool) +
         " are there (" + str(total - pool) + " too many): a CTA of " +
         str(threads) + " threads starts with " +
         str(registersAtLaunch(threads)) + " a thread";
}

unsigned fmha::schedule::registersAtLaunch(unsigned threads) {
  constexpr unsigned registersPerSm = 65536;
  return registersPerSm / threads / registerStep * registerStep;
}

static Complaint checkWarps(const Case &c) {
  Owners owners{};
  unsigned warps = 0;
  if (Complaint complaint = assignWarps(c, owners, warps))
    return complaint;
  return checkRegisters(c, owners, warps);
}

std::optional<std::string> fmha::schedule::check(const Problem &problem,
                                                 const Schedule &schedule) {
  Case c{problem, schedule, target::findTarget(schedule.target)};
  // Later rules rely on earlier ones: sizes mean nothing before C1 to C5.
  for (auto rule :
       {checkTarget, checkTiles, checkHeadDims, checkCtaGroup, checkPlacement,
        checkSmem, checkThreshold, checkFeatures, checkRoles, checkWarps})
    if (Complaint complaint = rule(c))
      return complaint;
  return std::nullopt;
}

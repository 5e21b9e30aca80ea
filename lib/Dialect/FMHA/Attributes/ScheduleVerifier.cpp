//===- ScheduleVerifier.cpp - Rules of #fmha.role and #fmha.schedule ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constraints of FMHAAttrs.td, which need no target. If the attribute is on
// an op, fmha::schedule::check determines whether it fits the target.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Target/Target.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace fmha;
using schedule::Role;
using schedule::Schedule;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

using target::warpgroupThreads;
using target::warpgroupWarps;

static constexpr unsigned maxWarps =
    target::Target::maxThreadsPerCta / target::warpThreads;
static constexpr unsigned maxRegisters = target::Target::registersPerSm;

static InFlightDiagnostic roleError(EmitError emitError, unsigned rule) {
  return emitError() << "role.R" << rule << ": ";
}

LogicalResult MaskAttr::verify(EmitError emitError, schedule::Mask mask) {
  for (auto [name, bound] :
       {std::pair("left", mask.left), std::pair("right", mask.right)})
    if (bound && *bound > schedule::Mask::largestWindow)
      return emitError() << "mask.M1: expected " << name
                         << " to be at most 2^30, got " << *bound
                         << "; leave it out for no bound";
  return success();
}

LogicalResult RoleAttr::verify(EmitError emitError, Role role) {
  if (role.name.empty())
    return roleError(emitError, 1) << "expected a name, got an empty string";
  if (role.warps == 0 || role.warps > maxWarps ||
      role.firstWarp > maxWarps - role.warps)
    return roleError(emitError, 2)
           << "expected at least one warp, and warps up to " << maxWarps - 1
           << "; got first_warp = " << role.firstWarp
           << ", warps = " << role.warps << " in role \"" << role.name << '"';
  if (role.registers % 8 != 0 || role.registers < 24 || role.registers > 256)
    return roleError(emitError, 3)
           << "expected registers to be a multiple of 8 from 24 to 256, got "
           << role.registers << " in role \"" << role.name << '"';
  return success();
}

static InFlightDiagnostic scheduleError(EmitError emitError, unsigned rule) {
  return emitError() << "schedule.S" << rule << ": ";
}

static bool isTileSize(unsigned rows) { return rows != 0 && rows % 16 == 0; }

static LogicalResult verifyTiles(EmitError emitError, const Schedule &s) {
  if (s.target.empty())
    return scheduleError(emitError, 1)
           << "expected the name of a target, got an empty string";
  if (s.qTiles < 1 || s.qTiles > 3)
    return scheduleError(emitError, 2)
           << "expected q_tiles to be 1, 2 or 3, got " << s.qTiles;
  if (s.qTileRows == 0 || !isTileSize(s.kvBlock))
    return scheduleError(emitError, 3)
           << "expected q_tile_rows to be positive and kv_block to be a "
              "positive multiple of 16, got "
           << s.qTileRows << " and " << s.kvBlock;
  if (s.ctaGroup != 1 && s.ctaGroup != 2)
    return scheduleError(emitError, 4)
           << "expected cta_group to be 1 or 2, got " << s.ctaGroup;
  if (!llvm::isPowerOf2_32(s.packHeads))
    return scheduleError(emitError, 14)
           << "expected pack_heads to be a power of two, got " << s.packHeads;
  return success();
}

static LogicalResult verifyNumbers(EmitError emitError, const Schedule &s) {
  if (s.kvStages == 0 || s.sStages == 0 || s.pSlices == 0 || s.ctasPerSm == 0 ||
      s.splits == 0)
    return scheduleError(emitError, 5)
           << "expected kv_stages, s_stages, p_slices, ctas_per_sm and splits "
              "to be positive, got "
           << s.kvStages << ", " << s.sStages << ", " << s.pSlices << ", "
           << s.ctasPerSm << " and " << s.splits;
  if (!std::isfinite(s.rescaleThreshold) || s.rescaleThreshold < 0)
    return scheduleError(emitError, 6)
           << "expected rescale_threshold to be finite and not negative, got "
           << s.rescaleThreshold;
  if (s.exp2EmulatedPercent > 100)
    return scheduleError(emitError, 7)
           << "expected exp2_emulated to be 0 to 100 percent, got "
           << s.exp2EmulatedPercent;
  return success();
}

/// Checks schedule.S12 and schedule.S13.
static LogicalResult verifyChunks(EmitError emitError, const Schedule &s) {
  if (s.keyChunk % layout::PanelTile::panelColumns != 0 ||
      s.valueChunk % 16 != 0 || s.oColumns % 16 != 0)
    return scheduleError(emitError, 12)
           << "expected key_chunk to be a multiple of 64, value_chunk and "
              "o_columns to be multiples of 16, got "
           << s.keyChunk << ", " << s.valueChunk << " and " << s.oColumns;
  if (s.shareKv && (s.vStages || s.keyChunk || s.valueChunk))
    return scheduleError(emitError, 13)
           << "expected v_stages, key_chunk and value_chunk to be 0 with "
              "share_kv, since a block is one message of one ring; got "
           << s.vStages << ", " << s.keyChunk << " and " << s.valueChunk;
  return success();
}

/// Checks schedule.S8 and schedule.S9. Sets `owners` to the role of each warp.
static LogicalResult assignWarps(EmitError emitError, const Schedule &s,
                                 std::array<const Role *, maxWarps> &owners) {
  llvm::StringSet<> names;
  for (const Role &role : s.roles) {
    if (!names.insert(role.name).second)
      return scheduleError(emitError, 8)
             << "expected unique role names, got \"" << role.name << "\" twice";
    for (unsigned warp = role.firstWarp; warp < role.firstWarp + role.warps;
         ++warp) {
      if (const Role *other = owners[warp])
        return scheduleError(emitError, 9)
               << "expected one role per warp, got \"" << other->name
               << "\" and \"" << role.name << "\" on warp " << warp;
      owners[warp] = &role;
    }
  }
  return success();
}

/// Checks schedule.S10 and schedule.S11.
static LogicalResult
verifyRegisters(EmitError emitError,
                const std::array<const Role *, maxWarps> &owners) {
  unsigned total = 0;
  for (unsigned group = 0; group < maxWarps / warpgroupWarps; ++group) {
    const Role *first = nullptr;
    for (unsigned warp = group * warpgroupWarps;
         warp < (group + 1) * warpgroupWarps; ++warp) {
      const Role *role = owners[warp];
      if (first && role && role->registers != first->registers)
        return scheduleError(emitError, 10)
               << "expected the same registers for all roles of warpgroup "
               << group << ", got " << first->registers << " for \""
               << first->name << "\" and " << role->registers << " for \""
               << role->name << '"';
      first = first ? first : role;
    }
    total += first ? first->registers * warpgroupThreads : 0;
  }
  if (total > maxRegisters)
    return scheduleError(emitError, 11)
           << "expected at most " << maxRegisters
           << " registers over all warpgroups, got " << total << " ("
           << total - maxRegisters << " too many)";
  return success();
}

LogicalResult ScheduleAttr::verify(EmitError emitError, Schedule schedule) {
  std::array<const Role *, maxWarps> owners{};
  if (failed(verifyTiles(emitError, schedule)) ||
      failed(verifyNumbers(emitError, schedule)) ||
      failed(verifyChunks(emitError, schedule)) ||
      failed(assignWarps(emitError, schedule, owners)))
    return failure();
  return verifyRegisters(emitError, owners);
}

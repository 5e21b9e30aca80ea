//===- CheckRules.h - The rules of check() ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules that all targets share are in this folder, those of one kernel family
// in its folder, with the order of all.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RULES_CHECKRULES_H
#define FMHA_LIB_SCHEDULE_RULES_CHECKRULES_H

#include "Families/Family.h"

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fmha::schedule {

/// What a rule requires and what a schedule has, without the id of the rule.
using Violation = std::optional<std::string>;

inline std::string str(uint64_t value) { return std::to_string(value); }

/// Returns "a or b", or "a, b or c". Expects at least one.
std::string anyOf(const std::vector<std::string> &ways);

/// Returns "1 stage" or "2 stages".
inline std::string counted(unsigned count, const char *what) {
  return str(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// Returns "1 query tile" or "2 query tiles".
inline std::string tiles(const Schedule &s) {
  return counted(s.qTiles, "query tile");
}

/// Returns whether a kernel reads varlen metadata, or lists.
inline bool isVarlen(const Problem &p) {
  return p.cuSeqlensQ || p.kvEndsPerSequence() || p.topk || p.kvIndices;
}

/// The input of a rule.
struct Case {
  const Problem &problem;
  const Schedule &schedule;
  const target::Target *gpu;
  const Family &family;
  /// The message is not needed and may be short.
  bool terse = false;
};

struct Entry {
  unsigned number;
  Violation (*violation)(const Case &);
};

/// A role that passes know. It is required if the schedule has query tile
/// `tile` and `isNeeded`, if set, returns true.
struct KnownRole {
  std::string_view name;
  unsigned warps;
  unsigned tile;
  bool (*isNeeded)(const Schedule &schedule) = nullptr;
};

/// The smallest kv_block: the K step of an MMA.
inline constexpr unsigned leastKeys = 16;

/// What the rules ask of a kernel family.
struct FamilyRules {
  /// In the order of check(). Later rules rely on earlier ones, for example
  /// sizes on the extents that determine them.
  std::span<const Entry> entries;
  std::span<const KnownRole> roles;
  /// Why a role of four warps begins at a multiple of 4.
  std::string_view whyAligned;
  /// A load may be a part of a block (key_chunk, value_chunk).
  bool loadsChunks;
  /// A message about a limit of RegisterDemand.def names the target.
  bool limitsNameTarget;
  /// An instruction may have half the inner extent (mma_k = 8).
  bool hasShortProducts = false;
};

Violation checkTarget(const Case &c);
/// Checks the type of q, k and v.
Violation checkDtype(const Case &c);
Violation checkHeadDims(const Case &c);
/// Checks that a CTA has the keys of one query, if a list names them.
Violation checkListedKeys(const Case &c);
/// Checks that kv_block divides block_keys, and that the rows of a CTA are part
/// of one listed block of rows, or are whole ones.
Violation checkListedBlocks(const Case &c);
/// Checks that one CTA, or each split, has all rows that see new keys.
Violation checkNewKeys(const Case &c);
Violation checkChunks(const Case &c);
Violation checkSlices(const Case &c);
Violation checkSharing(const Case &c);
Violation checkCtaGroup(const Case &c);
/// Checks that threads convert K and V of e4m3 and no others, from one segment
/// and in messages that they have instructions for.
Violation checkKvCopy(const Case &c);
/// Returns "expected ... with kv_copy = convert, got ...".
std::string withConversion(std::string_view expected, std::string_view got);
/// Checks that splits by length have lengths, unpacked queries and no loop.
Violation checkSplitBy(const Case &c);
Violation checkSmem(const Case &c);
Violation checkFeatures(const Case &c);
Violation checkThreshold(const Case &c);
Violation checkRoles(const Case &c);
Violation checkWarps(const Case &c);
Violation checkRegisters(const Case &c);
/// Check the limits of RegisterDemand.def, first those that do not depend on
/// the scheduler, so that `single` repairs the others.
Violation checkDemand(const Case &c);
Violation checkLoopDemand(const Case &c);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_RULES_CHECKRULES_H

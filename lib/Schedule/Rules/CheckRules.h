//===- CheckRules.h - What the rules of check() look at ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules that all targets share are in Check.cpp, those of targets with wgmma in
// CheckWgmma.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RULES_CHECKRULES_H
#define FMHA_LIB_SCHEDULE_RULES_CHECKRULES_H

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fmha::schedule {

using Complaint = std::optional<std::string>;

inline std::string str(uint64_t value) { return std::to_string(value); }

/// "a or b", "a, b or c". Expects at least one.
std::string anyOf(const std::vector<std::string> &ways);

/// "1 stage", "2 stages"
inline std::string counted(unsigned count, const char *what) {
  return str(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// "1 query tile", "2 query tiles"
inline std::string tiles(const Schedule &s) {
  return counted(s.qTiles, "query tile");
}

/// Whether what a row may see depends on numbers that are read from memory.
inline bool hasLists(const Problem &p) {
  return p.cuSeqlensQ || p.keysEndInside();
}

/// What the rules look at.
struct Case {
  const Problem &problem;
  const Schedule &schedule;
  const target::Target *gpu;
  /// The sentence is not asked for, so that it may be short.
  bool terse = false;
};

struct Entry {
  unsigned number;
  Complaint (*complaint)(const Case &);
};

/// A role that passes know. `tile` is the query tile without which it is not
/// needed.
struct KnownRole {
  std::string_view name;
  unsigned warps;
  unsigned tile;
};

std::span<const KnownRole> wgmmaRoles();
/// Registers of a consumer's threads, of the planner's roles.
unsigned consumerRegisters(unsigned qTiles, unsigned ctasPerSm);
Complaint checkRoles(const Case &c);
Complaint checkWarps(const Case &c);
/// The limits of RegisterDemand.def, and those of loops over tiles alone: after
/// all that the scheduler does not change, so that `single` is a way out.
Complaint checkDemand(const Case &c);
Complaint checkLoopDemand(const Case &c);
Complaint checkWgmmaTiles(const Case &c);
Complaint checkWgmmaFeatures(const Case &c);
Complaint checkWgmmaRegisters(const Case &c);
Complaint checkWgmmaPlacement(const Case &c);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_RULES_CHECKRULES_H

//===- RegisterDemand.h - Register limits found with ptxas ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of RegisterDemand.def: limits of plan.C8, registers that plan.C2
// reserves, and workarounds of passes. Each names the kernel that ptxas spills
// without it; `scripts/check/spills.py refit` measures them again.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_RULES_REGISTERDEMAND_H
#define FMHA_SCHEDULE_RULES_REGISTERDEMAND_H

#include "fmha/Schedule/Model/Schedule.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fmha::schedule::demand {

/// Transformations that passes apply only because ptxas would spill otherwise.
enum class Workaround : uint8_t {
  /// Each role computes for itself the index values that a tile determines.
  OwnNumbers,
  /// Index values are declared equal in all threads of a warp: after a minimum,
  /// a maximum or a load ptxas does not know it, and keeps one per thread.
  UniformNumbers,
  /// Every tile of a loop reads the extents of the grid again.
  RereadExtents,
  /// The role that allocated tensor memory frees it after its own loop, and the
  /// predicate that identifies its warp does not last throughout all roles.
  FreeInRole,
  /// A score region that computes something from the key gets a basic block for
  /// each chunk of a row; otherwise ptxas starts all chunks at once.
  BlockOfKeys,
  /// So does a long score region.
  BlockOfLong,
  /// Chunks of a row have 4 columns, in a long region 2, instead of 16.
  ShortPieces,
  /// A packed row reads values of its query and head before the KV loop.
  RowsBeforeLoop,
  /// Each bound of a row has a separate selection: ptxas keeps combined
  /// predicates in general registers.
  SelectPerBound,
};

/// Returns whether passes have to apply `what` to the kernel of `schedule`.
bool needs(Workaround what, const Problem &problem, const Schedule &schedule);

/// Plans and compiles from now on as if the row `name` did not exist, or with
/// it again if not `ignore`. Returns false if there is no such row. For
/// `fmha-compile --without-demand`.
bool ignoreRow(std::string_view name, bool ignore = true);
/// Returns the rows that are ignored, "" for none: a part of a kernel's key.
std::string ignoredRows();
/// The table as text: per line the name, "plan.C2", "plan.C8" or "workaround",
/// the family, the bytes that ptxas spilled and the flags of the evidence.
std::string listRows();

} // namespace fmha::schedule::demand

#endif // FMHA_SCHEDULE_RULES_REGISTERDEMAND_H

//===- RegisterDemand.h - What ptxas has too few registers for --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of RegisterDemand.def: limits of plan.C8, registers that plan.C2
// reserves, and workarounds of passes. Each names the kernel that ptxas spills
// without it; `scripts/spills.py refit` measures them again.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_RULES_REGISTERDEMAND_H
#define FMHA_SCHEDULE_RULES_REGISTERDEMAND_H

#include "fmha/Schedule/Model/Schedule.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fmha::schedule::demand {

/// What passes do only because ptxas would spill otherwise.
enum class Workaround : uint8_t {
  /// Each role computes for itself the index values that a tile determines.
  OwnNumbers,
  /// Index values are declared equal in all threads of a warp: after a minimum,
  /// a maximum or a load ptxas does not know it, and keeps one per thread.
  UniformNumbers,
  /// Of a role of one thread only the ends of loops are: its coordinates would
  /// be spilled otherwise.
  UniformEndsAlone,
  /// So are those of a tile of wgmma's loops over tiles.
  UniformTileNumbers,
  /// Every tile of a loop reads the extents of the grid again.
  RereadExtents,
  /// The role that allocated tensor memory frees it after its own loop, and the
  /// predicate that identifies its warp does not last throughout all roles.
  FreeInRole,
  /// A score region that computes something of keys gets a block for each
  /// chunk of a row; otherwise ptxas begins all chunks at once.
  BlockOfKeys,
  /// So does a long one.
  BlockOfLong,
  /// Chunks of a row have 4 columns, of long code 2, in place of 16.
  ShortPieces,
  /// What a packed row has of its query and head is read before the KV loop.
  RowsBeforeLoop,
  /// Comparisons and selections are per element: a vector of predicates would
  /// be kept in registers, since there are eight predicates.
  ChoicesByElement,
  /// Each bound of a row has a selection of its own: ptxas keeps predicates
  /// that are combined in registers.
  SelectPerBound,
};

/// Whether passes have to do `what` for the kernel of `schedule`.
bool needs(Workaround what, const Problem &problem, const Schedule &schedule);

/// Plans and compiles from now on as if the row `name` were not there, or with
/// it again if not `ignore`. Returns false if there is none of that name. For
/// `fmha-compile --without-demand`.
bool ignoreRow(std::string_view name, bool ignore = true);
/// The rows that are ignored, "" for none: a part of a kernel's key.
std::string ignoredRows();
/// The table as text: per line the name, "plan.C2", "plan.C8" or "workaround",
/// the family, the bytes that ptxas spilled and the flags of the evidence.
std::string listRows();

} // namespace fmha::schedule::demand

#endif // FMHA_SCHEDULE_RULES_REGISTERDEMAND_H

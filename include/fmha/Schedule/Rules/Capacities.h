//===- Capacities.h - Check the resources of a kernel -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The resources that a kernel requests, each with the op that requests it, and
// the rules for them. `check` and `verify` of Schedule.h check a schedule and
// its map; this checks the kernel that passes built from them.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_RULES_CAPACITIES_H
#define FMHA_SCHEDULE_RULES_CAPACITIES_H

#include "fmha/Sync/Synchronization.h"

namespace fmha::schedule::capacities {

using Memory = sync::Memory;
using Violation = sync::Violation;
using Complaint = Violation;

/// [begin, end) in bytes of dynamic shared memory or columns of the kernel's
/// tensor memory; `begin` must be a multiple of `alignment`.
struct Place {
  Memory memory = Memory::Shared;
  std::string name;
  uint64_t begin = 0, end = 0, alignment = 1;
  uint32_t source = 0;
};

/// The count of a tcgen05.alloc, or of the matching dealloc.
struct Columns {
  unsigned count = 0;
  uint32_t source = 0;
};

/// `registers` per thread of [firstWarp, lastWarp); `before` is the count that
/// a setmaxnreg expects them to have, 0 if it is unknown.
struct WarpRegisters {
  std::string name;
  unsigned firstWarp = 0, lastWarp = 0, registers = 0, before = 0;
  uint32_t source = 0;
};

/// A value that op `source` overwrites although it is read later.
struct Clobber {
  std::string name;
  Memory memory = Memory::Shared;
  uint64_t begin = 0, end = 0;
  uint32_t source = 0, other = 0;
};

struct Demand {
  std::string target;
  /// The op that represents the launch.
  uint32_t launch = 0;
  unsigned threads = 0;
  /// CTAs that an SM runs at once.
  unsigned ctasPerSm = 1;
  std::vector<Place> tiles;
  std::vector<Place> barriers;
  std::vector<Columns> allocations, deallocations;
  std::vector<WarpRegisters> warps;
  std::vector<Clobber> clobbers;
  /// Indices of named barriers, bar.sync 0 of the CTA included.
  std::vector<Columns> namedBarriers;
};

/// Returns the rules that `demand` violates, none if its target can meet it:
///
///   resources.R1  tensor memory is allocated once, by a power of two that the
///                 target has, and freed with the same count
///   resources.R2  places lie inside shared memory or the allocated columns
///   resources.R3  places begin at multiples of their alignment
///   resources.R4  mbarriers overlap neither tiles nor each other
///   resources.R5  setmaxnreg can set every count, and all warps together need
///                 no more than the registers at launch
///   resources.R6  a CTA has no more threads than the target allows, and every
///                 role's warps are launched
///   resources.R7  there are 16 named barriers
///   resources.R8  no place is overwritten while a tile in it is still to be
///   read
std::vector<Violation> check(const Demand &demand);

} // namespace fmha::schedule::capacities

#endif // FMHA_SCHEDULE_RULES_CAPACITIES_H

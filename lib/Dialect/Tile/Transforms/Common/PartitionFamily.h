//===- PartitionFamily.h - Roles of a kernel family -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes of Partition/ ask a kernel family: which role does an op, in
// which order the role of products runs them, and how channels are called. Each
// family has one such record in its folder.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_PARTITIONFAMILY_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_PARTITIONFAMILY_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::tile {

struct RoleRule {
  /// Of the schedule's role, without the number of an instance.
  llvm::StringLiteral name;
  /// Who signals for it.
  Agent agent;
  /// One elected thread executes it.
  bool singleThread;
  /// Ops that share no tile go to instances "name0", "name1", ... of their own.
  bool perInstance;
  /// Whether the role does `op`; the first rule of the family that says so
  /// counts.
  bool (*owns)(mlir::Operation *op);
};

/// The channel into a region of the memory map (Schedule::MemoryMap), whose
/// name may end in a number, from a role; if `with` is not empty, of a map that
/// has that region too.
struct ChannelRule {
  llvm::StringLiteral region, producer, name, with = "";
};

struct PartitionFamily {
  llvm::ArrayRef<RoleRule> roles;
  /// Channels of one instance stand in this order.
  llvm::ArrayRef<ChannelRule> channels;
  /// Of products whose factors depend on each other through other roles the
  /// later one runs first in an iteration: P·V of this block, then Q·K of the
  /// next.
  bool laterStageFirst;
  /// Products of threads only begin at their op: what they read is free when
  /// their result is awaited.
  bool asyncProducts = false;
  /// Threads of a consumer that signal a release: all of its warpgroup, or one
  /// of each warp.
  unsigned releaseArrivals = 128;
  /// Where a CTA does several output tiles, its barriers go on from one to the
  /// next, and so do the numbers of messages; else they begin again.
  bool keepsBarriers = false;
  /// Instances of a role differ in numbers only, and become one body.
  bool mergesInstances = false;

  /// Whether messages of a channel follow those of an earlier output tile.
  bool repeats(const schedule::Schedule &schedule) const {
    return keepsBarriers && schedule.scheduler != schedule::Scheduler::Single;
  }
  /// The rule of the role `name`, with or without the number of an instance;
  /// null if the family has none.
  const RoleRule *findRole(llvm::StringRef name) const;
};

/// Returns the warps of the roles `names` of `family`, in that order: those of
/// one thread share the first warpgroup, and each of the others has one. No
/// warp gives registers to another one.
std::vector<schedule::Role> layOutRoles(const PartitionFamily &family,
                                        llvm::ArrayRef<llvm::StringRef> names);

/// The family of the target that `schedule` names.
const PartitionFamily &partitionFamilyOf(const schedule::Schedule &schedule);
const PartitionFamily &tcgen05Partition();
const PartitionFamily &wgmmaPartition();

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_PARTITIONFAMILY_H

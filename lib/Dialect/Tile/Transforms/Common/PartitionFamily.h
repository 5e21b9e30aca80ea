//===- PartitionFamily.h - Roles of a kernel family -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The properties of a kernel family for the passes of Partition/: which role
// executes an op, in which order products run, and the names of channels. Each
// family has a record in its folder.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_PARTITIONFAMILY_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_PARTITIONFAMILY_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::tile {

struct RoleRule {
  /// Name of the schedule's role, without the number of an instance.
  llvm::StringLiteral name;
  /// The agent of its signals.
  Agent agent;
  /// One elected thread executes it.
  bool singleThread;
  /// Ops that share no tile go to different instances "name0", "name1", ...
  bool perInstance;
  /// Whether the role executes `op`. The first rule of the family for which
  /// this holds applies.
  bool (*owns)(mlir::Operation *op);
  /// Name in programs that were not made from an attention op. If empty, it is
  /// `name`.
  llvm::StringLiteral programName = "";

  /// Returns whether `role` is `name`, with or without an instance number.
  bool isNamed(llvm::StringRef role, llvm::StringRef name) const;
};

/// The name of the channel from a role into a region of the memory map
/// (Schedule::MemoryMap), whose name may end in a number. If `with` is not
/// empty, the rule applies only to a map that also has that region.
struct ChannelRule {
  llvm::StringLiteral region, producer, name, with = "";
};

struct PartitionFamily {
  llvm::ArrayRef<RoleRule> roles;
  /// Channels of one instance have this order.
  llvm::ArrayRef<ChannelRule> channels;
  /// Whether, of products that depend on each other through other roles, the
  /// later one runs first in an iteration: P·V of this block, then Q·K of the
  /// next one.
  bool laterStageFirst;
  /// Products are asynchronous: the memory that they read is free after the
  /// wait for their result.
  bool asyncProducts = false;
  /// Threads of a consumer that signal a release: all of its warpgroup, or one
  /// per warp.
  unsigned releaseArrivals = 128;
  /// Instances of a role differ in numbers only, and become one body.
  bool mergesInstances = false;
  /// One role has all ops, in program order: there are no channels, and loops
  /// are not rotated.
  bool hasOneRole = false;

  /// Returns the rule of the role `name`, or null if the family has none. The
  /// name is the one for attention or the one for other programs, with or
  /// without an instance number.
  const RoleRule *findRole(llvm::StringRef name) const;
};

/// Returns the roles `names` of `family` with their warps, in that order: roles
/// of one thread share the first warpgroup, and each of the others has its own.
/// No warp gives registers to another one.
std::vector<schedule::Role> layOutRoles(const PartitionFamily &family,
                                        llvm::ArrayRef<llvm::StringRef> names);

/// Returns the family of the target of `schedule`.
const PartitionFamily &partitionFamilyOf(const schedule::Schedule &schedule);
const PartitionFamily &tcgen05Partition();
const PartitionFamily &wgmmaPartition();
const PartitionFamily &mmaSyncPartition();

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_PARTITIONFAMILY_H

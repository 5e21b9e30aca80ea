//===- ChannelPlan.h - The channels that a program needs --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds every tile that one role makes and another one uses, and joins those of
// one producer and one place into channels.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_CHANNELPLAN_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_CHANNELPLAN_H

#include "Common/PartitionFamily.h"
#include "TileFlow.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <list>
#include <string>

namespace fmha::tile {

/// One message in the program: the tile, and the op after which it is complete,
/// which is the op that makes it or a branch around that.
struct Send {
  mlir::Value tile;
  mlir::Operation *point;
};

/// A use of a tile that another role makes.
struct Crossing {
  TileSource source;
  mlir::OpOperand *use;
  /// The op that uses the tile, of which `use` may be a slice.
  mlir::Operation *user;
};

struct PlannedChannel {
  std::string producer, name;
  /// Of its largest message.
  TileType type;
  llvm::SmallVector<Send> sends;
  /// Their points.
  llvm::DenseMap<mlir::Operation *, unsigned> sentAt;
  llvm::SmallVector<Crossing> uses;
  /// No slot is written twice, or only after the other side has sent a message
  /// that was made from this one.
  bool unreleased = false;
  const PlannedChannel *releasedBy = nullptr;
  /// Whether the program runs several times on the same channels.
  bool repeats = false;
  /// The producer waits at its end until all slots are free, so that no signal
  /// reaches shared memory that the CTA has left.
  bool drains = false;

  bool hasReleases() const { return !unreleased && !releasedBy; }
  unsigned depth() const {
    return type.getSmem() ? type.getSmem().getStages() : 1;
  }
  /// Whether a later message may need the slot of message `send`.
  bool isSentAfter(const Send &send) const;
  const Send *findSend(mlir::Value tile) const;
  /// The roles that use messages, in the order of their first use.
  llvm::SmallVector<llvm::StringRef> consumers() const;
};

/// Channels in the order in which they are declared.
using ChannelPlan = std::list<PlannedChannel>;

/// Returns the channels of `func`, whose ops have partitions. Errors: a role
/// uses a tile that another one has in registers, or that two roles may have
/// made.
mlir::FailureOr<ChannelPlan> planChannels(mlir::gpu::GPUFuncOp func,
                                          const KernelInfo &info,
                                          const PartitionFamily &family);

/// Whether `user` runs where `branch` takes its first region: it stands in it,
/// or in another branch on the same condition.
bool isUnderSameCondition(mlir::scf::IfOp branch, mlir::Operation *user);

/// The first product of the chain that `op` adds to, within its block and role.
mlir::Operation *chainOf(mlir::Operation *op);
/// The slices of memory that `op` takes stand directly before it; returns the
/// first of them, or `op`.
mlir::Operation *withSlices(mlir::Operation *op);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_CHANNELPLAN_H

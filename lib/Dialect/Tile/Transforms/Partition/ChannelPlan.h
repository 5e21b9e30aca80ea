//===- ChannelPlan.h - Plan the channels of a program -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds every tile that one role defines and another one uses, and joins those
// of one producer and one place into channels.
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
/// which is the op that defines it, or a branch or loop around that op.
struct Send {
  mlir::Value tile;
  mlir::Operation *point;
};

/// A use of a tile that another role defines.
struct Crossing {
  TileSource source;
  mlir::OpOperand *use;
  /// The op that uses the tile, of which `use` may be a slice.
  mlir::Operation *user;
};

struct PlannedChannel {
  std::string producer, name;
  /// Type of its largest message.
  TileType type;
  llvm::SmallVector<Send> sends;
  /// Number of messages sent at each point.
  llvm::DenseMap<mlir::Operation *, unsigned> sentAt;
  llvm::SmallVector<Crossing> uses;
  /// No slot is written twice, or only after the consumer has sent a message
  /// that depends on this one.
  bool unreleased = false;
  const PlannedChannel *releasedBy = nullptr;
  /// The program runs several times with the same channels.
  bool repeats = false;
  /// The producer waits at its end until all slots are free, so that no signal
  /// reaches shared memory after the CTA has exited.
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
/// uses a tile that another one has in registers, or that one of two roles may
/// have written.
mlir::FailureOr<ChannelPlan> planChannels(mlir::gpu::GPUFuncOp func,
                                          const KernelInfo &info,
                                          const PartitionFamily &family);

/// Whether `user` runs only if the condition of `branch` holds: it is in the
/// first region of `branch`, or of another branch on the same condition.
bool isUnderSameCondition(mlir::scf::IfOp branch, mlir::Operation *user);

/// Returns the first product of the chain that `op` accumulates to, within its
/// block and role.
mlir::Operation *chainOf(mlir::Operation *op);
/// Returns the first of the slices of memory that are operands of `op`, which
/// are directly before it, or `op`.
mlir::Operation *withSlices(mlir::Operation *op);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_CHANNELPLAN_H

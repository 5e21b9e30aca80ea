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
#include "llvm/ADT/SetVector.h"

#include <list>
#include <string>

namespace fmha::tile {

/// One message in the program: the tile, and the op after which it is complete,
/// which is the op that defines it, or a branch or loop around that op.
struct Send {
  mlir::Value tile;
  mlir::Operation *point;
};

/// The sends of a channel in a block. Nested blocks have separate entries.
struct BlockSends {
  /// Number of sends whose point is an op without regions.
  unsigned plain = 0;
  /// Loops and branches that contain sends or are the point of one, in program
  /// order.
  llvm::SmallVector<mlir::Operation *> nested;
};

/// How many of the sends in BlockSends come before an op of the block.
struct SendsBefore {
  unsigned plain = 0, nested = 0;
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
  /// The sends of each block that has sends, and the number of sends before
  /// each op that is the point of a send or contains one.
  llvm::DenseMap<mlir::Block *, BlockSends> sendsIn;
  llvm::DenseMap<mlir::Operation *, SendsBefore> sendsBefore;
  llvm::SmallVector<Crossing> uses;
  /// The roles that use messages, in the order of their first use.
  llvm::SetVector<llvm::StringRef> consumers;
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
  unsigned depth() const { return type.getStages(); }
  /// Whether a later message may need the slot of message `send`.
  bool isSentAfter(const Send &send) const;
};

/// Channels in the order in which they are declared.
using ChannelPlan = std::list<PlannedChannel>;

/// The chains of products in a function: each product accumulates to the
/// result of the one before. The ops of the function have partitions.
class ProductChains {
public:
  explicit ProductChains(mlir::gpu::GPUFuncOp func);
  /// Returns the first product of the chain of `op` that is in the same block
  /// and role. Returns `op` if it is not part of a chain.
  mlir::Operation *firstOf(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> firsts;
};

/// Returns the channels of `func`, whose ops have partitions. Errors: a role
/// uses a tile that another one has in registers, or that one of two roles may
/// have written.
mlir::FailureOr<ChannelPlan> planChannels(mlir::gpu::GPUFuncOp func,
                                          const KernelInfo &info,
                                          const PartitionFamily &family,
                                          const ProductChains &chains);

/// Whether `user` runs only if the condition of `branch` holds: it is in the
/// first region of `branch`, or of another branch on the same condition.
bool isUnderSameCondition(mlir::scf::IfOp branch, mlir::Operation *user);

/// Returns the first of the slices of memory that are operands of `op`, which
/// are directly before it, or `op`.
mlir::Operation *withSlices(mlir::Operation *op);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_CHANNELPLAN_H

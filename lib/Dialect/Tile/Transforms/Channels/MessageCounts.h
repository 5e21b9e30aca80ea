//===- MessageCounts.h - Messages of an output tile -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_MESSAGECOUNTS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_MESSAGECOUNTS_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace fmha::tile {

/// The number of messages that one output tile sends through a channel:
/// `known`, plus `perIteration` for each iteration of a loop that ends at
/// `end`.
struct MessageCount {
  mlir::Value end;
  int64_t perIteration = 0, known = 0;
  bool operator==(const MessageCount &) const = default;

  /// Emits the number as an index.
  mlir::Value create(mlir::ImplicitLocOpBuilder &b) const;
};

/// The counts of channels.
using MessageCounts = llvm::MapVector<mlir::Value, MessageCount>;

/// Counts the messages that each channel of the roles publishes for an output
/// tile. Emits an error if the number depends on anything but the iterations of
/// one loop, or if no role publishes the messages of a channel.
mlir::FailureOr<MessageCounts> countMessages(WarpSpecializeOp roles);

/// Returns the message of an op at an end of a channel; null for other ops.
mlir::OpOperand *messageOf(mlir::Operation *op);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_MESSAGECOUNTS_H

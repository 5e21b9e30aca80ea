//===- MessageNumbers.h - Count the messages of a channel -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits code that computes the index of each message of a channel from the
// iteration counts of the loops around it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_MESSAGENUMBERS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_MESSAGENUMBERS_H

#include "ChannelPlan.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

struct MessageNumber;

/// Emits message indices at the insertion point of a builder.
class MessageCounter {
public:
  MessageCounter(mlir::ImplicitLocOpBuilder &b, mlir::gpu::GPUFuncOp func,
                 bool isProgram)
      : b(b), func(func), isProgram(isProgram) {}

  /// Returns the index of the message that is sent at `point`, in the
  /// iterations that `iteration` returns. It equals the number of messages sent
  /// earlier: by ops before `point` and in earlier iterations.
  ///   two sends in a loop: 2·i, 2·i + 1; one after it: 2·n
  ///   one in a loop of n iterations inside of another one: j·n + i
  mlir::Value
  numberOf(const PlannedChannel &channel, mlir::Operation *point,
           llvm::function_ref<mlir::Value(mlir::scf::ForOp)> iteration);
  /// Returns the number of messages sent before the end of `block`, which
  /// contains sends and is not inside a loop.
  mlir::Value numberAfter(const PlannedChannel &channel, mlir::Block &block);

private:
  void addSends(MessageNumber &number, const PlannedChannel &channel,
                mlir::Block &block, SendsBefore end);
  MessageNumber sentIn(const PlannedChannel &channel, mlir::Block &block);
  MessageNumber sentBy(const PlannedChannel &channel, mlir::Operation *op);

  mlir::ImplicitLocOpBuilder &b;
  mlir::gpu::GPUFuncOp func;
  bool isProgram;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_MESSAGENUMBERS_H

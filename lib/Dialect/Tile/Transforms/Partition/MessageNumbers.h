//===- MessageNumbers.h - Numbers of the messages of a channel --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the messages that a program sends, by code for the numbers of loops'
// iterations.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_MESSAGENUMBERS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_MESSAGENUMBERS_H

#include "ChannelPlan.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

struct MessageNumber;

/// Emits numbers of messages at a builder.
class MessageCounter {
public:
  MessageCounter(mlir::ImplicitLocOpBuilder &b, mlir::gpu::GPUFuncOp func,
                 bool isProgram)
      : b(b), func(func), isProgram(isProgram) {}

  /// Returns the number of the message that is sent at `point`, in the
  /// iterations that `iteration` returns. It is the number of messages of all
  /// ops before `point` and of earlier iterations.
  ///   two sends in a loop: 2·i, 2·i + 1; one after it: 2·n
  ///   one in a loop of n iterations inside of another one: j·n + i
  mlir::Value
  numberOf(const PlannedChannel &channel, mlir::Operation *point,
           llvm::function_ref<mlir::Value(mlir::scf::ForOp)> iteration);
  /// Returns the number of messages up to the end of `block`, which is in no
  /// loop and contains sends.
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

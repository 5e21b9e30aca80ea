//===- BufferUses.h - Reads and writes of a buffer --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H

#include "BufferFlow.h"
#include "fmha/Dialect/FMHA/IR/Views.h"

namespace fmha {

/// Returns whether `op` runs on the device, as the ops of fmha with a
/// kernel do.
bool isKernelOp(mlir::Operation *op);

/// Returns the memref at the end of the chain of views that begins at `memref`.
mlir::Value rootOf(mlir::Value memref);

/// The effects of an op, and of all ops in its regions, on one buffer.
struct Access {
  bool hostReads = false, hostWrites = false;
  bool deviceReads = false, deviceWrites = false;
  /// Whether the device writes only part of the buffer.
  bool devicePartly = false;

  bool onHost() const { return hostReads || hostWrites; }
  bool onDevice() const { return deviceReads || deviceWrites; }
  bool writes() const { return hostWrites || deviceWrites; }
  Access &operator|=(const Access &other);
};

/// All uses of one buffer and of the memrefs that may be views of it.
class BufferUses {
public:
  BufferUses(mlir::Value root, const BufferFlow &flow);

  /// Returns whether only views of `root` access its memory: it is a new
  /// allocation, a function argument, or a constant global.
  static bool haveOneName(mlir::Value root, const BufferFlow &flow);

  /// Returns whether all uses are known: only values of the flow access the
  /// buffer, and only in the block that defines it and in regions of that
  /// block's ops, or in all blocks of the region if it is defined in the entry
  /// block.
  bool areKnown() const { return known; }
  /// Returns whether the function returns the buffer.
  bool areReturned() const { return returned; }
  /// Returns whether blocks other than that of the buffer use it.
  bool areSpread() const { return spread; }
  /// Returns the effects of `op`, with the ops in its regions, on the buffer.
  Access of(mlir::Operation *op) const { return accesses.lookup(op); }
  /// Returns the effects of all ops together.
  const Access &total() const { return sum; }
  /// Returns the ops that free the buffer.
  llvm::ArrayRef<mlir::Operation *> frees() const { return deallocs; }
  mlir::Value getRoot() const { return root; }
  /// Returns whether this function allocates the buffer, which then has no
  /// contents initially.
  bool areOfNew() const;
  /// Returns whether the buffer is not used after its block ends.
  bool areOfOwned() const { return owned; }

private:
  void visit(mlir::OpOperand &use, const BufferFlow &flow);
  void note(mlir::Operation *op, const Access &access);
  bool mayFree(mlir::Operation *free) const;

  mlir::Value root;
  mlir::Block *home;
  bool owned, known, returned = false, spread = false;
  Access sum;
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  llvm::SmallVector<mlir::Operation *, 1> deallocs;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H

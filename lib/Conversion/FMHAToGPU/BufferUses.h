//===- BufferUses.h - Who reads and writes a buffer, and where --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H

#include "BufferFlow.h"

namespace fmha {

/// Returns whether `op` runs on the device: fmha.attention and fmha.merge.
bool isKernelOp(mlir::Operation *op);

/// Returns the ranked memref that the op of `memref` makes a view of, null if
/// it is no such op.
mlir::Value viewSource(mlir::Value memref);

/// Returns the value that `memref` is a view of, through all views.
mlir::Value rootOf(mlir::Value memref);

/// What an op, and all ops in it, do to one buffer.
struct Access {
  bool hostReads = false, hostWrites = false;
  bool deviceReads = false, deviceWrites = false;
  /// The device writes only part of the buffer.
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

  /// Returns whether `root` is memory that only its views reach: a new
  /// allocation, an argument of a function, or a global that nothing writes.
  static bool haveOneName(mlir::Value root, const BufferFlow &flow);

  /// Returns whether every use is known: the buffer is reached by no other
  /// values than those of the flow, and only in the block that defines it and
  /// in regions of that block's ops; or in all blocks of its region, if it is
  /// defined in the first one.
  bool areKnown() const { return known; }
  /// Returns whether the function returns the buffer.
  bool areReturned() const { return returned; }
  /// Returns whether blocks other than that of the buffer use it.
  bool areSpread() const { return spread; }
  /// Returns what `op` does to the buffer, with the ops in its regions.
  Access of(mlir::Operation *op) const { return accesses.lookup(op); }
  /// Returns the sum over all ops.
  const Access &total() const { return sum; }
  /// Returns the ops that free it.
  llvm::ArrayRef<mlir::Operation *> frees() const { return deallocs; }
  mlir::Value getRoot() const { return root; }
  /// Returns whether this function allocates the buffer: it has no contents at
  /// first.
  bool areOfNew() const;
  /// Returns whether the buffer is gone when its block ends.
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

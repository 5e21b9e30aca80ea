//===- BufferUses.h - Who reads and writes a buffer, and where --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace fmha {

/// Returns whether `op` runs on the device: fmha.attention and fmha.merge.
bool isKernelOp(mlir::Operation *op);

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

/// All uses of one buffer and of its views.
class BufferUses {
public:
  explicit BufferUses(mlir::Value root);

  /// Whether every use is known: the buffer is reached by no other value than
  /// its views, and only in the block that defines it and in regions of that
  /// block's ops.
  bool areKnown() const { return known; }
  /// Whether the function returns the buffer.
  bool areReturned() const { return returned; }
  /// What `op` does to the buffer, with the ops in its regions.
  Access of(mlir::Operation *op) const { return accesses.lookup(op); }
  /// Sum over all ops.
  const Access &total() const { return sum; }
  /// The ops that free it.
  llvm::ArrayRef<mlir::Operation *> frees() const { return deallocs; }

private:
  void visit(mlir::OpOperand &use);
  void note(mlir::Operation *op, const Access &access);

  mlir::Value root;
  mlir::Block *home;
  bool known, returned = false;
  Access sum;
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  llvm::SmallVector<mlir::Operation *, 1> deallocs;
  llvm::SmallVector<mlir::Value> pending;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERUSES_H

//===- BufferFlow.h - Which buffers a memref may be a view of ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERFLOW_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERFLOW_H

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace fmha {

/// Results of functions that are new allocations in every call: memory that no
/// other value of the caller is a view of.
class NewResults {
public:
  /// Knows nothing about any function.
  NewResults() = default;
  /// Reads the bodies of the functions in `module`. Results of declarations are
  /// unknown.
  explicit NewResults(mlir::ModuleOp module);

  /// Returns whether `value` is the result of a call that returns a new
  /// allocation.
  bool contains(mlir::Value value) const;

private:
  llvm::MapVector<mlir::Operation *, llvm::BitVector> results;
};

/// The buffers of a function and their views, through views, calls, branches
/// and results of structured control flow.
class BufferFlow {
public:
  BufferFlow(mlir::Operation *function, const NewResults &newResults);

  /// Returns the buffers that `memref` may be a view of: allocations, arguments
  /// of the function, results of calls and of other ops.
  llvm::ArrayRef<mlir::Value> originsOf(mlir::Value memref) const;
  /// Returns `origin` and all memrefs that may be views of it.
  llvm::ArrayRef<mlir::Value> viewsOf(mlir::Value origin) const;
  /// Returns whether `use` only makes other memrefs views of its memref.
  bool isPassedOn(mlir::OpOperand &use) const;
  /// Returns whether `origin` is the result of a call that returns a new
  /// allocation.
  bool isNewResult(mlir::Value origin) const { return isNew.contains(origin); }

private:
  mlir::BufferViewFlowAnalysis analysis;
  llvm::DenseSet<mlir::Value> isNew;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> origins, views;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERFLOW_H

//===- BufferFlow.h - Which buffers a memref may be a view of ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERFLOW_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERFLOW_H

#include "FunctionSummaries.h"

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"

namespace fmha {

/// Maps the buffers of a function to their views and back, through view-like
/// ops, calls, branches and results of structured control flow. `callees` must
/// outlive it.
class BufferFlow {
public:
  BufferFlow(mlir::Operation *function, const FunctionSummaries &callees);

  /// Returns the buffers that `memref` may be a view of: allocations, function
  /// arguments, and results of calls and other ops.
  llvm::ArrayRef<mlir::Value> originsOf(mlir::Value memref) const;
  /// Returns `origin` and all memrefs that may be views of it.
  llvm::ArrayRef<mlir::Value> viewsOf(mlir::Value origin) const;
  /// Returns whether the only effect of `use` is that other memrefs become
  /// views of its memref.
  bool isPassedOn(mlir::OpOperand &use) const;
  /// Returns whether `origin` is the result of a call that returns a new
  /// allocation.
  bool isNewResult(mlir::Value origin) const {
    return callees.isNewResult(origin);
  }
  /// Returns whether the call that `use` belongs to may keep the memref.
  bool isKept(mlir::OpOperand &use) const { return callees.keeps(use); }
  /// Returns whether the call that `use` belongs to may write the memref.
  bool isWritten(mlir::OpOperand &use) const { return callees.writes(use); }
  /// Returns whether `origin` is an argument that overlaps other memory of the
  /// function.
  bool overlaps(mlir::Value origin) const {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(origin);
    return argument && callees.overlaps(argument);
  }
  /// Returns whether the function uses memory other than its arguments, its own
  /// allocations and constants.
  bool usesOtherMemory() const;

private:
  using Views = mlir::BufferViewFlowAnalysis::ValueMapT;

  void addDependents(const mlir::BufferViewFlowAnalysis &analysis,
                     llvm::ArrayRef<mlir::Value> memrefs);
  llvm::SmallVector<mlir::Value, 1> reachedFrom(mlir::Value origin) const;

  /// The memrefs that an op creates as views of a memref.
  Views dependents;
  const FunctionSummaries &callees;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> origins, views;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_BUFFERFLOW_H

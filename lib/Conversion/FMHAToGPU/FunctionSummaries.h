//===- FunctionSummaries.h - Effects of functions on buffers ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOGPU_FUNCTIONSUMMARIES_H
#define FMHA_LIB_CONVERSION_FMHATOGPU_FUNCTIONSUMMARIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace fmha {

/// The effects of a function's body on its arguments and results.
struct FunctionSummary {
  explicit FunctionSummary(mlir::func::FuncOp function);
  bool operator==(const FunctionSummary &other) const;

  /// Results that are a new allocation in each call: no other value of the
  /// caller is a view of them.
  llvm::BitVector newResults;
  /// Arguments that other values than the caller's may be views of later.
  llvm::BitVector keptArguments;
  /// Arguments that are written.
  llvm::BitVector writtenArguments;
  /// Whether it uses memory other than its arguments and its own allocations.
  bool usesOtherMemory = true;
  /// Arguments that overlap other memory which the function uses, according to
  /// the calls in the module.
  llvm::BitVector overlappingArguments;
};

/// The summaries of the functions of a module. Declarations and indirect calls
/// have none.
class FunctionSummaries {
public:
  /// Has no summaries, so that all calls are unknown.
  FunctionSummaries() = default;
  /// Analyzes the bodies of the functions in `module`.
  explicit FunctionSummaries(mlir::ModuleOp module);

  /// Returns whether `value` is the result of a call that returns a new
  /// allocation.
  bool isNewResult(mlir::Value value) const;
  /// Returns whether the call that `use` belongs to may keep the memref.
  /// Functions that the module only declares are assumed to keep nothing.
  bool keeps(mlir::OpOperand &use) const;
  /// Returns whether the call that `use` belongs to may write the memref.
  bool writes(mlir::OpOperand &use) const;
  /// Returns whether the function argument `argument` overlaps other memory
  /// that the function uses.
  bool overlaps(mlir::BlockArgument argument) const;

private:
  const FunctionSummary *ofCallee(mlir::Operation *call) const;
  FunctionSummary summarize(mlir::func::FuncOp function) const;
  bool markOverlaps(mlir::func::FuncOp caller);

  mlir::ModuleOp module;
  llvm::MapVector<mlir::StringRef, FunctionSummary> summaries;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOGPU_FUNCTIONSUMMARIES_H

//===- Views.h - Views in the order of fmha.attention -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_RAISE_VIEWS_H
#define FMHA_LIB_CONVERSION_RAISE_VIEWS_H

#include "AttentionForm.h"

namespace fmha::raise {

/// Returns whether `op` is the op of torch_c with that name, from one value to
/// another.
bool isConversion(mlir::Operation *op, llvm::StringRef name);

/// Returns `value` if it is a ranked tensor, else its conversion to `type` by
/// torch_c.to_builtin_tensor.
mlir::Value asTensor(mlir::OpBuilder &b, mlir::Location location,
                     mlir::Value value, mlir::RankedTensorType type);

/// Returns `tensor`, with the dimensions of `view`, as [batch, length, heads,
/// head dim].
mlir::Value toLogical(mlir::OpBuilder &b, mlir::Location location,
                      mlir::Value tensor, const TensorView &view);

/// An empty destination, as fmha.attention indexes it.
struct Destination {
  mlir::Value logical;
  /// The order of its dimensions in memory.
  llvm::SmallVector<int64_t> order;
};

/// Returns a destination for the output of `form`, stored in its order.
Destination makeDestination(mlir::OpBuilder &b, mlir::Location location,
                            const AttentionForm &form, mlir::Value query,
                            mlir::Value value, mlir::Type element);

/// Returns `result`, which was written to `destination`, with the dimensions of
/// the form's output.
mlir::Value fromLogical(mlir::OpBuilder &b, mlir::Location location,
                        mlir::Value result, const Destination &destination,
                        const AttentionForm &form);

} // namespace fmha::raise

#endif // FMHA_LIB_CONVERSION_RAISE_VIEWS_H

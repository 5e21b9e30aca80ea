//===- LinalgSteps.h - Building blocks of decompositions --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_LINALGSTEPS_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_LINALGSTEPS_H

#include "mlir/IR/Builders.h"

namespace fmha {

/// Positions of loops, as a map from a generic's loops to an operand's indices.
using Indices = llvm::SmallVector<unsigned, 5>;
/// An operand of a generic.
using Access = std::pair<mlir::Value, Indices>;
/// Computes the element of a generic from those of its inputs and destination.
using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                            mlir::ValueRange)>;

/// Returns the contents of a memref as a tensor; other values are unchanged.
mlir::Value tensorOf(mlir::OpBuilder &b, mlir::Location location,
                     mlir::Value operand);
/// Returns a tensor of these sizes filled with `element`.
mlir::Value filledTensor(mlir::OpBuilder &b, mlir::Location location,
                         mlir::Value element,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes);
/// Builds a linalg.generic over `parallelLoops`, then `reductionLoops`.
mlir::Value genericOver(mlir::OpBuilder &b, mlir::Location location,
                        unsigned parallelLoops, unsigned reductionLoops,
                        llvm::ArrayRef<Access> inputs,
                        const Access &destination, Body body);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_LINALGSTEPS_H

//===- MathFunctions.h - Functions in terms of others -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_MATHFUNCTIONS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_MATHFUNCTIONS_H

#include "mlir/IR/Operation.h"

namespace fmha::tile {

/// Expresses `op`, a function on f32 of the math dialect, by others if
/// upstream's expansion fails for some arguments. Returns the result, or null
/// if `op` may stay.
mlir::Value rewriteFunction(mlir::Operation *op);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_MATHFUNCTIONS_H

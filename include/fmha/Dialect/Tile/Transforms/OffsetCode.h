//===- OffsetCode.h - Code for the offset of an index -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_OFFSETCODE_H
#define FMHA_DIALECT_TILE_TRANSFORMS_OFFSETCODE_H

#include "fmha/Layout/Algebra/Swizzle.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha::tile {

/// Emits the offset of `index` in `layout`, i32. The index is an i32 below the
/// size. Powers of two become shifts and masks, a constant index a constant:
///
///   (4,8,4):(0,1,16)   t >> 1 & 0x30 | t >> 2 & 7
///   (6,4):(5,1)        t / 6 + t % 6 * 5
mlir::Value offsetOf(mlir::ImplicitLocOpBuilder &b,
                     const layout::algebra::Layout &layout, mlir::Value index);
/// Emits the same with the offset and the swizzle of `layout`. The sum of the
/// offsets must be at least 0.
mlir::Value offsetOf(mlir::ImplicitLocOpBuilder &b,
                     const layout::algebra::ComposedLayout &layout,
                     mlir::Value index);

} // namespace fmha::tile

#endif // FMHA_DIALECT_TILE_TRANSFORMS_OFFSETCODE_H

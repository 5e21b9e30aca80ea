//===- Passes.h - Passes between the levels of the tile dialect -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_PASSES_H
#define FMHA_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpu {
class GPUFuncOp;
}

namespace fmha::tile {

#define GEN_PASS_DECL
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace fmha::tile

#endif // FMHA_DIALECT_TILE_TRANSFORMS_PASSES_H

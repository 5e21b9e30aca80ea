//===- TilePass.td - The base of the passes of the tile dialect -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_TRANSFORMS_TILEPASS_TD
#define FMHA_DIALECT_TILE_TRANSFORMS_TILEPASS_TD

include "mlir/Pass/PassBase.td"

class Tile_Pass<string flag, list<string> moreDialects = []> : Pass<flag, "::mlir::gpu::GPUFuncOp"> {
  let dependentDialects = !listconcat([
    "::fmha::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::gpu::GPUDialect"
  ], moreDialects);
}

#endif // FMHA_DIALECT_TILE_TRANSFORMS_TILEPASS_TD

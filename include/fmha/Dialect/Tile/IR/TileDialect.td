//===- TileDialect.td - How attention is computed ----------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_TILEDIALECT_TD
#define FMHA_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fmha::tile";
  let summary = "Attention on tiles, from tile values to machine instructions";
  let description = [{
    The dialect has four levels. The ops of each level remain valid at the next one:

    | level | what is added |
    | --- | --- |
    | tiled | `view`, ops on tile values: `load`, `dot`, `mask`, `row_max`, `exp2`, `row_sum`, `cast`, `rescale`, `normalize`, `store` |
    | placed | every tile type names its place (`#tile.smem`, `#tile.tmem`, `#tile.registers`), `move` changes it |
    | specialised | `warp_specialize`, `role`, `channel` with `acquire`, `publish`, `receive`, `release` |
    | machine | `wait`, `arrive`, `tma_load`, `tma_gather`, `mma`, `commit`, `tmem_load`, `tmem_store`, …: one op, one instruction |

    A tile is a value of static shape. A tile of rank 2 has rows x columns; a tile of rank 1 has one element per row.

    The dialect has discardable attributes: `tile.region`, `tile.partition`, `tile.layout` and `tile.copies` on ops of the
    dialect, `tile.mma` on `tile.dot`, and `tile.kernel` on a function. `#tile.region`, `#tile.partition`, `#tile.kernel` and
    `#tile.tiled_mma` describe them. `tile.layout` is the layout of an op's result in its place, `#tile.layout` or
    `#tile.thread_values`; `tile.copies` lists the copies (`#tile.tiled_copy`) of its operands or its result between shared
    memory and fragments. Other attributes with the prefix `tile.` are errors.
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTileTypes();
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::scf::SCFDialect", "::mlir::gpu::GPUDialect"
  ];
}

#endif // FMHA_DIALECT_TILE_IR_TILEDIALECT_TD

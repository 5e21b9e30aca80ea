//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_TILE_IR_TILE_H
#define FMHA_DIALECT_TILE_IR_TILE_H

#include "fmha/Dialect/Tile/IR/SyncEffects.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

/// Values of attributes. Code that reads one includes its header.
namespace fmha::layout::algebra {
struct ComposedLayout;
struct ThreadValue;
class TiledCopy;
class TiledMma;
} // namespace fmha::layout::algebra

namespace fmha::tile {
/// Dynamic shared memory that a CTA can have on any target: 227 KiB.
constexpr int64_t sharedMemoryBytes = 232448;

/// The operands of a tile.view besides its source; null if they are absent.
struct ViewPlace {
  mlir::Value batch, head, count, kvHead, member, column, start, length;
  mlir::Value other, second;
  mlir::Value pages, entry;
  mlir::Value list, first, bound;
};
} // namespace fmha::tile

#include "fmha/Dialect/Tile/IR/TileDialect.h.inc"
#include "fmha/Dialect/Tile/IR/TileEnums.h.inc"

#include "fmha/Dialect/Tile/IR/TileAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fmha/Dialect/Tile/IR/TileTypes.h.inc"

#include "fmha/Dialect/Tile/IR/TileInterfaces.h.inc"

#define GET_OP_CLASSES
#include "fmha/Dialect/Tile/IR/TileOps.h.inc"

#endif // FMHA_DIALECT_TILE_IR_TILE_H

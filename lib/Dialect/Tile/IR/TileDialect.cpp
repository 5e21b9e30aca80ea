//===- TileDialect.cpp - The tile dialect -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/DiscardableAttributes.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha::tile;

#include "fmha/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "fmha/Dialect/Tile/IR/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fmha/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  registerTileTypes();
  addOperations<
#define GET_OP_LIST
#include "fmha/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

/// As many query tiles as a schedule can have.
static constexpr int64_t mostQueryTiles = 3;

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  std::string quoted = '"' + name.str() + '"';
  if (name != "tile.q_tile")
    return op->emitError() << "unknown attribute " << quoted
                           << " of the prefix tile.: expected tile.q_tile";
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!number || !number.getType().isSignlessInteger(32) ||
      number.getInt() < 0 || number.getInt() >= mostQueryTiles)
    return op->emitError() << quoted << ": expected an i32 from 0 to "
                           << mostQueryTiles - 1 << ", the query tile, got "
                           << attribute.getValue();
  if (op->getDialect() != this)
    return op->emitError() << quoted << ": expected it on an op of the tile "
                           << "dialect, got it on " << op->getName();
  return success();
}

LogicalResult TileDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned,
                                                    NamedAttribute attribute) {
  return refuseAttribute(op, attribute, "an argument");
}

LogicalResult
TileDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                         NamedAttribute attribute) {
  return refuseAttribute(op, attribute, "a result");
}

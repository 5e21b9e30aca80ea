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

LogicalResult
PartitionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringRef role, unsigned stage, unsigned) {
  if (role.empty())
    return emitError() << "expected the name of a role";
  if (stage > 1)
    return emitError() << "expected stage 0 or 1, got " << stage;
  return success();
}

/// As many query tiles as a schedule can have.
static constexpr int64_t mostQueryTiles = 3;

static LogicalResult verifyQueryTile(Operation *op, Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  if (number && number.getType().isSignlessInteger(32) &&
      number.getInt() >= 0 && number.getInt() < mostQueryTiles)
    return success();
  return op->emitError() << "\"tile.q_tile\": expected an i32 from 0 to "
                         << mostQueryTiles - 1 << ", the query tile, got "
                         << value;
}

static LogicalResult verifyPartition(Operation *op, Attribute value) {
  if (isa<PartitionAttr>(value))
    return success();
  return op->emitError()
         << "\"tile.partition\": expected a #tile.partition, got " << value;
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  std::string quoted = '"' + name.str() + '"';
  if (name != "tile.q_tile" && name != "tile.partition")
    return op->emitError() << "unknown attribute " << quoted
                           << " of the prefix tile.: expected tile.q_tile or "
                              "tile.partition";
  if (failed(name == "tile.q_tile" ? verifyQueryTile(op, attribute.getValue())
                                   : verifyPartition(op, attribute.getValue())))
    return failure();
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

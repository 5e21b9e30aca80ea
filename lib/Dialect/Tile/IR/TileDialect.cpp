//===- TileDialect.cpp - The tile dialect -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutValues.h"
#include "fmha/Dialect/DiscardableAttributes.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/Tmem.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using fmha::layout::algebra::TiledMma;

#include "fmha/Dialect/Tile/IR/TileAttrInterfaces.cpp.inc"
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

LogicalResult RegionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, unsigned column,
                                 StringRef rows) {
  constexpr unsigned step = 16;
  if (name.empty() && rows.empty())
    return emitError() << "expected the name of a region, or one for rows";
  if (column % step)
    return emitError() << "expected a column that is a multiple of " << step
                       << ", got " << column;
  return success();
}

LogicalResult ExtentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, Attribute place,
                                 unsigned size) {
  if (name.empty())
    return emitError() << "expected the name of a region";
  if (!isa<SmemAttr, TmemAttr>(place))
    return emitError() << "expected #tile.smem or #tile.tmem, got " << place;
  if (!size)
    return emitError() << "expected a positive size, got 0";
  auto tmem = dyn_cast<TmemAttr>(place);
  if (!tmem)
    return success();
  // A region has the rules of a tile that fills it.
  return TileType::verify(emitError, {fmha::layout::tmemLanes, int64_t(size)},
                          Float32Type::get(place.getContext()),
                          TmemAttr::get(place.getContext(), tmem.getColumn(),
                                        /*lane=*/0, tmem.getStages(),
                                        tmem.getPitch(), /*half=*/0));
}

LogicalResult KernelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef target, ArrayAttr memory,
                                 DenseI32ArrayAttr, DenseBoolArrayAttr,
                                 ArrayAttr roles) {
  const target::Target *gpu = target::findTarget(target);
  if (!gpu || !gpu->supported)
    return emitError() << "expected a target that kernels can be compiled for, "
                          "one of "
                       << target::supportedNames() << ", got \"" << target
                       << "\"";
  for (Attribute extent : memory ? memory.getValue() : ArrayRef<Attribute>())
    if (!isa<ExtentAttr>(extent))
      return emitError() << "expected #tile.extent in the memory map, got "
                         << extent;
  return success();
}

/// Checks that an op has one result, a placed tile of rank 2 with this layout.
static LogicalResult verifyLayout(Operation *op, Attribute layout) {
  auto tile = op->getNumResults() == 1
                  ? dyn_cast<TileType>(op->getResult(0).getType())
                  : TileType();
  Attribute expected = tile ? tile.getLayout() : Attribute();
  if (!expected)
    return op->emitError() << "\"tile.layout\": expected it on an op with one "
                              "result, a placed tile of rank 2";
  if (layout != expected)
    return op->emitError() << "\"tile.layout\": expected the layout of " << tile
                           << ", " << expected << ", got " << layout;
  return success();
}

/// Checks that an op multiplies, by an instruction for its elements whose tile
/// divides it.
static LogicalResult verifyMma(Operation *op, Attribute value) {
  auto dot = dyn_cast<DotOp>(op);
  if (!dot)
    return op->emitError() << "\"tile.mma\": expected it on tile.dot, got it "
                              "on "
                           << op->getName();
  const TiledMma &mma = cast<TiledMmaAttr>(value).getValue();
  std::string types =
      dot.getA().getType().getElementType().isF16() ? "_f32_f16" : "_f32_bf16";
  if (mma.atom().name.find(types) == std::string::npos)
    return op->emitError() << "\"tile.mma\": expected an instruction of "
                              "types "
                           << StringRef(types).drop_front() << ", got "
                           << mma.atom().name;
  TileType d = dot.getType(), a = dot.getA().getType();
  // The last part of N may be smaller.
  if (d.getRows() % mma.tileSize(0) || d.getColumns() < mma.tileSize(1) ||
      a.getColumns() % mma.tileSize(2))
    return op->emitError()
           << "\"tile.mma\": expected a tile that fits into the product of "
           << d.getRows() << " x " << d.getColumns() << " x " << a.getColumns()
           << " (M, N, K), got " << mma.tileSize(0) << " x " << mma.tileSize(1)
           << " x " << mma.tileSize(2);
  return success();
}

static bool isArrayOfCopies(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, llvm::IsaPred<TiledCopyAttr>);
}

namespace {
/// A discardable attribute of the dialect, and the ops that may have it.
struct Mark {
  StringLiteral name;
  bool (*isOfType)(Attribute);
  StringLiteral type;
  bool onFunctions;
  /// Checks what the value says of its op, if not null.
  LogicalResult (*verify)(Operation *op, Attribute value) = nullptr;
};
constexpr Mark marks[] = {
    {"tile.region", [](Attribute a) { return isa<RegionAttr>(a); },
     "#tile.region", false},
    {"tile.partition", [](Attribute a) { return isa<PartitionAttr>(a); },
     "#tile.partition", false},
    {"tile.layout",
     [](Attribute a) { return isa<LayoutAttr, ThreadValuesAttr>(a); },
     "#tile.layout or #tile.thread_values", false, verifyLayout},
    {"tile.mma", [](Attribute a) { return isa<TiledMmaAttr>(a); },
     "#tile.tiled_mma", false, verifyMma},
    {"tile.copies", isArrayOfCopies, "an array of #tile.tiled_copy", false},
    {"tile.kernel", [](Attribute a) { return isa<KernelAttr>(a); },
     "#tile.kernel", true},
    {"tile.operands", [](Attribute a) { return isa<ArrayAttr>(a); },
     "an array of types", true}};
} // namespace

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const Mark *mark = llvm::find_if(
      marks, [&](const Mark &known) { return known.name == name; });
  if (mark == std::end(marks))
    return op->emitError() << "unknown attribute \"" << name
                           << "\" of the prefix tile.: expected tile.region, "
                              "tile.partition, tile.layout, tile.mma, "
                              "tile.copies or tile.kernel";
  if (!mark->isOfType(attribute.getValue()))
    return op->emitError() << '"' << name << "\": expected " << mark->type
                           << ", got " << attribute.getValue();
  if (mark->onFunctions ? isa<FunctionOpInterface>(op)
                        : op->getDialect() == this)
    return mark->verify ? mark->verify(op, attribute.getValue()) : success();
  return op->emitError() << '"' << name << "\": expected it on "
                         << (mark->onFunctions ? "a function"
                                               : "an op of the tile dialect")
                         << ", got it on " << op->getName();
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

//===- TileTypes.cpp - Tiles and the places they may have -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Layout/Tmem.h"
#include "fmha/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha::tile;

#define GET_TYPEDEF_CLASSES
#include "fmha/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTileTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "fmha/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// TileType
//===----------------------------------------------------------------------===//

// 128x128xf32, #tile.tmem<column = 0>
Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  Attribute place;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType))
    return {};
  bool hasPlace = succeeded(parser.parseOptionalComma());
  SMLoc at = parser.getCurrentLocation();
  if ((hasPlace && parser.parseAttribute(place)) || parser.parseGreater())
    return {};
  if (auto layout = dyn_cast_or_null<ThreadValuesAttr>(place)) {
    place = layout.findPlace([&] { return parser.emitError(at); }, shape,
                             elementType);
    if (!place)
      return {};
  }
  return parser.getChecked<TileType>(parser.getContext(), shape, elementType,
                                     place);
}

void TileType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType();
  if (getPlace())
    printer << ", " << getPlace();
  printer << '>';
}

static bool isElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

/// Returns whether views may have elements of `type`. Tiles have none of 8
/// bits, since loads convert them.
static bool isElementOfView(Type type) {
  return isElement(type) || isa<Float8E4M3FNType>(type);
}

using EmitError = function_ref<InFlightDiagnostic()>;

/// Columns of one 128-byte swizzle panel of 16-bit elements.
static constexpr int64_t panelColumns = fmha::layout::PanelTile::panelColumns;

/// Threads of a warpgroup, over which the rows of a tile are distributed.
static constexpr int64_t threadsPerGroup = fmha::target::warpgroupThreads;

/// More than any on-chip memory holds, and small enough that the number of
/// bytes does not overflow.
static constexpr int64_t largestExtent = 1 << 20;

/// Returns the number of 32-bit columns that a tile takes in tensor memory.
static int64_t tmemColumns(ArrayRef<int64_t> shape, Type elementType,
                           TmemAttr tmem) {
  int64_t columns = shape.size() == 2 ? shape[1] : 1;
  int64_t halves = tmem && tmem.getHalf() ? 2 : 1;
  return columns * elementType.getIntOrFloatBitWidth() / 32 / halves;
}

/// Returns the bytes of a tile in shared memory: of whole panels, or, if it has
/// rank 1, of one element for each thread.
static int64_t smemBytes(ArrayRef<int64_t> shape, Type elementType) {
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  if (shape.size() == 1)
    return llvm::alignTo(shape[0], threadsPerGroup) * bytes;
  bool inPanels = bytes == 2;
  for (int64_t extent : shape.drop_back())
    bytes *= extent;
  return bytes *
         (inPanels ? llvm::alignTo(shape.back(), panelColumns) : shape.back());
}

/// Checks that a tile begins with a panel, or lies inside one.
static LogicalResult verifySmemOffset(EmitError emitError,
                                      ArrayRef<int64_t> shape, unsigned offset,
                                      unsigned alignment) {
  int64_t inside = offset % alignment, column = inside / 2;
  if (inside == 0 || (shape.size() == 2 && inside % 32 == 0 &&
                      column + shape[1] <= panelColumns))
    return success();
  return emitError() << "#tile.smem offset of a rank-" << shape.size()
                     << " tile must be a multiple of " << alignment << ", got "
                     << offset;
}

static LogicalResult verifySmem(EmitError emitError, ArrayRef<int64_t> shape,
                                Type elementType, SmemAttr smem) {
  unsigned alignment = shape.size() == 2 ? 1024 : 4;
  if (smem.getStages() == 0)
    return emitError() << "#tile.smem needs at least 1 stage, got 0";
  int64_t bytes = smemBytes(shape, elementType), pitch = smem.getPitch();
  if (pitch != 0 && (pitch < bytes || pitch % alignment != 0))
    return emitError()
           << "expected the pitch of #tile.smem to be a multiple of "
           << alignment << " and at least the " << bytes
           << " bytes of the tile, got " << pitch;
  // No product overflows: a tile has at most 2^40 elements, and too many stages
  // are an error before they are multiplied.
  int64_t begin = smem.getOffset() / alignment * alignment;
  // The last stage may end before its pitch does.
  int64_t left = sharedMemoryBytes - begin - bytes;
  int64_t most = left < 0 ? 0 : left / (pitch ? pitch : bytes) + 1;
  if (int64_t(smem.getStages()) > most)
    return emitError() << "expected a tile inside the " << sharedMemoryBytes
                       << " bytes of shared memory, got " << smem.getStages()
                       << " stages of " << (pitch ? pitch : bytes)
                       << " bytes at offset " << smem.getOffset();
  return verifySmemOffset(emitError, shape, smem.getOffset(), alignment);
}

/// Checks `slices`: in tiles of 64 rows two threads have the halves of each
/// slice; in others a thread has a whole row, and there are no slices.
static LogicalResult verifyRegisters(EmitError emitError,
                                     ArrayRef<int64_t> shape,
                                     RegistersAttr place) {
  int64_t slices = place.getSlices(), half = place.getHalf();
  bool isPair = half == fmha::layout::tmemPairLanes && shape[0] == half &&
                slices == 1 && (shape.size() == 1 || shape[1] % 2 == 0);
  if (half != fmha::layout::tmemHalfLanes && !isPair)
    return emitError() << "expected half of #tile.registers to be "
                       << fmha::layout::tmemHalfLanes << ", or "
                       << fmha::layout::tmemPairLanes
                       << " in 1 slice of 64 rows and an even number of "
                          "columns, got "
                       << half;
  if (slices == 1 || (slices != 0 && shape.size() == 2 && shape[0] == 64 &&
                      shape[1] % (2 * slices) == 0))
    return success();
  return emitError() << "expected #tile.registers with 1 slice, or in a rank-2 "
                        "tile of 64 rows with slices of even width, got "
                     << slices << " slices of " << shape.back() << " columns";
}

static LogicalResult verifyFragment(EmitError emitError,
                                    ArrayRef<int64_t> shape) {
  constexpr int64_t rows = 64, step = 8;
  bool isWhole = shape[0] == rows || shape[0] == 2 * rows;
  if (isWhole && (shape.size() == 1 || shape[1] % step == 0))
    return success();
  return emitError()
         << "expected #tile.fragment in a tile of 64 rows, as wgmma "
            "has its accumulator, or 128, and a multiple of 8 "
            "columns, got "
         << shape[0] << " rows"
         << (shape.size() == 2 ? " of " + std::to_string(shape[1]) + " columns"
                               : "");
}

static LogicalResult verifyTmem(EmitError emitError, ArrayRef<int64_t> shape,
                                Type elementType, TmemAttr tmem) {
  constexpr int64_t allColumns = fmha::layout::tmemColumns;
  if (shape[0] > fmha::layout::tmemLanes)
    return emitError() << "tensor memory has " << fmha::layout::tmemLanes
                       << " lanes, one a row, but the tile has " << shape[0]
                       << " rows";
  if (tmem.getLane() && (tmem.getLane() != 16 || shape[0] != 64))
    return emitError() << "expected #tile.tmem to begin at lane 0, or 16 for "
                          "64 rows, got lane "
                       << tmem.getLane() << " for " << shape[0] << " rows";
  constexpr unsigned distance = fmha::layout::tmemPairLanes;
  if (tmem.getHalf() && (tmem.getHalf() != distance || shape[0] != distance ||
                         tmem.getLane() || shape.size() != 2 || shape[1] % 2))
    return emitError() << "expected half of #tile.tmem to be 0, or " << distance
                       << " for 64 rows and an even number of columns from "
                          "lane 0 on, got "
                       << tmem.getHalf();
  if (tmem.getStages() < 1 || tmem.getStages() > allColumns)
    return emitError() << "expected 1 to " << allColumns
                       << " stages of #tile.tmem, got " << tmem.getStages();
  int64_t columns = tmemColumns(shape, elementType, tmem),
          pitch = tmem.getPitch();
  if (pitch && pitch < columns)
    return emitError() << "expected the pitch of #tile.tmem to be at least the "
                       << columns << " columns of the tile, got " << pitch;
  int64_t end = tmem.getColumn() + columns +
                (tmem.getStages() - 1) * (pitch ? pitch : columns);
  if (end > allColumns && tmem.getStages() > 1)
    return emitError() << "expected the last of " << tmem.getStages()
                       << " stages to end at column " << allColumns
                       << " or before, got " << end;
  if (end > allColumns)
    return emitError() << "tensor memory has " << allColumns
                       << " columns, but the tile ends at column " << end;
  return success();
}

static LogicalResult verifyPlace(EmitError emitError, ArrayRef<int64_t> shape,
                                 Type elementType, Attribute place) {
  if (auto smem = dyn_cast<SmemAttr>(place))
    return verifySmem(emitError, shape, elementType, smem);
  if (auto tmem = dyn_cast<TmemAttr>(place))
    return verifyTmem(emitError, shape, elementType, tmem);
  if (auto registers = dyn_cast<RegistersAttr>(place))
    return verifyRegisters(emitError, shape, registers);
  if (isa<FragmentAttr>(place))
    return verifyFragment(emitError, shape);
  return emitError() << "expected #tile.smem, #tile.tmem, #tile.registers or "
                        "#tile.fragment as the place of a tile, got "
                     << place;
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType,
                               Attribute place) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "a tile has rank 1 or 2, got rank " << shape.size();
  for (int64_t extent : shape)
    if (extent < 1 || extent > largestExtent)
      return emitError() << "expected static extents from 1 to "
                         << largestExtent << ", got " << extent;
  if (!isElement(elementType))
    return emitError() << "a tile holds f16, bf16 or f32, got " << elementType;
  return place ? verifyPlace(emitError, shape, elementType, place) : success();
}

int64_t TileType::getBytes() const {
  return smemBytes(getShape(), getElementType());
}

unsigned TileType::getStages() const {
  if (TmemAttr tmem = getTmem())
    return tmem.getStages();
  return getSmem() ? getSmem().getStages() : 1;
}

int64_t TileType::getStagePitch() const {
  if (TmemAttr tmem = getTmem())
    return tmem.getPitch() ? tmem.getPitch() : getTmemColumns();
  SmemAttr smem = getSmem();
  return smem && smem.getPitch() ? smem.getPitch() : getBytes();
}

int64_t TileType::getTmemColumns() const {
  return tmemColumns(getShape(), getElementType(), getTmem());
}

/// The place has the stage pitch of this one.
Attribute TileType::getPlaceOfColumn(int64_t first) const {
  int64_t width = getElementType().getIntOrFloatBitWidth();
  if (TmemAttr tmem = getTmem()) {
    int64_t columns = first * width / 32 / (tmem.getHalf() ? 2 : 1);
    return TmemAttr::get(getContext(), tmem.getColumn() + columns,
                         tmem.getLane(), tmem.getStages(),
                         tmem.getStages() == 1 ? 0 : getStagePitch(),
                         tmem.getHalf());
  }
  if (auto registers = dyn_cast_or_null<RegistersAttr>(getPlace()))
    return RegistersAttr::get(getContext(), /*slices=*/1, registers.getHalf());
  SmemAttr smem = getSmem();
  if (!smem)
    return getPlace();
  int64_t panel = first / panelColumns, inPanel = first % panelColumns;
  int64_t bytes = (panel * getRows() * panelColumns + inPanel) * width / 8;
  return SmemAttr::get(getContext(), smem.getOffset() + bytes, smem.getStages(),
                       smem.getStages() == 1 ? 0 : getStagePitch());
}

TileType TileType::columns(int64_t first, int64_t count) const {
  return get(getContext(), {getRows(), count}, getElementType(),
             getPlaceOfColumn(first));
}

SmemAttr TileType::getSmem() const {
  return dyn_cast_or_null<SmemAttr>(getPlace());
}

TmemAttr TileType::getTmem() const {
  return dyn_cast_or_null<TmemAttr>(getPlace());
}

bool TileType::inRegisters() const {
  return isa_and_nonnull<RegistersAttr>(getPlace());
}

bool TileType::inFragments() const {
  return isa_and_nonnull<FragmentAttr>(getPlace());
}

TileType TileType::withPlace(Attribute place) const {
  return get(getContext(), getShape(), getElementType(), place);
}

TileType TileType::withElementType(Type type) const {
  return get(getContext(), getShape(), type, getPlace());
}

TileType TileType::asRowVector(Type type) const {
  return get(getContext(), getShape().take_front(), type, getPlace());
}

//===----------------------------------------------------------------------===//
// ViewType
//===----------------------------------------------------------------------===//

// ?x128xbf16, heads = 16
Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  uint32_t heads = 1;
  if (parser.parseLess() || parser.parseDimensionList(shape) ||
      parser.parseType(elementType))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("heads") || parser.parseEqual() ||
       parser.parseInteger(heads)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(parser.getContext(), shape, elementType,
                                     heads);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getShape())
    (ShapedType::isDynamic(extent) ? printer << '?' : printer << extent) << 'x';
  printer << getElementType();
  if (isPacked())
    printer << ", heads = " << getHeads();
  printer << '>';
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType,
                               uint32_t heads) {
  if (shape.size() > 2)
    return emitError() << "a view has rank 0 to 2, got rank " << shape.size();
  if (!shape.empty() && !ShapedType::isDynamic(shape.front()))
    return emitError() << "expected ? rows, which are numbers of the run, got "
                       << shape.front();
  if (!isElementOfView(elementType))
    return emitError() << "a view holds f16, bf16, f32 or f8E4M3FN, got "
                       << elementType;
  if (!llvm::isPowerOf2_32(heads))
    return emitError() << "expected a power of two as the number of packed "
                          "heads, got "
                       << heads;
  return success();
}

ViewType ViewType::of(MemRefType memref, uint32_t heads) {
  constexpr int64_t rows = ShapedType::kDynamic;
  if (!isElementOfView(memref.getElementType()))
    return {};
  SmallVector<int64_t> shape;
  switch (memref.getRank()) {
  case 4:
    shape = {rows, memref.getDimSize(3)};
    break;
  case 3:
    shape = {rows};
    break;
  case 1:
    break;
  default:
    return {};
  }
  return get(memref.getContext(), shape, memref.getElementType(), heads);
}

//===----------------------------------------------------------------------===//
// ChannelType
//===----------------------------------------------------------------------===//

unsigned ChannelType::getDepth() const { return getTile().getStages(); }

//===----------------------------------------------------------------------===//
// BarrierType
//===----------------------------------------------------------------------===//

LogicalResult BarrierType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  unsigned count) {
  if (count == 0 || count > sharedMemoryBytes / 8)
    return emitError() << "expected 1 to " << sharedMemoryBytes / 8
                       << " mbarriers, got " << count;
  return success();
}

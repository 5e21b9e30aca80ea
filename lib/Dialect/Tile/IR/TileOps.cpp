//===- TileOps.cpp - Verifiers of the tile ops ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Schedule/Model/Capture.h"
#include "fmha/Schedule/Model/Mask.h"

#include "mlir/IR/Builders.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha::tile;

/// Adds a read for each operand, and a write for each result, that is a tile in
/// shared or tensor memory.
static void addEffectsOfPlaces(
    Operation *op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  auto inMemory = [](Type type) {
    auto tile = dyn_cast<TileType>(type);
    return tile && (tile.getSmem() || tile.getTmem());
  };
  if (llvm::any_of(op->getOperandTypes(), inMemory))
    effects.emplace_back(MemoryEffects::Read::get());
  if (llvm::any_of(op->getResultTypes(), inMemory))
    effects.emplace_back(MemoryEffects::Write::get());
}

#define GET_OP_CLASSES
#include "fmha/Dialect/Tile/IR/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Parts of tiles
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  TileType from = getInput().getType(), to = getType();
  if (from.getElementType() != to.getElementType() ||
      from.getRows() != to.getRows())
    return emitOpError() << "expected " << from.getRows() << " rows of "
                         << from.getElementType() << " as the input has, got "
                         << to;
  if (int64_t(getColumn()) + to.getColumns() > from.getColumns())
    return emitOpError() << "expected columns inside the input's "
                         << from.getColumns() << ", got " << to.getColumns()
                         << " from column " << getColumn();
  if (from.getSmem() && getColumn() % 64 &&
      getColumn() % 64 + to.getColumns() > 64)
    return emitOpError() << "expected a slice that begins at a panel of 64 "
                            "columns or ends in the one that it begins in, got "
                         << to.getColumns() << " columns from column "
                         << getColumn();
  if (auto place = dyn_cast_or_null<RegistersAttr>(from.getPlace());
      place && from.getRows() == 64 &&
      (from.getColumns() != to.getColumns() * place.getSlices() ||
       getColumn() % to.getColumns()))
    return emitOpError() << "expected one of the " << place.getSlices()
                         << " slices that two threads have halves of, "
                         << from.getColumns() / place.getSlices()
                         << " columns, got " << to.getColumns()
                         << " from column " << getColumn();
  // Compares places, not types: the place may be one that no tile can have.
  Attribute expected = from.getPlaceOfColumn(getColumn());
  if (to.getPlace() != expected) {
    InFlightDiagnostic error =
        emitOpError() << "expected the columns where the input has them, ";
    return (expected ? error << expected : error << "without a place")
           << ", got " << to;
  }
  return success();
}

LogicalResult JoinOp::verify() {
  TileType whole = getType();
  if (whole.getPlace() && !whole.inRegisters() && !whole.inFragments())
    return emitOpError() << "expected a tile without a place or in "
                            "#tile.registers, since nothing moves, got "
                         << whole;
  int64_t count = getInputs().size();
  if (count == 0 || whole.getColumns() % count)
    return emitOpError() << "expected tiles of one width that make "
                         << whole.getColumns() << " columns, got " << count;
  TileType expected = whole.columns(0, whole.getColumns() / count);
  for (Type got : getInputs().getTypes())
    if (got != expected)
      return emitOpError() << "expected " << count << " tiles " << expected
                           << ", got " << got;
  auto place = dyn_cast_or_null<RegistersAttr>(whole.getPlace());
  if (place && whole.getRows() == 64 && place.getSlices() != count)
    return emitOpError() << "expected " << place.getSlices()
                         << " tiles, as many as the slices of " << whole
                         << ", got " << count;
  return success();
}

LogicalResult MoveOp::verify() {
  TileType from = getInput().getType(), to = getType();
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return emitOpError() << "changes the place of a tile only, but goes from "
                         << from << " to " << to;
  if (getInto() && getInto().getType() != to)
    return emitOpError() << "expected a slot of the result's type " << to
                         << ", got " << getInto().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult FillOp::verify() {
  Type element = getType().getElementType();
  if (!element.isF32() && !getValue().isZero())
    return emitOpError() << "expected the value 0 in a tile of " << element
                         << ", which needs no rounding, got " << getValueAttr();
  return success();
}

LogicalResult CastOp::verify() {
  Attribute from = getInput().getType().getPlace(), to = getType().getPlace();
  if (from == to)
    return success();
  return emitOpError() << "expected a result in the place of the input, "
                       << from << ", since nothing moves, got " << to;
}

LogicalResult LseOp::verify() {
  if (!getSink() || getSink().getType() == getSum().getType())
    return success();
  return emitOpError() << "expected a sink of the sum's type "
                       << getSum().getType() << ", got " << getSink().getType();
}

LogicalResult GatherOp::verify() {
  Type held = getSrc().getType().getElementType();
  if (!schedule::isCaptureElement(debugString(held)) || held.isInteger(1))
    return emitOpError() << "expected a source that holds f32, f16, bf16, i64, "
                            "i32 or i8, got "
                         << getSrc().getType();
  if (int64_t(getIndices().size()) != getSrc().getType().getRank())
    return emitOpError() << "expected an index for each of the "
                         << getSrc().getType().getRank() << " dimensions, got "
                         << getIndices().size();
  Type element = getSrc().getType().getElementType(), expected = element;
  for (Value index : getIndices())
    if (auto vector = dyn_cast<VectorType>(index.getType())) {
      Type wanted = vector.clone(element);
      if (expected != element && expected != wanted)
        return emitOpError() << "expected indices of one length, got "
                             << expected << " and " << wanted;
      expected = wanted;
    }
  auto consecutive = dyn_cast<VectorType>(getType());
  if (expected == element && consecutive && consecutive.getRank() == 1 &&
      consecutive.getElementType() == element)
    return success();
  if (getType() != expected)
    return emitOpError() << "expected a result of " << expected << ", got "
                         << getType();
  return success();
}

LogicalResult DotOp::verify() {
  TileType a = getA().getType(), b = getB().getType(), d = getType();
  int64_t depth = getTransposeB() ? b.getColumns() : b.getRows();
  int64_t columns = getTransposeB() ? b.getRows() : b.getColumns();
  // The other CTA of a pair has the other half of the columns.
  if (getPair())
    columns *= 2;
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "expected factors of one element type, got "
                         << a.getElementType() << " and " << b.getElementType();
  if (getRows() && getTransposeB())
    return emitOpError() << "takes rows of b, or its transpose, not both";
  if (getRows() ? *getRows() + a.getColumns() > depth : a.getColumns() != depth)
    return emitOpError() << "expected inner extents to agree, got "
                         << a.getColumns() << " and " << depth
                         << (getRows() ? " from row " : "")
                         << (getRows() ? std::to_string(*getRows()) : "");
  if (d.getRows() != a.getRows() || d.getColumns() != columns ||
      !d.getElementType().isF32())
    return emitOpError() << "expected a result of " << a.getRows() << "x"
                         << columns << "xf32, got " << d;
  if (getAcc() && getAcc().getType() != d)
    return emitOpError() << "expected an accumulator of the result's type " << d
                         << ", got " << getAcc().getType();
  if (getAccumulate() && !getAcc())
    return emitOpError() << "has a condition to accumulate, but no accumulator";
  return success();
}

//===----------------------------------------------------------------------===//
// Roles and channels
//===----------------------------------------------------------------------===//

LogicalResult WarpSpecializeOp::verifyRegions() {
  SmallVector<RoleOp> taken(64);
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError()
             << "only tile.role may stand in tile.warp_specialize";
    for (uint32_t w = role.getFirstWarp(); w < role.getLastWarp(); ++w) {
      if (taken[w])
        return role.emitOpError()
               << "warp " << w << " already belongs to role \""
               << taken[w].getName() << "\"";
      taken[w] = role;
    }
  }
  for (unsigned w = 0; w < 64; ++w)
    if (RoleOp role = taken[w], first = taken[w / 4 * 4];
        role && first && role.getRegisters() != first.getRegisters())
      return role.emitOpError()
             << "setmaxnreg acts on a whole warpgroup: expected "
             << first.getRegisters() << " registers as role \""
             << first.getName() << "\", got " << role.getRegisters();
  return success();
}

LogicalResult RoleOp::verify() {
  if (getFirstWarp() >= getLastWarp() || getLastWarp() > 32)
    return emitOpError() << "expected warps inside [0, 32), got "
                         << getFirstWarp() << " to " << getLastWarp();
  if (getRegisters() % 8 != 0 || getRegisters() < 24 || getRegisters() > 256)
    return emitOpError()
           << "expected a multiple of 8 from 24 to 256 registers, "
              "got "
           << getRegisters();
  return success();
}

LogicalResult ChannelOp::verify() {
  if (getUnreleased() && getReleasedBy())
    return emitOpError() << "is unreleased and released by \""
                         << *getReleasedBy() << "\": only one can hold";
  TileType tile = getType().getTile();
  if (!tile.getPlace())
    return emitOpError()
           << "carries tiles without a place; run tile-assign-memory";
  bool byTma = getProducer() == Agent::Tma || getConsumer() == Agent::Tma;
  if (tile.inRegisters() || tile.inFragments() || (byTma && !tile.getSmem()))
    return emitOpError() << "expected tiles in "
                         << (byTma ? "#tile.smem, where TMA copies,"
                                   : "#tile.smem or #tile.tmem,")
                         << " got " << tile;
  return success();
}

/// Whether `slot` fits the stages of `ring`: they have the same pitch, or there
/// is one stage, which is large enough.
static bool fitsStages(TileType ring, TileType slot) {
  if (ring.getStages() == 1)
    return slot.getBytes() <= ring.getBytes();
  return ring.getStagePitch() == slot.getStagePitch();
}

/// Checks that the slot lies in the channel's ring: its type is the channel's
/// tile, or another one that fits the stages.
template <typename OpTy> static LogicalResult verifySlot(OpTy op) {
  TileType expected = op.getChannel().getType().getTile(), got = op.getType();
  if (got == expected)
    return success();
  SmemAttr ring = expected.getSmem(), slot = got.getSmem();
  if (ring && slot && ring.getOffset() == slot.getOffset() &&
      ring.getStages() == slot.getStages() && fitsStages(expected, got) &&
      expected.getElementType() == got.getElementType())
    return success();
  return op.emitOpError() << "expected the channel's tile " << expected
                          << ", or one in the same stages, got " << got;
}

LogicalResult AcquireOp::verify() { return verifySlot(*this); }

LogicalResult ReceiveOp::verify() { return verifySlot(*this); }

LogicalResult ReleaseOp::verify() {
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  if (channel && !channel.hasReleaseBarrier())
    return emitOpError()
           << "expected a channel with releases of its own, got \""
           << channel.getName()
           << "\", which is unreleased or released by another";
  return success();
}

LogicalResult SlotAddressOp::verify() {
  if (!getType().getSmem() && !getType().getTmem())
    return emitOpError() << "expected a tile in #tile.smem or #tile.tmem, got "
                         << getType();
  return success();
}

LogicalResult BarrierOp::verify() {
  int64_t end = int64_t(getOffset()) + 8 * int64_t(getType().getCount());
  if (end > sharedMemoryBytes)
    return emitOpError() << "expected mbarriers inside the "
                         << sharedMemoryBytes
                         << " bytes of shared memory, got them up to byte "
                         << end;
  return success();
}

/// Checks that the result is as long as all values together.
LogicalResult TmemWaitOp::verify() {
  int64_t count = 0;
  for (Value value : getValues())
    count += cast<VectorType>(value.getType()).getDimSize(0);
  bool load = getAccess() == TmemAccess::Load;
  if (!load && count)
    return emitOpError() << "expected no values after stores, which hand "
                            "nothing on, got "
                         << getValues().size();
  int64_t got = 0;
  if (getResult())
    got = cast<VectorType>(getResult().getType()).getDimSize(0);
  if (got != count)
    return emitOpError() << "expected a result of all " << count
                         << " elements, got " << got;
  return success();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Checks that A has as many K steps as B, in registers or at offsets, and that
/// offsets are multiples of the 16 bytes that a descriptor's address counts.
static LogicalResult checkSteps(WgmmaOp op) {
  // A descriptor's address has 14 bits, in units of 16 bytes.
  constexpr int64_t words = 4, unit = 16, end = unit << 14;
  int64_t count = op.countSteps();
  if (count == 0)
    return op.emitOpError() << "expected one K step or more, got none";
  if (op.hasRegistersOfA() && op.getASteps())
    return op.emitOpError()
           << "expected no steps of A, which is in registers, got some";
  int64_t got = op.hasRegistersOfA()
                    ? cast<VectorType>(op.getA().getType()).getDimSize(0)
                : op.getASteps() ? op.getASteps()->size()
                                 : 1;
  int64_t expected = op.hasRegistersOfA() ? words * count : count;
  if (got != expected)
    return op.emitOpError()
           << "expected " << expected
           << (op.hasRegistersOfA() ? " registers" : " steps")
           << " of A for the " << count << " steps of B, got " << got;
  for (auto steps : {op.getASteps(), op.getBSteps()})
    for (int32_t bytes : steps.value_or(ArrayRef<int32_t>()))
      if (bytes < 0 || bytes % unit || bytes >= end)
        return op.emitOpError()
               << "expected steps at multiples of 16 bytes below " << end
               << ", got " << bytes;
  return success();
}

LogicalResult WgmmaOp::verify() {
  constexpr int64_t most = 128, step = 4;
  int64_t count = cast<VectorType>(getType()).getDimSize(0);
  if (count == 0 || count % step || count > most)
    return emitOpError() << "expected a multiple of 4 elements up to 128, half "
                            "of the columns of the product, got "
                         << count;
  if (getAcc() && getAcc().getType() != getType())
    return emitOpError() << "expected an accumulator of the result's type "
                         << getType() << ", got " << getAcc().getType();
  if (!getElement().isF16() && !getElement().isBF16())
    return emitOpError() << "expected factors of f16 or bf16, got "
                         << getElement();
  return checkSteps(*this);
}

OpFoldResult RescaleOp::fold(FoldAdaptor) {
  auto fill = getInput().getDefiningOp<FillOp>();
  return fill && fill.getValue().isZero() ? OpFoldResult(getInput())
                                          : OpFoldResult();
}

LogicalResult ScaleColumnsOp::verify() {
  int64_t end = int64_t(getFirst()) + getType().getColumns();
  if (end <= getFactors().getType().getRows())
    return success();
  return emitOpError() << "expected a factor for each column, at least " << end
                       << ", got " << getFactors().getType().getRows();
}

//===----------------------------------------------------------------------===//
// Pairs of CTAs
//===----------------------------------------------------------------------===//

LogicalResult CommitOp::verify() {
  if (getBoth() && !getPair())
    return emitOpError() << "expected `pair` with `both`: only MMAs of a pair "
                            "of CTAs signal the barriers of both";
  return success();
}

LogicalResult MmaOp::verify() {
  constexpr unsigned firstBit = 24, bits = 5, unit = 16;
  unsigned rows = (getInstruction() >> firstBit & ((1 << bits) - 1)) * unit;
  // A CTA of a pair has 128 rows, one per lane of tensor memory, or the halves
  // of 64.
  constexpr unsigned whole = 256;
  if (getPair() && rows != whole && rows != whole / 2)
    return emitOpError() << "expected M = " << whole / 2 << " or " << whole
                         << " in the instruction of a pair of CTAs, got "
                         << rows;
  return success();
}

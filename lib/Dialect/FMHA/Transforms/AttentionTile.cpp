//===- AttentionTile.cpp - A tile of fmha.attention -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTile.h"
#include "LinalgSteps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fmha;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool fmha::isSameSize(OpFoldResult a, OpFoldResult b) {
  if (isEqualConstantIntOrValue(a, b))
    return true;
  auto aValue = dyn_cast<Value>(a), bValue = dyn_cast<Value>(b);
  if (!aValue || !bValue)
    return false;
  Operation *aOp = aValue.getDefiningOp(), *bOp = bValue.getDefiningOp();
  return aOp && bOp && isPure(aOp) &&
         OperationEquivalence::isEquivalentTo(
             aOp, bOp,
             [](Value x, Value y) { return success(isSameSize(x, y)); },
             /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

static OpFoldResult sizeOf(OpBuilder &b, Location location, Value value,
                           unsigned dimension) {
  if (isa<MemRefType>(value.getType()))
    return memref::getMixedSize(b, location, value, dimension);
  return tensor::getMixedSize(b, location, value, dimension);
}

static OpFoldResult quotient(OpBuilder &b, Location location, OpFoldResult x,
                             OpFoldResult y) {
  std::optional<int64_t> a = getConstantIntValue(x), c = getConstantIntValue(y);
  if (a && c && *c != 0)
    return b.getIndexAttr(*a / *c);
  return arith::DivUIOp::create(b, location,
                                getValueOrCreateConstantIndexOp(b, location, x),
                                getValueOrCreateConstantIndexOp(b, location, y))
      .getResult();
}

static OpFoldResult product(OpBuilder &b, Location location, OpFoldResult x,
                            OpFoldResult y) {
  if (std::optional<int64_t> factor = getConstantIntValue(y)) {
    AffineExpr s0;
    bindSymbols(b.getContext(), s0);
    return affine::makeComposedFoldedAffineApply(b, location, s0 * *factor,
                                                 {x});
  }
  return arith::MulIOp::create(b, location,
                               getValueOrCreateConstantIndexOp(b, location, x),
                               getValueOrCreateConstantIndexOp(b, location, y))
      .getResult();
}

static OpFoldResult sum(OpBuilder &b, Location location, OpFoldResult x,
                        OpFoldResult y) {
  AffineExpr s0, s1;
  bindSymbols(b.getContext(), s0, s1);
  return affine::makeComposedFoldedAffineApply(b, location, s0 + s1, {x, y});
}

static OpFoldResult difference(OpBuilder &b, Location location, OpFoldResult x,
                               OpFoldResult y) {
  AffineExpr s0, s1;
  bindSymbols(b.getContext(), s0, s1);
  return affine::makeComposedFoldedAffineApply(b, location, s0 - s1, {x, y});
}

/// Returns max(0, x - y).
static OpFoldResult excess(OpBuilder &b, Location location, OpFoldResult x,
                           OpFoldResult y) {
  AffineExpr s0, s1;
  bindSymbols(b.getContext(), s0, s1);
  AffineMap map =
      AffineMap::get(0, 2, {s0 - s1, getAffineConstantExpr(0, b.getContext())},
                     b.getContext());
  return affine::makeComposedFoldedAffineMax(b, location, map, {x, y});
}

SmallVector<OpFoldResult> fmha::attentionExtents(OpBuilder &b, AttentionOp op) {
  Location location = op.getLoc();
  auto query = [&](unsigned dimension) {
    return sizeOf(b, location, op.getQuery(), dimension);
  };
  OpFoldResult heads = sizeOf(b, location, op.getKey(), AttentionOp::Heads);
  OpFoldResult group = quotient(b, location, query(AttentionOp::Heads), heads);
  return {query(AttentionOp::Batch), heads, group, query(AttentionOp::Length),
          sizeOf(b, location, op.getKey(), AttentionOp::Length)};
}

//===----------------------------------------------------------------------===//
// The tile
//===----------------------------------------------------------------------===//

AttentionTile::AttentionTile(OpBuilder &b, AttentionOp op,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes)
    : b(b), op(op), location(op.getLoc()), extents(attentionExtents(b, op)) {
  for (auto [offset, size, extent] : llvm::zip_equal(offsets, sizes, extents))
    windows.push_back(
        {offset, size, isZeroInteger(offset) && isSameSize(size, extent)});
  const Window &groups = windows[KVHeadLoop], &members = windows[GroupLoop];
  if (groups.isWhole && members.isWhole) {
    heads = {b.getIndexAttr(0),
             sizeOf(b, location, op.getQuery(), AttentionOp::Heads),
             /*isWhole=*/true};
    return;
  }
  heads.offset = product(b, location, groups.offset, extents[GroupLoop]);
  heads.size = members.size;
  if (members.isWhole)
    heads.size = product(b, location, groups.size, members.size);
  else
    heads.offset = sum(b, location, heads.offset, members.offset);
}

AttentionTile::MaskForm AttentionTile::maskForm(bool isPart) {
  const schedule::Mask &mask = op.getMask();
  bool tilesKeys = isPart && !windows[KeyLoop].isWhole;
  if (mask.isFull() || (windows[RowLoop].isWhole && !tilesKeys))
    return MaskForm::Unchanged;
  bool isCausal = !mask.isTopLeft() && mask.rightBound() == 0u;
  return isCausal && !tilesKeys ? MaskForm::CutKeys : MaskForm::Code;
}

LogicalResult AttentionTile::check(bool isPart) {
  auto error = [&]() { return emitError(location) << "fmha.attention: "; };
  if (op.getBlockTables())
    return error() << "expected keys and values in dense tensors to tile, got "
                      "caches of pages (block_tables); set `splits` of the "
                      "schedule";
  if (op.getTopk())
    return error() << "expected no topk to tile, got one, whose positions are "
                      "those of whole sequences; set `splits` of the schedule";
  if (op.getKvNumBlocks())
    return error() << "expected no blocks to tile, got lists of them, which "
                      "are of whole sequences; write an op on slices of the "
                      "operands for each part of the batch or heads";
  if (op.hasKeyVectors())
    return error() << "expected keys [batch, length, heads, head_dim] to tile, "
                      "got keys in vectors, "
                   << op.getKey().getType() << "; set `splits` of the schedule";
  if (op.getKeyNew())
    return error() << "expected no key_new to tile, got one; append by "
                      "fmha.append";
  if (op.hasE4M3Keys())
    return error() << "expected keys and values of f16, bf16 or f32 to tile, "
                      "got "
                   << op.getKey().getType()
                   << "; set `splits` of the schedule, or run "
                      "fmha-decompose-to-linalg";
  bool packs = op.getCuSeqlensQ() || op.getCuSeqlensK();
  for (AttentionLoop loop : {BatchLoop, RowLoop})
    if (packs && !windows[loop].isWhole)
      return error() << "expected no tiles of the "
                     << (loop == BatchLoop ? "batch" : "query rows")
                     << " of packed sequences (cu_seqlens_q, cu_seqlens_k), "
                        "whose rows differ in keys; tile KV heads or groups";
  if (!windows[GroupLoop].isWhole && !isOneInteger(windows[KVHeadLoop].size))
    return error() << "expected tiles of one KV head where a group is tiled, "
                      "so that their query heads are neighbors; set the tile "
                      "size of dimension 1 to 1";
  if (!isPart && !windows[KeyLoop].isWhole)
    return error() << "expected all keys in a tile, as one softmax runs over "
                      "them; tile_reduction_using_forall or "
                      "tile_reduction_using_for splits keys and merges parts";
  if (isPart && packs)
    return error() << "expected sequences that are not packed (cu_seqlens_q, "
                      "cu_seqlens_k) to split keys; set `splits` of the "
                      "schedule";
  if (isPart && op.getKey2())
    return error() << "expected one KV segment to split keys; write the "
                      "segments as two ops and merge them by fmha.merge";
  bool cutsKeys2 = op.getKey2() && !windows[RowLoop].isWhole &&
                   !op.getSource2Mask().isFull();
  if ((op.getKey2() && maskForm(isPart) == MaskForm::Code) ||
      (cutsKeys2 && op.getSource2Mask().isTopLeft()))
    return error()
           << "expected masks of two KV segments to be causal and "
              "aligned bottom-right, or none, if query rows are tiled, got "
           << schedule::stringify(op.getMask()) << " and "
           << schedule::stringify(op.getSource2Mask());
  return success();
}

SmallVector<Window> AttentionTile::outputWindows() {
  OpFoldResult headDim = b.getIndexAttr(op.getHeadDimV());
  return {windows[BatchLoop],
          windows[RowLoop],
          heads,
          {b.getIndexAttr(0), headDim, /*isWhole=*/true}};
}

SmallVector<Window> AttentionTile::rowWindows() {
  return {windows[BatchLoop], heads, windows[RowLoop]};
}

/// Returns a slice of a tensor or memref, or all of it. A whole window is the
/// extent of its dimension in `source`.
Value AttentionTile::slice(Value source, ArrayRef<Window> windows) {
  if (!source ||
      llvm::all_of(windows, [](const Window &one) { return one.isWhole; }))
    return source;
  SmallVector<OpFoldResult> offsets, sizes;
  for (auto [dimension, window] : llvm::enumerate(windows)) {
    offsets.push_back(window.isWhole ? b.getIndexAttr(0) : window.offset);
    sizes.push_back(window.isWhole ? sizeOf(b, location, source, dimension)
                                   : window.size);
  }
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  Operation *made;
  if (isa<MemRefType>(source.getType()))
    made =
        memref::SubViewOp::create(b, location, source, offsets, sizes, strides);
  else
    made = tensor::ExtractSliceOp::create(b, location, source, offsets, sizes,
                                          strides);
  slices.push_back(made);
  return made->getResult(0);
}

/// Returns keys or values without the last `cut` ones, or, without `cut`, those
/// of the tile.
Value AttentionTile::sliceOfKeys(Value source, OpFoldResult cut) {
  if (!source)
    return source;
  Window keys = windows[KeyLoop];
  if (cut) {
    OpFoldResult length = sizeOf(b, location, source, AttentionOp::Length);
    keys = {b.getIndexAttr(0), excess(b, location, length, cut)};
  }
  Window whole = {{}, {}, /*isWhole=*/true};
  return slice(source, {windows[BatchLoop], keys, windows[KVHeadLoop], whole});
}

/// Returns a tile of values. First columns of keys remain first columns.
Value AttentionTile::valueSlice(Value value, Value key, Value keySlice,
                                OpFoldResult cut) {
  if (!value || !op.isValueInKey() || keySlice == key)
    return sliceOfKeys(value, cut);
  Window whole = {{}, {}, /*isWhole=*/true};
  SmallVector<Window> columns(4, whole);
  if (op.getHeadDim() != op.getHeadDimV())
    columns.back() = {b.getIndexAttr(0), b.getIndexAttr(op.getHeadDimV())};
  return slice(keySlice, columns);
}

Value fmha::lengthsInPart(OpBuilder &b, Location location, Value list,
                          OpFoldResult before, OpFoldResult size) {
  auto toI32 = [&](OpFoldResult index) -> Value {
    return arith::IndexCastOp::create(
        b, location, b.getI32Type(),
        getValueOrCreateConstantIndexOp(b, location, index));
  };
  Value first = toI32(before);
  Value most = size ? toI32(size) : Value();
  Value none = arith::ConstantOp::create(b, location, b.getI32IntegerAttr(0));
  auto left = [&](OpBuilder &at, Location location, ValueRange e) -> Value {
    Value rest = arith::SubIOp::create(at, location, e[0], first);
    rest = arith::MaxSIOp::create(at, location, rest, none);
    return most ? Value(arith::MinSIOp::create(at, location, rest, most))
                : rest;
  };
  Value empty = tensor::EmptyOp::create(
      b, location, {sizeOf(b, location, list, 0)}, b.getI32Type());
  return genericOver(b, location, 1, 0, {{list, {0}}}, {empty, {0}}, left);
}

/// Returns the lengths of sequences in the remaining keys.
Value AttentionTile::lengths(Value list, OpFoldResult cut) {
  const Window &keys = windows[KeyLoop];
  Value own = slice(list, windows[BatchLoop]);
  if (!own || (!cut && keys.isWhole))
    return own;
  return keys.isWhole ? lengthsInPart(b, location, own, cut, OpFoldResult())
                      : lengthsInPart(b, location, own, keys.offset, keys.size);
}

/// Returns the number of query rows after those of the tile.
OpFoldResult AttentionTile::rowsAfter() {
  const Window &rows = windows[RowLoop];
  OpFoldResult end = sum(b, location, rows.offset, rows.size);
  return difference(b, location, extents[RowLoop], end);
}

FailureOr<TilingResult> AttentionTile::build() {
  if (failed(check(/*isPart=*/false)))
    return failure();
  SmallVector<Value> destinations = {slice(op.getOutput(), outputWindows())};
  for (Value row : op.getRowOutputs())
    destinations.push_back(slice(row, rowWindows()));
  return buildWith(destinations, /*isPart=*/false);
}

FailureOr<TilingResult> AttentionTile::buildPart(ValueRange destinations) {
  if (failed(check(/*isPart=*/true)))
    return failure();
  return buildWith(destinations, /*isPart=*/true);
}

/// Returns the position of the tile for the score region, and the lengths that
/// the tile has shortened.
ScoreShift AttentionTile::scoreShift(const KeyCuts &cuts, bool isPart) {
  ScoreShift shift;
  shift.mask = op.getMask();
  shift.addsMask = maskForm(isPart) == MaskForm::Code;
  if (!windows[BatchLoop].isWhole)
    shift.quantities[ScoreShift::Batch] = windows[BatchLoop].offset;
  if (!heads.isWhole)
    shift.quantities[ScoreShift::Head] = heads.offset;
  if (!windows[RowLoop].isWhole) {
    shift.quantities[ScoreShift::Row] = windows[RowLoop].offset;
    shift.quantities[ScoreShift::QLen] = extents[RowLoop];
  }
  if (!windows[KeyLoop].isWhole)
    shift.quantities[ScoreShift::Key] = windows[KeyLoop].offset;
  if (!windows[KeyLoop].isWhole || cuts.source1) {
    shift.quantities[ScoreShift::KVLen] = extents[KeyLoop];
    shift.lengths = op.getKvLens();
  }
  if (cuts.source2) {
    shift.quantities[ScoreShift::KVLen2] =
        sizeOf(b, location, op.getKey2(), AttentionOp::Length);
    shift.lengths2 = op.getSource2Lens();
  }
  return shift;
}

/// Returns the number of keys at the end of each source that no row of the tile
/// sees.
AttentionTile::KeyCuts AttentionTile::keyCuts(bool isPart) {
  KeyCuts cuts;
  if (maskForm(isPart) == MaskForm::CutKeys)
    cuts.source1 = rowsAfter();
  if (op.getKey2() && !windows[RowLoop].isWhole &&
      !op.getSource2Mask().isFull())
    cuts.source2 = rowsAfter();
  return cuts;
}

FailureOr<TilingResult> AttentionTile::buildWith(ValueRange destinations,
                                                 bool isPart) {
  KeyCuts cuts = keyCuts(isPart);
  bool makesLengths =
      (op.getKvLens() && (cuts.source1 || !windows[KeyLoop].isWhole)) ||
      (op.getSource2Lens() && cuts.source2);
  if (op.hasPureBufferSemantics() && makesLengths)
    return emitError(location)
           << "fmha.attention: expected tensors to tile an op with lengths of "
              "sequences that become shorter with the tile; tile before "
              "bufferization";
  ScoreShift shift = scoreShift(cuts, isPart);
  Region region;
  if ((op.getScore() || shift.addsMask) &&
      failed(buildShiftedScore(b, op, shift, region)))
    return failure();
  AttentionOp tiled = buildOp(destinations, cuts, isPart, !region.empty());
  if (!region.empty())
    tiled->getRegion(0).takeBody(region);
  // A kernel and a schedule are for the problem of the op. A tile keeps the
  // schedule if its problem is the same.
  if (isPart || shift.addsMask)
    tiled.removeScheduleAttr();
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != "fmha.kernel")
      tiled->setDiscardableAttr(attribute.getName(), attribute.getValue());
  return TilingResult{
      {tiled}, llvm::to_vector_of<Value>(tiled->getResults()), slices};
}

/// Builds the op on slices of the operands.
AttentionOp AttentionTile::buildOp(ValueRange destinations, const KeyCuts &cuts,
                                   bool isPart, bool hasRegion) {
  Window whole = {{}, {}, /*isWhole=*/true};
  Value query = slice(op.getQuery(),
                      {windows[BatchLoop], windows[RowLoop], heads, whole});
  Value key = sliceOfKeys(op.getKey(), cuts.source1);
  Value value = valueSlice(op.getValue(), op.getKey(), key, cuts.source1);
  Value key2 = sliceOfKeys(op.getKey2(), cuts.source2);
  Value value2 = valueSlice(op.getValue2(), op.getKey2(), key2, cuts.source2);
  Value kvLens = lengths(op.getKvLens(), cuts.source1);
  Value lens2 = lengths(op.getSource2Lens(), cuts.source2);
  // The sink is added to the denominator once, when partial results are merged.
  Value sink = isPart ? Value() : slice(op.getSink(), heads);
  SmallVector<Value> rows(3);
  if (isPart) {
    rows = {Value(), destinations[1], destinations[2]};
  } else {
    ValueRange left = destinations.drop_front();
    const Value own[] = {op.getLse(), op.getRowMax(), op.getRowSum()};
    for (auto [row, original] : llvm::zip_equal(rows, own))
      if (original) {
        row = left.front();
        left = left.drop_front();
      }
  }
  schedule::Mask mask =
      maskForm(isPart) == MaskForm::Code ? schedule::Mask() : op.getMask();
  SmallVector<Type> types;
  if (op.hasPureTensorSemantics())
    types = llvm::to_vector(destinations.getTypes());
  FloatAttr scale = b.getF64FloatAttr(op.getScaleOrDefault());
  return AttentionOp::create(
      b, location, types, query, key, value, kvLens, op.getCuSeqlensQ(),
      op.getCuSeqlensK(), sink, key2, value2, lens2, /*block_tables=*/Value(),
      /*topk=*/Value(), /*kv_num_blocks=*/Value(), /*kv_indices=*/Value(),
      /*full_kv_num_blocks=*/Value(), /*full_kv_indices=*/Value(),
      /*k_scale=*/Value(), /*v_scale=*/Value(), /*q_scale=*/Value(),
      /*key_new=*/Value(), /*value_new=*/Value(), /*cos=*/Value(),
      /*sin=*/Value(), destinations[0], rows[0], rows[1], rows[2],
      isPart || op.getUnnormalised(), op.getScaleAttr() ? scale : FloatAttr(),
      mask, op.getSource2Mask(), op.getScheduleAttr(),
      /*scale_per_head=*/false, /*scale_per_page=*/false, RotaryAttr(),
      /*block_rows=*/IntegerAttr(), /*block_keys=*/IntegerAttr(),
      hasRegion ? 1 : 0);
}

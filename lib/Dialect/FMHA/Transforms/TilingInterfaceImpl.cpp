//===- TilingInterfaceImpl.cpp - Tile fmha.attention ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/TilingInterfaceImpl.h"
#include "AttentionTile.h"
#include "LinalgSteps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>

using namespace mlir;
using namespace fmha;

static void split(ArrayRef<Window> windows, SmallVector<OpFoldResult> &offsets,
                  SmallVector<OpFoldResult> &sizes) {
  for (const Window &window : windows) {
    offsets.push_back(window.offset);
    sizes.push_back(window.size);
  }
}

namespace {

//===----------------------------------------------------------------------===//
// TilingInterface
//===----------------------------------------------------------------------===//

struct AttentionTiling
    : TilingInterface::ExternalModel<AttentionTiling, AttentionOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *) const {
    SmallVector<utils::IteratorType> types(LoopCount,
                                           utils::IteratorType::parallel);
    types[KeyLoop] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *op, OpBuilder &b) const {
    SmallVector<Range> ranges;
    for (OpFoldResult extent : attentionExtents(b, cast<AttentionOp>(op)))
      ranges.push_back({b.getIndexAttr(0), extent, b.getIndexAttr(1)});
    return ranges;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &b,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    return AttentionTile(b, cast<AttentionOp>(op), offsets, sizes).build();
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &b, unsigned resultNumber,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    AttentionTile tile(b, cast<AttentionOp>(op), offsets, sizes);
    split(resultNumber == 0 ? tile.outputWindows() : tile.rowWindows(),
          resultOffsets, resultSizes);
    return success();
  }

  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &b, unsigned resultNumber,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVectorImpl<OpFoldResult> &domainOffsets,
      SmallVectorImpl<OpFoldResult> &domainSizes) const {
    // Rows are [batch, q_heads, q_len], the output [batch, q_len, q_heads,
    // dim].
    const unsigned places[][3] = {{0, 1, 2}, {0, 2, 1}};
    const unsigned (&place)[3] = places[resultNumber == 0 ? 1 : 0];
    if (resultNumber == 0 &&
        !isAll(offsets[3], sizes[3], cast<AttentionOp>(op).getHeadDimV()))
      return failure();
    return domainOf(
        cast<AttentionOp>(op), b, {offsets[place[0]], sizes[place[0]]},
        {offsets[place[1]], sizes[place[1]]},
        {offsets[place[2]], sizes[place[2]]}, domainOffsets, domainSizes);
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &b, unsigned resultNumber,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    SmallVector<OpFoldResult> domainOffsets, domainSizes;
    if (failed(getIterationDomainTileFromResultTile(
            op, b, resultNumber, offsets, sizes, domainOffsets, domainSizes)))
      return failure();
    FailureOr<TilingResult> tile =
        getTiledImplementation(op, b, domainOffsets, domainSizes);
    if (failed(tile))
      return failure();
    return TilingResult{tile->tiledOps,
                        {tile->tiledValues[resultNumber]},
                        tile->generatedSlices};
  }

  LogicalResult getIterationDomainTileFromOperandTiles(
      Operation *op, OpBuilder &b, ArrayRef<unsigned> operandNumbers,
      ArrayRef<SmallVector<OpFoldResult>> allOffsets,
      ArrayRef<SmallVector<OpFoldResult>> allSizes,
      SmallVectorImpl<OpFoldResult> &domainOffsets,
      SmallVectorImpl<OpFoldResult> &domainSizes) const {
    // Every row needs all keys of a tile. The query is operand 0.
    auto attention = cast<AttentionOp>(op);
    if (operandNumbers != ArrayRef(0u))
      return failure();
    ArrayRef<OpFoldResult> offsets = allOffsets[0], sizes = allSizes[0];
    if (!isAll(offsets[3], sizes[3], attention.getHeadDim()))
      return failure();
    return domainOf(attention, b, {offsets[0], sizes[0]},
                    {offsets[2], sizes[2]}, {offsets[1], sizes[1]},
                    domainOffsets, domainSizes);
  }

  FailureOr<TilingResult> getTiledImplementationFromOperandTiles(
      Operation *op, OpBuilder &b, ArrayRef<unsigned> operandNumbers,
      ArrayRef<SmallVector<OpFoldResult>> allOffsets,
      ArrayRef<SmallVector<OpFoldResult>> allSizes) const {
    SmallVector<OpFoldResult> domainOffsets, domainSizes;
    if (failed(getIterationDomainTileFromOperandTiles(
            op, b, operandNumbers, allOffsets, allSizes, domainOffsets,
            domainSizes)))
      return failure();
    return getTiledImplementation(op, b, domainOffsets, domainSizes);
  }

private:
  static bool isAll(OpFoldResult offset, OpFoldResult size, unsigned extent) {
    return isZeroInteger(offset) && isConstantIntValue(size, extent);
  }

  /// Returns the tile that computes a part of the results. Query heads are a
  /// tile if they are all, one, or one for each KV head.
  static LogicalResult domainOf(AttentionOp op, OpBuilder &b,
                                const Window &batch, const Window &heads,
                                const Window &rows,
                                SmallVectorImpl<OpFoldResult> &domainOffsets,
                                SmallVectorImpl<OpFoldResult> &domainSizes) {
    SmallVector<OpFoldResult> extents = attentionExtents(b, op);
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    OpFoldResult allHeads =
        op.hasPureBufferSemantics()
            ? memref::getMixedSize(b, op.getLoc(), op.getQuery(),
                                   AttentionOp::Heads)
            : tensor::getMixedSize(b, op.getLoc(), op.getQuery(),
                                   AttentionOp::Heads);
    Window groups, members = {zero, extents[GroupLoop]};
    if (isZeroInteger(heads.offset) && isSameSize(heads.size, allHeads)) {
      groups = {zero, extents[KVHeadLoop]};
    } else if (isOneInteger(extents[GroupLoop])) {
      groups = heads;
    } else if (std::optional<int64_t> group =
                   getConstantIntValue(extents[GroupLoop]);
               group && isOneInteger(heads.size)) {
      AffineExpr head;
      bindSymbols(b.getContext(), head);
      auto apply = [&](AffineExpr expression) {
        return affine::makeComposedFoldedAffineApply(b, op.getLoc(), expression,
                                                     {heads.offset});
      };
      groups = {apply(head.floorDiv(*group)), one};
      members = {apply(head % *group), one};
    } else {
      return failure();
    }
    domainOffsets.assign(
        {batch.offset, groups.offset, members.offset, rows.offset, zero});
    domainSizes.assign(
        {batch.size, groups.size, members.size, rows.size, extents[KeyLoop]});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// PartialReductionOpInterface
//===----------------------------------------------------------------------===//

/// Partial results are those of `unnormalised` attention with row maxima and
/// row sums, in f32, with a leading dimension of parts, as fmha.merge takes
/// them.
struct AttentionPartialReduction
    : PartialReductionOpInterface::ExternalModel<AttentionPartialReduction,
                                                 AttentionOp> {
  FailureOr<SmallVector<Value>> generateInitialTensorForPartialReduction(
      Operation *op, OpBuilder &b, Location location,
      ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &) const {
    auto attention = cast<AttentionOp>(op);
    if (!attention.hasPureTensorSemantics())
      return emitError(location)
             << "fmha.attention: expected tensors to split keys into parts; "
                "tile before bufferization";
    SmallVector<OpFoldResult> extents = attentionExtents(b, attention);
    OpFoldResult heads = tensor::getMixedSize(b, location, attention.getQuery(),
                                              AttentionOp::Heads);
    OpFoldResult parts = sizes[KeyLoop];
    SmallVector<OpFoldResult> rows = {parts, extents[BatchLoop], heads,
                                      extents[RowLoop]};
    SmallVector<OpFoldResult> output = {
        parts, extents[BatchLoop], extents[RowLoop], heads,
        b.getIndexAttr(attention.getHeadDimV())};
    auto filled = [&](double value, ArrayRef<OpFoldResult> shape) {
      Value element = arith::ConstantOp::create(
          b, location, b.getF32FloatAttr(float(value)));
      return filledTensor(b, location, element, shape);
    };
    constexpr double least = -std::numeric_limits<double>::infinity();
    return SmallVector<Value>{filled(0.0, output), filled(least, rows),
                              filled(0.0, rows)};
  }

  FailureOr<TilingResult>
  tileToPartialReduction(Operation *op, OpBuilder &b, Location location,
                         ReductionTilingStrategy strategy, ValueRange init,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes,
                         const SetVector<unsigned> &,
                         ArrayRef<OpFoldResult> splitReductionIvs) const {
    AttentionTile tile(b, cast<AttentionOp>(op), offsets, sizes);
    SmallVector<Value> slots;
    for (auto [number, partial] : llvm::enumerate(init))
      slots.push_back(slotOf(b, location, partial, windowsOf(tile, number),
                             splitReductionIvs[0]));
    if (strategy == ReductionTilingStrategy::PartialReductionOuterParallel)
      return tile.buildPart(slots);
    return accumulate(b, location, tile, slots);
  }

  LogicalResult getPartialResultTilePosition(
      Operation *op, OpBuilder &b, unsigned resultNumber,
      ReductionTilingStrategy, ArrayRef<OpFoldResult> offsets,
      ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &,
      ArrayRef<OpFoldResult> splitReductionIvs,
      SmallVector<OpFoldResult> &resultOffsets,
      SmallVector<OpFoldResult> &resultSizes) const {
    AttentionTile tile(b, cast<AttentionOp>(op), offsets, sizes);
    resultOffsets.push_back(splitReductionIvs[0]);
    resultSizes.push_back(b.getIndexAttr(1));
    split(windowsOf(tile, resultNumber), resultOffsets, resultSizes);
    return success();
  }

  FailureOr<MergeResult> mergeReductions(Operation *op, OpBuilder &b,
                                         Location location, ValueRange partial,
                                         const SetVector<unsigned> &) const {
    auto attention = cast<AttentionOp>(op);
    auto merge = MergeOp::create(
        b, location, op->getResultTypes(), partial[0], partial[1], partial[2],
        attention.getSink(), attention.getOutput(), attention.getLse(),
        attention.getRowMax(), attention.getRowSum(),
        attention.getUnnormalised(), /*target=*/StringAttr());
    return MergeResult{{merge}, llvm::to_vector_of<Value>(merge->getResults())};
  }

private:
  /// Partial results are the output, row maxima and row sums.
  static SmallVector<Window> windowsOf(AttentionTile &tile,
                                       unsigned resultNumber) {
    return resultNumber == 0 ? tile.outputWindows() : tile.rowWindows();
  }

  /// Returns one part of a partial result, without the dimension of parts.
  static Value slotOf(OpBuilder &b, Location location, Value partial,
                      ArrayRef<Window> windows, OpFoldResult part) {
    SmallVector<OpFoldResult> offsets = {part}, sizes = {b.getIndexAttr(1)};
    split(windows, offsets, sizes);
    SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (const Window &window : windows)
      shape.push_back(
          getConstantIntValue(window.size).value_or(ShapedType::kDynamic));
    auto type = RankedTensorType::get(shape, b.getF32Type());
    return tensor::ExtractSliceOp::create(b, location, type, partial, offsets,
                                          sizes, strides);
  }

  /// Merges the partial result of the tile into the accumulated one in `slots`.
  static FailureOr<TilingResult> accumulate(OpBuilder &b, Location location,
                                            AttentionTile &tile,
                                            ArrayRef<Value> slots) {
    SmallVector<Value> destinations;
    for (Value slot : slots)
      destinations.push_back(tensor::EmptyOp::create(
          b, location, tensor::getMixedSizes(b, location, slot),
          b.getF32Type()));
    FailureOr<TilingResult> part = tile.buildPart(destinations);
    if (failed(part))
      return failure();
    SmallVector<Value> pairs;
    for (auto [before, more] : llvm::zip_equal(slots, part->tiledValues))
      pairs.push_back(stacked(b, location, before, more));
    auto types =
        llvm::map_to_vector(slots, [](Value slot) { return slot.getType(); });
    auto merge = MergeOp::create(b, location, types, pairs[0], pairs[1],
                                 pairs[2], /*sink=*/Value(), slots[0],
                                 /*lse=*/Value(), slots[1], slots[2],
                                 /*unnormalised=*/true,
                                 /*target=*/StringAttr());
    part->tiledValues = llvm::to_vector_of<Value>(merge->getResults());
    return part;
  }

  /// Stacks two tensors along a new leading dimension.
  static Value stacked(OpBuilder &b, Location location, Value first,
                       Value second) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, location, first);
    SmallVector<OpFoldResult> all = sizes, offsets(sizes.size() + 1),
                              strides(sizes.size() + 1, b.getIndexAttr(1));
    all.insert(all.begin(), b.getIndexAttr(2));
    sizes.insert(sizes.begin(), b.getIndexAttr(1));
    llvm::fill(offsets, b.getIndexAttr(0));
    Value pair = tensor::EmptyOp::create(b, location, all, b.getF32Type());
    for (auto [number, one] : llvm::enumerate(ArrayRef{first, second})) {
      offsets.front() = b.getIndexAttr(number);
      pair = tensor::InsertSliceOp::create(b, location, one, pair, offsets,
                                           sizes, strides);
    }
    return pair;
  }
};

} // namespace

void fmha::registerTilingInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FMHADialect *) {
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         linalg::LinalgDialect, memref::MemRefDialect,
                         tensor::TensorDialect>();
    AttentionOp::attachInterface<AttentionTiling>(*context);
    AttentionOp::attachInterface<AttentionPartialReduction>(*context);
  });
}

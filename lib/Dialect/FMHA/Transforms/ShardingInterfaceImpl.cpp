//===- ShardingInterfaceImpl.cpp - Shard fmha.attention -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/ShardingInterfaceImpl.h"
#include "AttentionTile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterfaceImpl.h"
#include "mlir/Dialect/Shard/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::shard;
using namespace fmha;

namespace {

/// The loops that index operands and results. They differ from those of tiling:
/// each dimension of an operand is one loop here, so query heads and KV heads,
/// which are sharded together, are one.
enum ShardLoop : unsigned {
  BatchDim,
  HeadDim,
  RowDim,
  KeyDim,
  KeyHeadDim,
  ValueHeadDim,
  /// KV heads, if there is one for all query heads.
  SingleHeadDim,
  /// Packed sequences, and keys of a second KV segment.
  SequenceDim,
  Key2Dim,
  /// Starts of packed sequences.
  StartQDim,
  StartKDim,
  /// The caches are paged.
  PageDim,
  PageRowDim,
  /// Elements of a vector of a key.
  VectorDim,
  ScaleDim,
  /// Entries of topk, and keys that it lists.
  ListDim,
  /// Blocks of rows, entries of a list of blocks, and extents of lists that are
  /// 1, or may be.
  BlockRowDim,
  BlockListDim,
  BroadcastDim,
  ShardLoopCount
};

/// Names of the loops that cannot be sharded, for diagnostics.
constexpr std::pair<ShardLoop, StringLiteral> wholeLoops[] = {
    {KeyHeadDim, "the head dim of query and key"},
    {ValueHeadDim, "the head dim of value and output"},
    {SingleHeadDim, "the single KV head"},
    {Key2Dim, "the keys of a second KV segment"},
    {SequenceDim, "varlen metadata"},
    {StartQDim, "cu_seqlens_q"},
    {StartKDim, "cu_seqlens_k"},
    {PageDim, "the pages of key and value"},
    {PageRowDim, "the rows of a page"},
    {VectorDim, "the vectors of a key"},
    {ScaleDim, "a scale"},
    {ListDim, "the keys that topk lists"},
    {BlockRowDim, "blocks of rows"},
    {BlockListDim, "a list of blocks"},
    {BroadcastDim, "an extent of 1 or of unknown size of a list of blocks"}};

} // namespace

/// Returns the operands of `blocks`.
static SmallVector<Value> blockOperands(AttentionOp op) {
  SmallVector<Value> made;
  for (Value operand : {op.getKvNumBlocks(), op.getKvIndices(),
                        op.getFullKvNumBlocks(), op.getFullKvIndices()})
    if (operand)
      made.push_back(operand);
  return made;
}

/// Returns the loops of an operand of `blocks`. Its batch and heads are those
/// of the query, unless they may be 1 for all.
static SmallVector<ShardLoop> loopsOfBlocks(Value operand) {
  auto type = cast<ShapedType>(operand.getType());
  auto own = [&](unsigned dimension, ShardLoop ofQuery) {
    int64_t extent = type.getDimSize(dimension);
    return extent == 1 || ShapedType::isDynamic(extent) ? BroadcastDim
                                                        : ofQuery;
  };
  SmallVector<ShardLoop> loops = {own(0, BatchDim), own(1, HeadDim),
                                  BlockRowDim};
  if (type.getRank() == 4)
    loops.push_back(BlockListDim);
  return loops;
}

/// Returns the loops of each operand, in the order of the operands.
static SmallVector<SmallVector<ShardLoop>> operandLoops(AttentionOp op) {
  bool packsQ = bool(op.getCuSeqlensQ()), packsK = bool(op.getCuSeqlensK());
  ShardLoop sequence = packsQ || packsK ? SequenceDim : BatchDim;
  ShardLoop batchQ = packsQ ? SequenceDim : BatchDim;
  // Packed tensors have one batch, which belongs to no particular sequence.
  ShardLoop batchK = packsK ? StartKDim : sequence;
  if (packsQ)
    batchQ = StartQDim;
  ShardLoop keys = KeyDim;
  if (op.getBlockTables())
    batchK = PageDim, keys = PageRowDim;
  else if (op.getTopk())
    keys = ListDim;
  bool isSingle = op.getKey().getType().getDimSize(AttentionOp::Heads) == 1;
  ShardLoop heads = isSingle ? SingleHeadDim : ShardLoop(HeadDim);
  SmallVector<SmallVector<ShardLoop>> loops;
  auto add = [&](Value operand, ArrayRef<ShardLoop> own) {
    if (operand)
      loops.push_back(llvm::to_vector(own));
  };
  add(op.getQuery(), {batchQ, RowDim, HeadDim, KeyHeadDim});
  if (op.hasKeyVectors())
    add(op.getKey(), {batchK, keys, heads, KeyHeadDim, VectorDim});
  else
    add(op.getKey(), {batchK, keys, heads, KeyHeadDim});
  add(op.getValue(), {batchK, keys, heads, ValueHeadDim});
  add(op.getKvLens(), {sequence});
  add(op.getCuSeqlensQ(), {StartQDim});
  add(op.getCuSeqlensK(), {StartKDim});
  add(op.getSink(), {HeadDim});
  add(op.getKey2(), {sequence, Key2Dim, heads, KeyHeadDim});
  add(op.getValue2(), {sequence, Key2Dim, heads, ValueHeadDim});
  add(op.getSource2Lens(), {sequence});
  add(op.getBlockTables(), {sequence, PageDim});
  add(op.getTopk(), {batchQ, RowDim, ListDim});
  for (Value operand : blockOperands(op))
    add(operand, loopsOfBlocks(operand));
  ShardLoop scales = op.getScalePerHead()   ? heads
                     : op.getScalePerPage() ? ShardLoop(PageDim)
                                            : ShardLoop(ScaleDim);
  add(op.getKScale(), {scales});
  add(op.getVScale(), {scales});
  add(op.getQScale(), {ScaleDim});
  add(op.getOutput(), {batchQ, RowDim, HeadDim, ValueHeadDim});
  for (Value row : op.getRowOutputs())
    add(row, {batchQ, HeadDim, RowDim});
  return loops;
}

static SmallVector<utils::IteratorType> loopTypes() {
  SmallVector<utils::IteratorType> types(ShardLoopCount,
                                         utils::IteratorType::parallel);
  for (ShardLoop loop :
       {KeyDim, KeyHeadDim, Key2Dim, PageDim, PageRowDim, ListDim})
    types[loop] = utils::IteratorType::reduction;
  return types;
}

static SmallVector<AffineMap> indexingMaps(AttentionOp op) {
  SmallVector<AffineMap> maps;
  for (ArrayRef<ShardLoop> loops : operandLoops(op)) {
    SmallVector<unsigned> targets(loops.begin(), loops.end());
    maps.push_back(AffineMap::getMultiDimMapWithTargets(ShardLoopCount, targets,
                                                        op.getContext()));
  }
  // Results are indexed as their destinations, which are the last operands.
  size_t first = maps.size() - op->getNumResults();
  for (size_t number = 0; number < op->getNumResults(); ++number)
    maps.push_back(maps[first + number]);
  return maps;
}

//===----------------------------------------------------------------------===//
// Partition
//===----------------------------------------------------------------------===//

namespace {

/// Builds the computation of one process.
class ShardBuilder {
public:
  ShardBuilder(AttentionOp op, ArrayRef<Value> operands, ShardingArray axes,
               GridOp grid, IRMapping &partitionMap, OpBuilder &builder)
      : op(op), axes(std::move(axes)), grid(grid), partitionMap(partitionMap),
        b(op.getLoc(), builder) {
    local.map(op->getOperands(), operands);
  }

  LogicalResult check();
  LogicalResult checkBlocks();
  LogicalResult build();

private:
  bool isSharded(ShardLoop loop) const { return !axes[loop].empty(); }
  Value own(Value operand) { return operand ? local.lookup(operand) : Value(); }
  OpFoldResult sizeOf(Value operand, unsigned dimension) {
    return tensor::getMixedSize(b, b.getLoc(), own(operand), dimension);
  }
  int64_t processes(ShardLoop loop) {
    return collectiveProcessGroupSize(axes[loop], grid);
  }
  OpFoldResult offset(ShardLoop loop, OpFoldResult size);
  OpFoldResult whole(ShardLoop loop, OpFoldResult size);
  LogicalResult mapCaptures();
  void fillShift();
  SmallVector<Value> partDestinations();
  AttentionOp buildOp(ValueRange destinations, bool hasRegion);
  Value gathered(Value part);
  SmallVector<Value> merged(ValueRange parts);

  AttentionOp op;
  ShardingArray axes;
  GridOp grid;
  IRMapping &partitionMap;
  IRMapping local;
  ImplicitLocOpBuilder b;
  ScoreShift shift;
};

} // namespace

LogicalResult ShardBuilder::check() {
  auto error = [&]() { return emitError(op.getLoc()) << "fmha.attention: "; };
  for (auto [loop, name] : wholeLoops)
    if (isSharded(loop))
      return error() << "expected " << name
                     << " not to be sharded; shard the batch"
                     << (op.getKvNumBlocks() ? " or heads"
                                             : ", heads, query rows or keys");
  for (ShardLoop loop : {BatchDim, HeadDim, RowDim, KeyDim})
    if (isSharded(loop) && ShapedType::isDynamic(processes(loop)))
      return error() << "expected a grid of static extents, got "
                     << grid.getSymName();
  if (failed(checkBlocks()))
    return failure();
  bool packs = op.getCuSeqlensQ() || op.getCuSeqlensK();
  if (packs && (isSharded(RowDim) || isSharded(KeyDim) || isSharded(BatchDim)))
    return error() << "expected packed sequences (cu_seqlens_q, cu_seqlens_k) "
                      "to be sharded by heads alone";
  if (op.getKey2() && isSharded(KeyDim))
    return error() << "expected one KV segment to shard keys; write the "
                      "segments as two ops and merge them by fmha.merge";
  if (op.getKey2() && isSharded(RowDim) &&
      !(op.getMask().isFull() && op.getSource2Mask().isFull()))
    return error() << "expected no masks of two KV segments if query rows are "
                      "sharded; shard the batch or heads";
  return success();
}

/// Checks that each process has the lists of all its rows.
LogicalResult ShardBuilder::checkBlocks() {
  SmallVector<Value> lists = blockOperands(op);
  if (lists.empty())
    return success();
  auto error = [&]() { return emitError(op.getLoc()) << "fmha.attention: "; };
  if (isSharded(RowDim) || isSharded(KeyDim))
    return error() << "expected query rows and keys of an op with blocks not "
                      "to be sharded, as lists count blocks of whole "
                      "sequences; shard the batch or heads";
  for (auto [loop, dimension, name] :
       {std::tuple(BatchDim, 0, "batch"), {HeadDim, 1, "heads"}})
    for (Value one : lists) {
      auto type = cast<ShapedType>(one.getType());
      if (isSharded(loop) && type.isDynamicDim(dimension))
        return error() << "expected the " << name
                       << " of lists of blocks to be static to be sharded, got "
                       << type << "; cast it to 1 or the extent of query";
    }
  return success();
}

/// Returns the first index of a process if each has `size` of them.
OpFoldResult ShardBuilder::offset(ShardLoop loop, OpFoldResult size) {
  Value index = createProcessLinearIndex(grid.getSymName(), axes[loop], b);
  AffineExpr s0, s1;
  bindSymbols(b.getContext(), s0, s1);
  return affine::makeComposedFoldedAffineApply(b, b.getLoc(), s0 * s1,
                                               {index, size});
}

/// Returns the extent over all processes.
OpFoldResult ShardBuilder::whole(ShardLoop loop, OpFoldResult size) {
  AffineExpr s0;
  bindSymbols(b.getContext(), s0);
  return affine::makeComposedFoldedAffineApply(b, b.getLoc(),
                                               s0 * processes(loop), {size});
}

/// Checks that the tensors that the region reads are the same in all processes.
LogicalResult ShardBuilder::mapCaptures() {
  for (Value source : op.getCaptures()) {
    Value mapped = partitionMap.lookupOrDefault(source);
    if (mapped.getType() != source.getType())
      return emitError(op.getLoc())
             << "fmha.attention: expected a tensor that the region `score` "
                "reads "
                "to be replicated, got "
             << source.getType() << " in shards of " << mapped.getType();
    shift.captures.map(source, mapped);
  }
  return success();
}

void ShardBuilder::fillShift() {
  shift.mask = op.getMask();
  shift.addsMask =
      !shift.mask.isFull() && (isSharded(RowDim) || isSharded(KeyDim));
  shift.lengthsAreOfTile = true;
  if (isSharded(BatchDim))
    shift.quantities[ScoreShift::Batch] =
        offset(BatchDim, sizeOf(op.getQuery(), AttentionOp::Batch));
  if (isSharded(HeadDim))
    shift.quantities[ScoreShift::Head] =
        offset(HeadDim, sizeOf(op.getQuery(), AttentionOp::Heads));
  if (isSharded(RowDim)) {
    OpFoldResult rows = sizeOf(op.getQuery(), AttentionOp::Length);
    shift.quantities[ScoreShift::Row] = offset(RowDim, rows);
    shift.quantities[ScoreShift::QLen] = whole(RowDim, rows);
  }
  if (isSharded(KeyDim)) {
    OpFoldResult keys = sizeOf(op.getKey(), AttentionOp::Length);
    shift.quantities[ScoreShift::Key] = offset(KeyDim, keys);
    shift.quantities[ScoreShift::KVLen] = whole(KeyDim, keys);
    shift.lengths = own(op.getKvLens());
  }
}

/// Returns destinations for output, row maxima and row sums of one process'
/// keys.
SmallVector<Value> ShardBuilder::partDestinations() {
  SmallVector<OpFoldResult> output =
      tensor::getMixedSizes(b, b.getLoc(), own(op.getOutput()));
  SmallVector<OpFoldResult> rows = {output[AttentionOp::Batch],
                                    output[AttentionOp::Heads],
                                    output[AttentionOp::Length]};
  auto empty = [&](ArrayRef<OpFoldResult> sizes) -> Value {
    return tensor::EmptyOp::create(b, sizes, b.getF32Type());
  };
  return {empty(output), empty(rows), empty(rows)};
}

AttentionOp ShardBuilder::buildOp(ValueRange destinations, bool hasRegion) {
  bool isPart = isSharded(KeyDim);
  Value lens = own(op.getKvLens());
  if (lens && isPart)
    lens = lengthsInPart(b, b.getLoc(), lens, shift.quantities[ScoreShift::Key],
                         sizeOf(op.getKey(), AttentionOp::Length));
  Value sink = isPart ? Value() : own(op.getSink());
  SmallVector<Value> rows = {own(op.getLse()), own(op.getRowMax()),
                             own(op.getRowSum())};
  if (isPart)
    rows = {Value(), destinations[1], destinations[2]};
  bool isSameProblem = !isPart && !shift.addsMask;
  assert(!op.getKeyNew() && "new keys come with memrefs only");
  return AttentionOp::create(
      b, destinations.getTypes(), own(op.getQuery()), own(op.getKey()),
      own(op.getValue()), lens, own(op.getCuSeqlensQ()),
      own(op.getCuSeqlensK()), sink, own(op.getKey2()), own(op.getValue2()),
      own(op.getSource2Lens()), own(op.getBlockTables()), own(op.getTopk()),
      own(op.getKvNumBlocks()), own(op.getKvIndices()),
      own(op.getFullKvNumBlocks()), own(op.getFullKvIndices()),
      own(op.getKScale()), own(op.getVScale()), own(op.getQScale()),
      /*key_new=*/Value(), /*value_new=*/Value(), /*cos=*/Value(),
      /*sin=*/Value(), destinations[0], rows[0], rows[1], rows[2],
      isPart || op.getUnnormalised(), op.getScaleAttr(),
      shift.addsMask ? schedule::Mask() : op.getMask(), op.getSource2Mask(),
      isSameProblem ? op.getScheduleAttr() : ScheduleAttr(),
      op.getScalePerHead(), op.getScalePerPage(), RotaryAttr(),
      op.getBlockRowsAttr(), op.getBlockKeysAttr(), hasRegion ? 1 : 0);
}

/// Gathers the partial results of all processes that share the keys, in a new
/// leading dimension.
Value ShardBuilder::gathered(Value part) {
  auto type = cast<RankedTensorType>(part.getType());
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, type.getShape());
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dimension = 2; dimension <= type.getRank(); ++dimension)
    groups.push_back({dimension});
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), part);
  sizes.insert(sizes.begin(), b.getIndexAttr(1));
  Value one = tensor::ExpandShapeOp::create(
      b, b.getLoc(), RankedTensorType::get(shape, type.getElementType()), part,
      groups, sizes);
  shape[0] = processes(KeyDim);
  return AllGatherOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), grid.getSymName(),
      axes[KeyDim], one, APInt(64, 0));
}

SmallVector<Value> ShardBuilder::merged(ValueRange parts) {
  SmallVector<Value> all;
  for (Value part : parts)
    all.push_back(gathered(part));
  SmallVector<Type> types;
  for (Value destination : op.getDpsInits())
    types.push_back(own(destination).getType());
  auto merge = MergeOp::create(b, types, all[0], all[1], all[2],
                               own(op.getSink()), own(op.getOutput()),
                               own(op.getLse()), own(op.getRowMax()),
                               own(op.getRowSum()), op.getUnnormalised(),
                               /*target=*/StringAttr());
  return llvm::to_vector_of<Value>(merge->getResults());
}

LogicalResult ShardBuilder::build() {
  if (failed(check()) || failed(mapCaptures()))
    return failure();
  fillShift();
  Region region;
  if ((op.getScore() || shift.addsMask) &&
      failed(buildShiftedScore(b, op, shift, region)))
    return failure();
  SmallVector<Value> destinations;
  if (isSharded(KeyDim))
    destinations = partDestinations();
  else
    for (Value destination : op.getDpsInits())
      destinations.push_back(own(destination));
  AttentionOp made = buildOp(destinations, !region.empty());
  if (!region.empty())
    made->getRegion(0).takeBody(region);
  SmallVector<Value> results = llvm::to_vector_of<Value>(made->getResults());
  if (isSharded(KeyDim))
    results = merged(results);
  partitionMap.map(op->getResults(), results);
  return success();
}

namespace {

struct AttentionSharding
    : ShardingInterface::ExternalModel<AttentionSharding, AttentionOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *) const {
    return loopTypes();
  }

  SmallVector<ReductionKind> getReductionLoopIteratorKinds(Operation *) const {
    // The softmax over keys, and loops that cannot be sharded.
    return SmallVector<ReductionKind>(3, ReductionKind::Generic);
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    return indexingMaps(cast<AttentionOp>(op));
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> partitionedOperands,
                          ArrayRef<Sharding> operandShardings,
                          ArrayRef<Sharding> resultShardings,
                          IRMapping &partitionMap,
                          SymbolTableCollection &symbolTable,
                          OpBuilder &builder) const {
    auto attention = cast<AttentionOp>(op);
    ShardingArray axes = getGridAxisAssignmentForLoopIterators(
        operandShardings, resultShardings, loopTypes(),
        indexingMaps(attention));
    GridOp grid =
        getGrid(op, operandShardings.front().getGridAttr(), symbolTable);
    ShardBuilder shards(attention, partitionedOperands, std::move(axes), grid,
                        partitionMap, builder);
    return shards.build();
  }
};

/// Shards a transpose: shards of a transpose are transposes of shards.
struct TransposeSharding
    : ShardingInterface::ExternalModel<TransposeSharding, TransposeOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    return SmallVector<utils::IteratorType>(
        cast<TransposeOp>(op).getPermutation().size(),
        utils::IteratorType::parallel);
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    auto source = AffineMap::getMultiDimIdentityMap(
        cast<TransposeOp>(op).getPermutation().size(), op->getContext());
    auto result = AffineMap::getPermutationMap(
        cast<TransposeOp>(op).getPermutation(), op->getContext());
    return {source, result};
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> partitionedOperands,
                          ArrayRef<Sharding> operandShardings,
                          ArrayRef<Sharding> resultShardings,
                          IRMapping &partitionMap,
                          SymbolTableCollection &symbolTable,
                          OpBuilder &builder) const {
    partitionTriviallyShardableOperation(*op, partitionedOperands,
                                         operandShardings, resultShardings,
                                         partitionMap, symbolTable, builder);
    return success();
  }
};

} // namespace

void fmha::registerShardingInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, FMHADialect *, ShardDialect *) {
        context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                             linalg::LinalgDialect, tensor::TensorDialect>();
        AttentionOp::attachInterface<AttentionSharding>(*context);
        TransposeOp::attachInterface<TransposeSharding>(*context);
      });
}

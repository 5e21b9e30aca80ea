//===- FMHAToTile.cpp - An attention op becomes a tiled kernel --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"
#include "ScoreCode.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace fmha {
#define GEN_PASS_DEF_CONVERTFMHATOTILE
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;
using tile::TileType;

namespace {

struct ConvertFMHAToTilePass
    : public fmha::impl::ConvertFMHAToTileBase<ConvertFMHAToTilePass> {
  using ConvertFMHAToTileBase::ConvertFMHAToTileBase;
  void runOnOperation() override;
};

/// The rows of a tensor that one sequence has: those of a batch, `start` null,
/// or `length` rows from `start` on. All of type index.
struct Sequence {
  Value batch, start, length;

  /// What a copy of some of the rows says of them.
  Value limit() const { return start ? length : Value(); }
};

/// What one CTA knows of its place in the grid, all of type index.
struct Coordinates {
  /// The number of the sequence, which is that of its batch or of its entry.
  Value sequence;
  Value head, kvHead;
  Sequence queries, keys;
  /// First query row of each tile.
  SmallVector<Value> rows;
  /// The first key that some row of the CTA may see, down to a whole block;
  /// null for 0. And the KV blocks from there on that rows of it may see.
  Value firstKey, blocks;
  /// The key that query row 0 sits at: kv_len - q_len, or 0; null without a
  /// mask.
  Value offset;
  /// First column of V and O that the CTA computes; null if it computes all.
  Value column;
};

/// Messages of one KV block: chunks of the columns of K, of the keys of V.
struct BlockTiles {
  SmallVector<Value> keys, values;
};

/// Running maximum, running sum and output accumulator of one query tile.
struct State {
  Value max, sum, acc;
};

/// P of one block and one query tile in 16 bits, in slices of keys, and the
/// running sum with it.
struct Exponentials {
  SmallVector<Value> slices;
  Value sum;
};

/// Builds the kernel of one attention op.
class KernelBuilder {
public:
  KernelBuilder(AttentionOp op, gpu::GPUFuncOp func)
      : op(op), plan(op.getScheduleAttr().getValue()), func(func),
        b(ImplicitLocOpBuilder::atBlockEnd(op.getLoc(),
                                           &func.getBody().front())) {}
  void build();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value extent(unsigned argument, int64_t dimension) {
    return memref::DimOp::create(b, func.getArgument(argument), dimension);
  }
  /// The operand of that name; null if the kernel has none.
  Value operand(const std::string &name) {
    auto n = parameterIndex(kernelOperands(op.getProblem()), name);
    return n ? Value(func.getArgument(*n)) : Value();
  }
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  TileType tileType(int64_t columns, Type element) {
    return TileType::get(b.getContext(), {plan.qTileRows, columns}, element,
                         Attribute());
  }
  /// Columns of the query and key tiles, and of those of value and output.
  int64_t keyColumns() { return schedule::paddedColumns(op.getHeadDim()); }
  int64_t outputColumns() {
    return schedule::outputColumns(op.getProblem(), plan);
  }
  Value slice(Value tile, int64_t first, int64_t count) {
    auto type = cast<TileType>(tile.getType());
    if (count == type.getColumns())
      return tile;
    return tile::SliceOp::create(b, type.columns(first, count), tile, first);
  }
  TileType rowType() {
    return TileType::get(b.getContext(), {plan.qTileRows}, b.getF32Type(),
                         Attribute());
  }
  /// Marks the ops that serve one query tile; roles are cut along these marks.
  template <typename OpTy> OpTy mark(OpTy made, unsigned tile) {
    made->setAttr("tile.q_tile", b.getI32IntegerAttr(tile));
    return made;
  }

  /// Columns of a tile that one query tile has for itself.
  Value part(unsigned tile, Value whole, int64_t first, int64_t count) {
    Value made = slice(whole, first, count);
    if (made != whole)
      mark(made.getDefiningOp(), tile);
    return made;
  }

  /// Whether code of the op's own makes scores of products, and scales them.
  bool hasScoreCode() { return !op.getScore().empty(); }
  /// |scale|·log2 e as the kernel knows it: in f32, where a subnormal counts as
  /// 0. 0 stands for scores that are all equal.
  float log2Scale() {
    if (hasScoreCode())
      return llvm::numbers::log2e;
    float scale = std::abs(op.getScaleOrDefault()) * llvm::numbers::log2e;
    return scale < std::numeric_limits<float>::min() ? 0.0f : scale;
  }
  /// Scores that have been multiplied by 0 need no further scale.
  FloatAttr softmaxScale() {
    float scale = log2Scale();
    return b.getF32FloatAttr(scale == 0 ? 1.0f : scale);
  }

  Value buildEntry(Value list, Value number);
  Value clamp(Value number, Value least, Value most);
  Sequence buildSequence(Value extent, Value batch, Value starts,
                         Value lengths);
  Coordinates buildCoordinates();
  Value buildFirstKey(const Coordinates &at);
  Value buildBlockCount(const Coordinates &at);
  SmallVector<Value> buildInitialState();
  void buildBlock(const Coordinates &at, ArrayRef<Value> queries, Value block,
                  SmallVectorImpl<State> &states);
  BlockTiles loadBlock(const Coordinates &at, Value firstKey);
  Value buildScores(unsigned tile, Value query, ArrayRef<Value> keys);
  Exponentials buildExponentials(unsigned tile, Value s, tile::RowMaxOp max,
                                 Value oldSum);
  Value buildProduct(unsigned tile, ArrayRef<Value> slices,
                     ArrayRef<Value> values, Value acc);
  Value buildScoreCode(const Coordinates &at, unsigned tile, Value s,
                       Value column);
  tile::MaskOp buildMask(const Coordinates &at, unsigned tile, Value s,
                         Value column);
  State buildStep(const Coordinates &at, unsigned tile, Value query,
                  const BlockTiles &block, Value column, State state);
  void buildPass(Coordinates &at, Value &id);
  Value buildSink(const Coordinates &at);
  void buildEpilogue(const Coordinates &at, ValueRange results);

  AttentionOp op;
  const schedule::Schedule &plan;
  gpu::GPUFuncOp func;
  ImplicitLocOpBuilder b;
  /// First columns of the chunks of K, made before the loop; null for 0.
  SmallVector<Value> chunkColumns;
};

enum Argument : unsigned { Query = 0, Key = 1, Values = 2, Output = 3 };

Value KernelBuilder::buildEntry(Value list, Value number) {
  Value entry = memref::LoadOp::create(b, list, ValueRange{number});
  return arith::IndexCastOp::create(b, b.getIndexType(), entry);
}

Value KernelBuilder::clamp(Value number, Value least, Value most) {
  return make<arith::MinSIOp>(make<arith::MaxSIOp>(number, least), most);
}

/// Lists come from memory and may say anything; a host that checked them
/// changes nothing, but no kernel reads or writes outside of its tensors.
///
///   start = clamp(starts[b], 0, extent); end = clamp(starts[b + 1], start,
///   extent); length = clamp(lengths[b], 0, end - start)
Sequence KernelBuilder::buildSequence(Value extent, Value batch, Value starts,
                                      Value lengths) {
  Sequence made{batch, Value(), extent};
  if (!starts && !lengths)
    return made;
  Value zero = index(0);
  if (starts) {
    made.batch = zero;
    made.start = clamp(buildEntry(starts, batch), zero, extent);
    Value next = make<arith::AddIOp>(batch, index(1));
    Value end = clamp(buildEntry(starts, next), made.start, extent);
    made.length = make<arith::SubIOp>(end, made.start);
  }
  if (lengths) {
    made.start = made.start ? made.start : zero;
    made.length = clamp(buildEntry(lengths, batch), zero, made.length);
  }
  return made;
}

Coordinates KernelBuilder::buildCoordinates() {
  Coordinates at;
  int64_t rowsPerCta = int64_t(plan.qTiles) * plan.qTileRows;
  Value queryRows = extent(Query, AttentionOp::Length), longest = queryRows;
  Value keyRows = extent(Key, AttentionOp::Length);
  if (Value said = operand("max_q_len"))
    longest = arith::IndexCastUIOp::create(b, b.getIndexType(), said);
  Value heads = extent(Query, AttentionOp::Heads);
  Value kvHeads = extent(Key, AttentionOp::Heads);
  // The grid has one dimension, since only x may exceed 65535.
  Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  buildPass(at, id);
  Value rowBlocks = make<arith::CeilDivUIOp>(longest, index(rowsPerCta));
  Value rowBlock = make<arith::RemUIOp>(id, rowBlocks);
  Value headAndBatch = make<arith::DivUIOp>(id, rowBlocks);
  at.head = make<arith::RemUIOp>(headAndBatch, heads);
  Value batch = make<arith::DivUIOp>(headAndBatch, heads);
  at.sequence = batch;
  at.queries =
      buildSequence(queryRows, batch, operand("cu_seqlens_q"), Value());
  at.keys = buildSequence(keyRows, batch, operand("cu_seqlens_k"),
                          operand("kv_lens"));
  at.kvHead =
      make<arith::DivUIOp>(at.head, make<arith::DivUIOp>(heads, kvHeads));
  Value first = make<arith::MulIOp>(rowBlock, index(rowsPerCta));
  for (unsigned tile = 0; tile < plan.qTiles; ++tile)
    at.rows.push_back(
        make<arith::AddIOp>(first, index(int64_t(tile) * plan.qTileRows)));
  if (op.getMask().isTopLeft())
    at.offset = index(0);
  else
    at.offset = make<arith::SubIOp>(at.keys.length, at.queries.length);
  if (op.getMask().left)
    at.firstKey = buildFirstKey(at);
  at.blocks = buildBlockCount(at);
  return at;
}

/// The passes over the columns of O are neighbours in the grid, so that K stays
/// in the L2 cache for all of them. `id` becomes the number of the row block.
void KernelBuilder::buildPass(Coordinates &at, Value &id) {
  unsigned passes = schedule::outputPasses(op.getProblem(), plan);
  if (passes == 1)
    return;
  Value pass = make<arith::RemUIOp>(id, index(passes));
  at.column = make<arith::MulIOp>(pass, index(outputColumns()));
  id = make<arith::DivUIOp>(id, index(passes));
}

/// The first row of the CTA sees no key before i + offset - left.
Value KernelBuilder::buildFirstKey(const Coordinates &at) {
  Value place = make<arith::AddIOp>(at.rows.front(), at.offset);
  Value first = make<arith::SubIOp>(place, index(*op.getMask().left));
  first = make<arith::MaxSIOp>(first, index(0));
  Value block = make<arith::DivUIOp>(first, index(plan.kvBlock));
  return make<arith::MulIOp>(block, index(plan.kvBlock));
}

/// The last row of the CTA, i = min(first + rows, q_len) - 1, sees keys up to
/// i + offset + right, so that min(first + rows, q_len) + offset + right keys
/// matter, and none if that is negative. Without a window the last row sits at
/// the last key at most.
Value KernelBuilder::buildBlockCount(const Coordinates &at) {
  Value keys = at.keys.length;
  if (std::optional<unsigned> right = op.getMask().rightBound()) {
    Value end = make<arith::AddIOp>(at.rows.back(), index(plan.qTileRows));
    Value lastSeen = make<arith::AddIOp>(
        make<arith::MinSIOp>(end, at.queries.length), at.offset);
    if (*right)
      lastSeen = make<arith::AddIOp>(lastSeen, index(*right));
    if (*right || op.getMask().isTopLeft())
      lastSeen = make<arith::MinSIOp>(lastSeen, at.keys.length);
    keys = lastSeen;
  }
  if (at.firstKey)
    keys = make<arith::SubIOp>(keys, at.firstKey);
  if (!op.getMask().isFull())
    keys = make<arith::MaxSIOp>(keys, index(0));
  // The grid is for the longest sequence: others leave CTAs without rows.
  if (at.queries.start) {
    Value hasRows = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                          at.rows.front(), at.queries.length);
    keys = arith::SelectOp::create(b, hasRows, keys, index(0));
  }
  return make<arith::CeilDivUIOp>(keys, index(plan.kvBlock));
}

SmallVector<Value> KernelBuilder::buildInitialState() {
  SmallVector<Value> values;
  auto fill = [&](unsigned tile, Type type, float value) {
    auto made = tile::FillOp::create(b, type, b.getF32FloatAttr(value));
    values.push_back(mark(made, tile));
  };
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    fill(tile, rowType(), -std::numeric_limits<float>::infinity());
    fill(tile, rowType(), 0.0f);
    fill(tile, tileType(outputColumns(), b.getF32Type()), 0.0f);
  }
  return values;
}

/// s = q·kᵀ, over the chunks of K: s = q0·k0ᵀ; s += q1·k1ᵀ; ...
Value KernelBuilder::buildScores(unsigned tile, Value query,
                                 ArrayRef<Value> keys) {
  TileType type = tileType(plan.kvBlock, b.getF32Type());
  Value s;
  int64_t first = 0;
  for (Value key : keys) {
    int64_t columns = cast<TileType>(key.getType()).getColumns();
    Value q = part(tile, query, first, columns);
    // The maximum may be taken before the scaling only if the scale is
    // positive: the product takes a minus sign, and a scale of 0 is applied at
    // once.
    s = mark(tile::DotOp::create(b, type, q, key, s, Value(),
                                 /*transpose_b=*/true,
                                 /*negate=*/!hasScoreCode() &&
                                     op.getScaleOrDefault() < 0,
                                 /*rows=*/IntegerAttr()),
             tile);
    first += columns;
  }
  return s;
}

/// p = 2^((s - m)·c), slice by slice; l' = l·alpha + sum p, in one piece.
Exponentials KernelBuilder::buildExponentials(unsigned tile, Value s,
                                              tile::RowMaxOp max,
                                              Value oldSum) {
  int64_t keys = plan.kvBlock / plan.pSlices;
  SmallVector<Value> exact;
  for (unsigned n = 0; n < plan.pSlices; ++n) {
    Value x = part(tile, s, n * keys, keys);
    exact.push_back(mark(
        tile::Exp2Op::create(b, x.getType(), x, max.getMax(), softmaxScale()),
        tile));
  }
  Value p = exact.front();
  if (exact.size() > 1)
    p = mark(tile::JoinOp::create(b, s.getType(), exact), tile);
  Exponentials made;
  made.sum = mark(
      tile::RowSumOp::create(b, rowType(), p, oldSum, max.getAlpha()), tile);
  TileType half = tileType(keys, op.getElementType());
  for (Value slice : exact)
    made.slices.push_back(mark(tile::CastOp::create(b, half, slice), tile));
  return made;
}

/// acc += p·v, over the slices of P and the chunks of V. Where one ends inside
/// the other, the longer one is cut:
///   acc = p0·v[0:], acc += p1·v[64:]     two slices of P, V whole
Value KernelBuilder::buildProduct(unsigned tile, ArrayRef<Value> slices,
                                  ArrayRef<Value> values, Value acc) {
  int64_t sliceKeys = plan.kvBlock / slices.size();
  int64_t valueKeys = plan.kvBlock / values.size();
  for (int64_t key = 0, keys; key < plan.kvBlock; key += keys) {
    int64_t inSlice = key % sliceKeys, inValue = key % valueKeys;
    keys = std::min(sliceKeys - inSlice, valueKeys - inValue);
    Value p = part(tile, slices[key / sliceKeys], inSlice, keys);
    IntegerAttr rows =
        keys == valueKeys ? IntegerAttr() : b.getI32IntegerAttr(inValue);
    acc = mark(tile::DotOp::create(b, acc.getType(), p, values[key / valueKeys],
                                   acc, Value(), /*transpose_b=*/false,
                                   /*negate=*/false, rows),
               tile);
  }
  return acc;
}

Value KernelBuilder::buildScoreCode(const Coordinates &at, unsigned tile,
                                    Value s, Value column) {
  SmallVector<Value> captures;
  for (unsigned n = 0; n < op.getCaptures().size(); ++n)
    captures.push_back(operand("capture" + std::to_string(n)));
  ScorePlace place{at.sequence, at.head,           at.rows[tile],
                   column,      at.queries.length, at.keys.length};
  return mark(fmha::buildScoreCode(b, op, s, place, captures), tile);
}

tile::MaskOp KernelBuilder::buildMask(const Coordinates &at, unsigned tile,
                                      Value s, Value column) {
  const schedule::Mask &mask = op.getMask();
  auto attribute = [&](std::optional<unsigned> bound) {
    return bound ? b.getI64IntegerAttr(*bound) : IntegerAttr();
  };
  return tile::MaskOp::create(
      b, s.getType(), s, at.rows[tile], column, at.keys.length,
      mask.isFull() ? Value() : at.offset, attribute(mask.left),
      attribute(mask.rightBound()));
}

/// One KV block and one query tile of online softmax:
///   s = q·kᵀ; m' = max(m, rows of s); p = 2^((s - m')·c); l' = l·alpha + sum
///   p; acc' = acc·alpha + p·v.
State KernelBuilder::buildStep(const Coordinates &at, unsigned tile,
                               Value query, const BlockTiles &block,
                               Value column, State state) {
  Value s = buildScores(tile, query, block.keys);
  if (log2Scale() == 0)
    s = mark(tile::ScaleOp::create(b, s.getType(), s, b.getF32FloatAttr(0.0f)),
             tile);
  if (hasScoreCode())
    s = buildScoreCode(at, tile, s, column);
  s = mark(buildMask(at, tile, s, column), tile);
  auto max = mark(tile::RowMaxOp::create(
                      b, rowType(), rowType(), s, state.max, softmaxScale(),
                      b.getF32FloatAttr(plan.rescaleThreshold)),
                  tile);
  Exponentials p = buildExponentials(tile, s, max, state.sum);
  Value acc = mark(tile::RescaleOp::create(b, state.acc.getType(), state.acc,
                                           max.getAlpha()),
                   tile);
  acc = buildProduct(tile, p.slices, block.values, acc);
  return {max.getMax(), p.sum, acc};
}

/// Where V is the first columns of K, and shares its message, it is a slice.
BlockTiles KernelBuilder::loadBlock(const Coordinates &at, Value firstKey) {
  auto load = [&](unsigned argument, int64_t rows, int64_t columns, Value row,
                  Value column) -> Value {
    TileType type = TileType::get(b.getContext(), {rows, columns},
                                  op.getElementType(), Attribute());
    return tile::LoadOp::create(b, type, func.getArgument(argument),
                                at.keys.batch, row, at.kvHead, column,
                                at.keys.start, at.keys.limit(), Value());
  };
  BlockTiles block;
  int64_t chunk = plan.keyChunk ? plan.keyChunk : keyColumns();
  for (auto [n, column] : llvm::enumerate(chunkColumns)) {
    int64_t columns = std::min(chunk, keyColumns() - int64_t(n) * chunk);
    block.keys.push_back(load(Key, plan.kvBlock, columns, firstKey, column));
  }
  if (plan.shareKv) {
    block.values = {slice(block.keys.front(), 0, outputColumns())};
    return block;
  }
  int64_t keys = plan.valueChunk ? plan.valueChunk : plan.kvBlock;
  for (int64_t n = 0; n < plan.kvBlock; n += keys) {
    Value row = n ? make<arith::AddIOp>(firstKey, index(n)) : firstKey;
    block.values.push_back(load(Values, keys, outputColumns(), row, at.column));
  }
  return block;
}

void KernelBuilder::buildBlock(const Coordinates &at, ArrayRef<Value> queries,
                               Value block, SmallVectorImpl<State> &states) {
  Value column = make<arith::MulIOp>(block, index(plan.kvBlock));
  if (at.firstKey)
    column = make<arith::AddIOp>(column, at.firstKey);
  BlockTiles tiles = loadBlock(at, column);
  for (unsigned tile = 0; tile < plan.qTiles; ++tile)
    states[tile] =
        buildStep(at, tile, queries[tile], tiles, column, states[tile]);
}

/// The head's logit in log2 units; null if there is none.
Value KernelBuilder::buildSink(const Coordinates &at) {
  Value sinks = operand("sink");
  if (!sinks)
    return Value();
  Value logit = memref::LoadOp::create(b, sinks, ValueRange{at.head});
  Value log2e = arith::ConstantOp::create(
      b, b.getF32FloatAttr(float(llvm::numbers::log2e)));
  return arith::MulFOp::create(b, logit, log2e);
}

/// Every pass has the LSE; the first one writes it, for the others no row is
/// below the length.
void KernelBuilder::buildEpilogue(const Coordinates &at, ValueRange results) {
  FloatAttr scaleAttr = softmaxScale();
  const Sequence &queries = at.queries;
  Value sink = buildSink(at);
  Value lseRows = queries.length;
  if (op.getLse() && at.column) {
    Value first =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at.column, index(0));
    lseRows = arith::SelectOp::create(b, first, lseRows, index(0));
  }
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    Value max = results[3 * tile], sum = results[3 * tile + 1];
    Value acc = results[3 * tile + 2];
    TileType type = tileType(outputColumns(), op.getElementType());
    Value total = sum;
    if (sink)
      total =
          mark(tile::AddSinkOp::create(b, rowType(), max, sum, sink, scaleAttr),
               tile);
    Value out = mark(tile::NormalizeOp::create(b, type, acc, total), tile);
    mark(tile::StoreOp::create(b, out, func.getArgument(Output), queries.batch,
                               at.rows[tile], at.head, at.column, queries.start,
                               queries.limit()),
         tile);
    if (!op.getLse())
      continue;
    Value lse = mark(
        tile::LseOp::create(b, rowType(), max, sum, sink, scaleAttr), tile);
    mark(tile::StoreRowsOp::create(b, lse, operand("lse"), queries.batch,
                                   at.head, at.rows[tile], queries.start,
                                   lseRows),
         tile);
  }
}

void KernelBuilder::build() {
  Coordinates at = buildCoordinates();
  SmallVector<Value> queries;
  for (unsigned tile = 0; tile < plan.qTiles; ++tile)
    queries.push_back(mark(
        tile::LoadOp::create(b, tileType(keyColumns(), op.getElementType()),
                             func.getArgument(Query), at.queries.batch,
                             at.rows[tile], at.head, Value(), at.queries.start,
                             at.queries.limit(), Value()),
        tile));
  chunkColumns = {Value()};
  for (int64_t n = plan.keyChunk; n && n < keyColumns(); n += plan.keyChunk)
    chunkColumns.push_back(index(n));
  SmallVector<Value> initial = buildInitialState();
  auto loop = scf::ForOp::create(b, index(0), at.blocks, index(1), initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<State> states;
    ValueRange args = loop.getRegionIterArgs();
    for (unsigned tile = 0; tile < plan.qTiles; ++tile)
      states.push_back(
          {args[3 * tile], args[3 * tile + 1], args[3 * tile + 2]});
    buildBlock(at, queries, loop.getInductionVar(), states);
    SmallVector<Value> yielded;
    for (const State &state : states)
      yielded.append({state.max, state.sum, state.acc});
    scf::YieldOp::create(b, yielded);
  }
  buildEpilogue(at, loop.getResults());
  gpu::ReturnOp::create(b);
}

void ConvertFMHAToTilePass::runOnOperation() {
  SmallVector<AttentionOp> ops;
  getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
  SymbolTable symbols(getOperation());
  for (AttentionOp op : ops)
    if (failed(checkKernelOp(op, getOperation())))
      return signalPassFailure();
  for (AttentionOp op : ops) {
    gpu::GPUFuncOp func = makeKernel(op, symbols);
    KernelBuilder(op, func).build();
    auto module = func->getParentOfType<gpu::GPUModuleOp>();
    op->setAttr("fmha.kernel",
                SymbolRefAttr::get(module.getNameAttr(),
                                   {FlatSymbolRefAttr::get(func)}));
  }
  if (!ops.empty())
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                            UnitAttr::get(&getContext()));
}

} // namespace

//===- KernelBuilder.cpp - Builds the tiled kernel of an op ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "ScoreCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using tile::TileType;

SmallVector<Value> KernelBuilder::buildInitialState() {
  SmallVector<Value> values;
  auto fill = [&](Type type, float value) {
    auto made = tile::FillOp::create(b, type, b.getF32FloatAttr(value));
    values.push_back(made);
    return made;
  };
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    fill(rowType(), -std::numeric_limits<float>::infinity());
    fill(rowType(), 0.0f);
    inRegion(fill(tileType(outputColumns(), b.getF32Type()), 0.0f),
             "O" + Twine(tile));
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
    Value q = slice(query, first, columns);
    // The maximum may be taken before the scaling only if the scale is
    // positive: the product takes a minus sign, and a scale of 0 is applied at
    // once.
    auto dot = tile::DotOp::create(
        b, type, q, key, s, Value(), /*transpose_b=*/true,
        /*negate=*/!hasScoreCode() && op.getScaleOrDefault() < 0,
        /*rows=*/IntegerAttr());
    s = first ? dot : inRegion(dot, "S" + Twine(tile));
    first += columns;
  }
  return s;
}

/// P in one piece is summed before it is rounded: there are not registers for
/// both. Of slices each is rounded at once, so that its product can begin, and
/// the sum, which nothing waits for, follows the last one.
Exponentials KernelBuilder::buildExponentials(unsigned tile, Value s,
                                              tile::RowMaxOp max,
                                              Value oldSum) {
  int64_t keys = plan.kvBlock / plan.pSlices;
  TileType half = tileType(keys, op.getElementType());
  Exponentials made;
  SmallVector<Value> exact;
  auto sum = [&](Value p) {
    made.sum = tile::RowSumOp::create(b, rowType(), p, oldSum, max.getAlpha(),
                                      offsetAttr());
  };
  for (unsigned n = 0; n < plan.pSlices; ++n) {
    Value x = slice(s, n * keys, keys);
    exact.push_back(tile::Exp2Op::create(
        b, x.getType(), x, max.getMax(), softmaxScale(), offsetAttr(),
        b.getI32IntegerAttr(plan.exp2EmulatedPercent)));
    if (plan.pSlices == 1)
      sum(exact.front());
    made.slices.push_back(inRegion(tile::CastOp::create(b, half, exact.back()),
                                   "P" + Twine(tile), n * keys));
  }
  if (plan.pSlices > 1)
    sum(tile::JoinOp::create(b, s.getType(), exact));
  return made;
}

/// acc += p·v, over the slices of P and the chunks of V. Where one ends inside
/// the other, the longer one is cut:
///   acc = p0·v[0:], acc += p1·v[64:]     two slices of P, V whole
Value KernelBuilder::buildProduct(ArrayRef<Value> slices,
                                  ArrayRef<Value> values, Value acc) {
  int64_t sliceKeys = plan.kvBlock / slices.size();
  int64_t valueKeys = plan.kvBlock / values.size();
  for (int64_t key = 0, keys; key < plan.kvBlock; key += keys) {
    int64_t inSlice = key % sliceKeys, inValue = key % valueKeys;
    keys = std::min(sliceKeys - inSlice, valueKeys - inValue);
    Value p = slice(slices[key / sliceKeys], inSlice, keys);
    IntegerAttr rows =
        keys == valueKeys ? IntegerAttr() : b.getI32IntegerAttr(inValue);
    acc = tile::DotOp::create(b, acc.getType(), p, values[key / valueKeys], acc,
                              Value(), /*transpose_b=*/false,
                              /*negate=*/false, rows);
  }
  return acc;
}

Value KernelBuilder::buildScoreCode(const Coordinates &at, unsigned tile,
                                    Value s, const KeyBlock &keys) {
  SmallVector<Value> captures;
  for (unsigned n = 0; n < op.getCaptures().size(); ++n)
    captures.push_back(operand("capture" + std::to_string(n)));
  ScorePlace place{queryView,        at.sequence, at.head,
                   at.rows[tile],    keys.column, at.queries.length,
                   keys.keys.length, Value()};
  if (keys.second)
    place.source = select(keys.second, index(1), index(0));
  return fmha::buildScoreCode(b, op, s, place, captures);
}

/// One KV block and one query tile of online softmax:
///   s = q·kᵀ; m' = max(m, rows of s); p = 2^((s - m')·c); l' = l·alpha + sum
///   p; acc' = acc·alpha + p·v.
State KernelBuilder::buildStep(const Coordinates &at, unsigned tile,
                               Value query, const BlockTiles &block,
                               const KeyBlock &keys, State state) {
  Value s = buildScores(tile, query, block.keys);
  if (log2Scale() == 0)
    s = tile::ScaleOp::create(b, s.getType(), s, b.getF32FloatAttr(0.0f));
  if (hasScoreCode())
    s = buildScoreCode(at, tile, s, keys);
  s = tile::MaskOp::create(b, s.getType(), s, queryView, at.rows[tile],
                           keys.column, keys.views.keys.front(), keys.lower,
                           keys.upper);
  auto max = tile::RowMaxOp::create(b, rowType(), rowType(), s, state.max,
                                    softmaxScale(),
                                    b.getF32FloatAttr(plan.rescaleThreshold));
  Exponentials p = buildExponentials(tile, s, max, state.sum);
  Value acc = inRegion(tile::RescaleOp::create(b, state.acc.getType(),
                                               state.acc, max.getAlpha()),
                       "", 0, "stats" + Twine(tile));
  acc = buildProduct(p.slices, block.values, acc);
  return {max.getMax(), p.sum, acc};
}

/// Where V is the first columns of K, and shares its message, it is a slice.
BlockTiles KernelBuilder::loadBlock(const KeyBlock &keys) {
  auto load = [&](StringRef ring, Value view, int64_t rows, int64_t columns,
                  Value row) {
    TileType type = TileType::get(b.getContext(), {rows, columns},
                                  op.getElementType(), Attribute());
    auto made = tile::LoadOp::create(b, type, row, view, Value());
    return inRegion(made, ring).getResult();
  };
  Value firstKey = keys.column;
  BlockTiles block;
  int64_t chunk = plan.keyChunk ? plan.keyChunk : keyColumns();
  for (auto [n, view] : llvm::enumerate(keys.views.keys)) {
    int64_t columns = std::min(chunk, keyColumns() - int64_t(n) * chunk);
    block.keys.push_back(load("KV", view, plan.kvBlock, columns, firstKey));
  }
  if (plan.shareKv) {
    block.values = {slice(block.keys.front(), 0, outputColumns())};
    return block;
  }
  int64_t rows = plan.valueChunk ? plan.valueChunk : plan.kvBlock;
  for (int64_t n = 0; n < plan.kvBlock; n += rows) {
    Value row = n ? make<arith::AddIOp>(firstKey, index(n)) : firstKey;
    block.values.push_back(load(plan.vStages ? "V" : "KV", keys.views.values,
                                rows, outputColumns(), row));
  }
  return block;
}

/// Returns the values of `body`, which stands in a branch where the CTA may
/// have no rows for `tile`, or else `otherwise`:
///   %s:3 = scf.if %active { ...; yield %max, %sum, %acc } else { yield %old }
SmallVector<Value>
KernelBuilder::ifActive(unsigned tile, ValueRange otherwise,
                        function_ref<SmallVector<Value>()> body) {
  if (!active[tile])
    return body();
  bool yields = !otherwise.empty();
  auto branch =
      scf::IfOp::create(b, otherwise.getTypes(), active[tile], yields);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> values = body();
  if (yields) {
    scf::YieldOp::create(b, values);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, otherwise);
  }
  return branch.getResults();
}

void KernelBuilder::buildBlock(const Coordinates &at, ArrayRef<Value> queries,
                               Value block, SmallVectorImpl<State> &states) {
  KeyBlock keys = buildKeyBlock(at, block);
  BlockTiles tiles = loadBlock(keys);
  for (unsigned tile = 0; tile < plan.qTiles; ++tile) {
    State &state = states[tile];
    SmallVector<Value> made = ifActive(tile, state.values(), [&] {
      return buildStep(at, tile, queries[tile], tiles, keys, state).values();
    });
    state = {made[0], made[1], made[2]};
  }
}

void KernelBuilder::build() {
  Coordinates at = buildCoordinates();
  queryView = view(func.getArgument(Query), placeOfQueries(at), plan.packHeads);
  active.resize(plan.qTiles);
  if (schedule::skipsEmptyTiles(plan))
    active[1] = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at.rows[1],
                                      at.queries.length);
  SmallVector<Value> queries;
  for (unsigned tile = 0; tile < plan.qTiles; ++tile)
    queries.push_back(inRegion(
        tile::LoadOp::create(b, tileType(keyColumns(), op.getElementType()),
                             at.rows[tile], queryView, Value()),
        "Q" + Twine(tile)));
  chunkColumns = {Value()};
  for (int64_t n = plan.keyChunk; n && n < keyColumns(); n += plan.keyChunk)
    chunkColumns.push_back(index(n));
  if (!second)
    keyViews = viewKeys(at, at.keys, /*isSecond=*/Value());
  SmallVector<Value> initial = buildInitialState();
  Value blocks = at.blocks;
  if (second)
    blocks = make<arith::AddIOp>(blocks, second->blocks);
  auto loop = scf::ForOp::create(b, index(0), blocks, index(1), initial);
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

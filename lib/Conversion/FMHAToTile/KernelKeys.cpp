//===- KernelKeys.cpp - The KV blocks of a kernel's loop ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelKeys.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using tile::TileType;

/// The distance of an absent bound if the other KV segment has one: kernels
/// with bounds have lengths below 2^30, so that sums of rows and bounds fit 32
/// bits.
static constexpr int64_t unbounded = schedule::Mask::largestWindow;

KeyBlocks::KeyBlocks(KernelContext &k, const Coordinates &at)
    : k(k), at(at), chunkColumns{Value()} {
  for (int64_t n = k.plan.keyChunk; n && n < k.keyColumns();
       n += k.plan.keyChunk)
    chunkColumns.push_back(k.index(n));
  if (!at.second)
    views = view(at.keys, /*isSecond=*/Value());
}

Value KeyBlocks::buildCount() {
  return at.second ? k.make<arith::AddIOp>(at.blocks, at.second->blocks)
                   : at.blocks;
}

/// Returns views of the keys and values of `keys`: of the second segment, if
/// there is one and `isSecond` holds.
KeyViews KeyBlocks::view(const Sequence &keys, Value isSecond) {
  tile::ViewPlace place;
  place.batch = keys.batch;
  place.head = at.kvHead;
  place.start = keys.start;
  place.length = keys.length;
  if (keys.entry) {
    place.pages = k.operand("block_tables");
    place.entry = keys.entry;
  }
  if (keys.first) {
    place.list = k.operand("topk");
    place.first = keys.first;
    place.bound = keys.bound;
  }
  place.second = isSecond;
  auto viewAt = [&](Argument tensor, const char *other, Value column) {
    place.other = isSecond ? k.operand(other) : Value();
    place.column = column;
    return k.view(k.func.getArgument(tensor), place).getResult();
  };
  KeyViews views;
  for (Value column : chunkColumns)
    views.keys.push_back(viewAt(Key, "k2", column));
  if (!k.plan.shareKv)
    views.values = viewAt(Values, "v2", valueColumn());
  return views;
}

/// Returns the first column of the values that the CTA loads, or null for 0.
Value KeyBlocks::valueColumn() {
  if (!at.rank)
    return at.column;
  return k.make<arith::MulIOp>(at.rank,
                               k.index(k.outputColumns() / k.plan.ctaGroup));
}

KeyBlock KeyBlocks::buildBlock(Value block) {
  KeyBlock made = buildOfFirst(block);
  if (at.second)
    chooseSource(made, block);
  return made;
}

/// Builds a block of the first segment.
KeyBlock KeyBlocks::buildOfFirst(Value block) {
  const schedule::Mask &mask = k.op.getMask();
  auto shifted = [&](Value offset, int64_t distance) -> Value {
    return distance ? k.make<arith::AddIOp>(offset, k.index(distance)) : offset;
  };
  KeyBlock made;
  made.keys = at.keys;
  if (at.lists) {
    ListedBlock listed = at.lists->buildBlock(k, block);
    made.column = listed.column;
    made.isFull = listed.isFull;
    made.firstRow = listed.firstRow;
  } else {
    made.column = k.make<arith::MulIOp>(block, k.index(k.plan.kvBlock));
    if (at.firstKey)
      made.column = k.make<arith::AddIOp>(made.column, at.firstKey);
  }
  if (std::optional<unsigned> right = mask.rightBound())
    made.upper = shifted(at.offset, *right);
  if (mask.left)
    made.lower = shifted(at.offset, -int64_t(*mask.left));
  made.views = views;
  return made;
}

/// Replaces `made`, a block of the first segment, by a block of the second
/// segment if the index `block` lies in the second one.
void KeyBlocks::chooseSource(KeyBlock &made, Value block) {
  const SecondKeys &second = *at.second;
  made.second =
      arith::CmpIOp::create(k.b, arith::CmpIPredicate::sge, block, at.blocks);
  auto pick = [&](Value of2, Value of1) {
    return k.select(made.second, of2, of1);
  };
  Value number = k.make<arith::SubIOp>(block, at.blocks);
  Value column2 = k.make<arith::MulIOp>(number, k.index(k.plan.kvBlock));
  if (second.firstKey)
    column2 = k.make<arith::AddIOp>(column2, second.firstKey);
  made.column = pick(column2, made.column);
  const Sequence &own = second.keys;
  made.keys.batch = pick(own.batch, at.keys.batch);
  if (own.start)
    made.keys.start = pick(own.start, at.keys.start);
  made.keys.length = pick(own.length, at.keys.length);
  if (made.lower)
    made.lower = pick(k.index(-unbounded), made.lower);
  bool bounded = bool(k.op.getSource2Mask().rightBound());
  if (bounded || made.upper)
    made.upper = pick(bounded ? second.offset : k.index(unbounded),
                      made.upper ? made.upper : k.index(unbounded));
  made.views = view(made.keys, made.second);
}

Value KeyBlocks::loadTile(StringRef ring, Value view, int64_t rows,
                          int64_t columns, Value row) {
  TileType type = TileType::get(k.b.getContext(), {rows, columns},
                                k.op.getElementType(), Attribute());
  auto made = tile::LoadOp::create(k.b, type, row, view, Value());
  if (schedule::copiesKeysByThreads(k.plan) && !schedule::usesAddresses(k.plan))
    k.inRole(made, k.problem.kvE4M3 ? "convert" : "gather");
  return k.inRegion(made, ring).getResult();
}

/// Loads the scales of the pages that the keys are in. The role that converts
/// the keys has the places of their pages.
Value KeyBlocks::loadFactors(const KeyBlock &keys) {
  if (!k.problem.scalePerPage)
    return {};
  auto type = TileType::get(k.b.getContext(), {2 * int64_t(k.plan.kvBlock)},
                            k.b.getF32Type(), Attribute());
  auto made = tile::LoadFactorsOp::create(
      k.b, type, k.operand("k_scale"), k.operand("v_scale"),
      keys.views.keys.front(), keys.column, Value());
  k.inRole(made, "convert");
  return k.inRegion(made, "factors").getResult();
}

BlockTiles KeyBlocks::load(const KeyBlock &keys) {
  Value firstKey = keys.column;
  BlockTiles block;
  int64_t chunk = k.plan.keyChunk ? k.plan.keyChunk : k.keyColumns();
  // Each CTA of a pair loads its part of K's keys and of V's columns.
  int64_t ownKeys = k.plan.kvBlock / k.plan.ctaGroup;
  Value ownKey = firstKey;
  if (at.rank)
    ownKey = k.make<arith::AddIOp>(
        firstKey, k.make<arith::MulIOp>(at.rank, k.index(ownKeys)));
  for (auto [n, view] : llvm::enumerate(keys.views.keys)) {
    int64_t columns = std::min(chunk, k.keyColumns() - int64_t(n) * chunk);
    block.keys.push_back(loadTile("KV", view, ownKeys, columns, ownKey));
  }
  block.factors = loadFactors(keys);
  if (k.plan.shareKv) {
    // Each of several consumers has a slice of its own.
    Value keyTile = block.keys.front();
    block.values = {k.consumers() > 1 ? keyTile
                                      : k.slice(keyTile, 0, k.outputColumns())};
    return block;
  }
  int64_t rows = k.plan.valueChunk ? k.plan.valueChunk : k.plan.kvBlock;
  for (int64_t n = 0; n < k.plan.kvBlock; n += rows) {
    Value row = n ? k.make<arith::AddIOp>(firstKey, k.index(n)) : firstKey;
    block.values.push_back(loadTile(k.plan.vStages ? "V" : "KV",
                                    keys.views.values, rows,
                                    k.outputColumns() / k.plan.ctaGroup, row));
  }
  return block;
}

/// Returns the scale of the values of the first page of a sequence that has
/// keys.
static Value loadFirstScale(KernelContext &k, const Coordinates &at) {
  Value entry =
      memref::LoadOp::create(k.b, k.operand("block_tables"), at.keys.entry);
  Value page = arith::IndexCastOp::create(k.b, k.b.getIndexType(), entry);
  Value last = k.make<arith::SubIOp>(k.extent(Key, 0), k.index(1));
  // Entries may be invalid.
  page = k.make<arith::MaxSIOp>(k.make<arith::MinSIOp>(page, last), k.index(0));
  return memref::LoadOp::create(k.b, k.operand("v_scale"), page);
}

/// sequence has keys ? scale of its first page : 1, and 1 if the scale is not
/// in [2^-126, 2^126]
Value fmha::buildOutputScale(KernelContext &k, const Coordinates &at) {
  if (!k.problem.scalePerPage)
    return k.scaleOf("v_scale", at.kvHead);
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(k.b, k.b.getF32FloatAttr(value));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value lhs, float rhs) {
    return arith::CmpFOp::create(k.b, predicate, lhs, number(rhs)).getResult();
  };
  // Without keys the lists may be empty.
  Value hasKeys = arith::CmpIOp::create(k.b, arith::CmpIPredicate::sgt,
                                        at.keys.all(), k.index(0));
  auto branch = scf::IfOp::create(k.b, TypeRange(k.b.getF32Type()), hasKeys,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(k.b, loadFirstScale(k, at));
    k.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(k.b, number(1));
  }
  Value scale = branch.getResult(0);
  Value isFactor = k.make<arith::AndIOp>(
      compare(arith::CmpFPredicate::OGE, scale, 0x1p-126f),
      compare(arith::CmpFPredicate::OLE, scale, 0x1p126f));
  return arith::SelectOp::create(k.b, isFactor, scale, number(1));
}

//===----------------------------------------------------------------------===//
// New keys
//===----------------------------------------------------------------------===//

/// Returns the first row that the CTA copies, and the end of its rows.
static std::pair<Value, Value> buildOwnRows(KernelContext &k,
                                            const Coordinates &at) {
  if (!at.split)
    return {k.index(0), at.keys.length};
  using Predicate = arith::CmpIPredicate;
  auto compare = [&](Predicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(k.b, predicate, lhs, rhs);
  };
  // A split has a first key.
  Value after = k.make<arith::AddIOp>(
      at.firstKey, k.make<arith::MulIOp>(at.blocks, k.index(k.plan.kvBlock)));
  Value isFirst = compare(Predicate::eq, at.split, k.index(0));
  // A slot that no sequence needs has part 1 of 1, which is not the last one.
  Value isLast = compare(
      Predicate::eq, k.make<arith::AddIOp>(at.split, k.index(1)), at.splits);
  return {k.select(isFirst, k.index(0), at.firstKey),
          k.select(isLast, at.keys.length, after)};
}

void fmha::buildAppend(KernelContext &k, const Coordinates &at) {
  Value fresh = k.operand("key_new");
  if (!fresh)
    return;
  auto [first, end] = buildOwnRows(k, at);
  Value pages = at.keys.entry ? k.operand("block_tables") : Value();
  tile::AppendRowsOp::create(
      k.b, fresh, k.operand("value_new"), at.sequence, k.func.getArgument(Key),
      k.func.getArgument(Values), pages, at.keys.entry,
      k.operand(angleTables[0]), k.operand(angleTables[1]), at.kvHead, first,
      end, at.keys.length, k.problem.rotaryInterleaved);
}

//===- Specialise.cpp - Cut the sequential program into roles ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecialiseChannels.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILESPECIALISE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

class Specialiser {
public:
  Specialiser(gpu::GPUFuncOp func, const KernelInfo &info, KernelParts &parts)
      : func(func), info(info), parts(parts),
        b(func.getLoc(), func.getContext()) {}
  void run();

private:
  using RoleBody = void (Specialiser::*)();

  void buildRole(const schedule::Role &role);
  void buildSoftmax(unsigned tile);
  void forActiveTiles(function_ref<void(unsigned)> body);

  void buildLoad();
  void buildMma();
  void buildCorrection();
  void buildStore();

  void loadInto(LoadOp original, Value channel, Value message,
                IRMapping &numbers);
  void loadBlock(Value block);
  void issueScores(unsigned tile, Value query, Value block,
                   SmallVectorImpl<Value> &keys);
  void issueProduct(unsigned tile, Value block, SmallVectorImpl<Value> &values,
                    bool last);
  void issueStep(Value block, ArrayRef<Value> queries);
  void rescaleOutput(unsigned tile, Value message);
  void clearOutput(QueryTileParts &part);
  void finishOutput(unsigned tile);
  void softmaxBlock(unsigned tile, Value block, Value &max, Value &sum);
  void sendP(unsigned tile, Value block, Value x, RowMaxOp max, Value &sum);
  void storeRows(unsigned tile, Value max, Value sum, Value sink);
  void sendStats(unsigned tile, MoveOp original, Value stats, Value message);

  // Small builders.
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value add(Value v, int64_t n) {
    return n ? Value(arith::AddIOp::create(b, v, index(n))) : v;
  }
  /// Messages of K and of V in a KV block, and in a turn of their ring. Where
  /// the message of K is that of V as well, V has none of its own.
  int64_t keyCount() { return parts.keys.size(); }
  int64_t valueCount() { return parts.values.size(); }
  bool isShared() { return parts.values.empty(); }
  bool isSplit() { return info.schedule.vStages != 0; }
  int64_t keyTurn() {
    return isSplit() ? keyCount() : keyCount() + valueCount();
  }
  int64_t valueTurn() { return isSplit() ? valueCount() : keyTurn(); }
  /// turn·block + n.
  Value ringMessage(Value block, int64_t turn, int64_t n) {
    if (isConstantIntValue(block, 0))
      return index(n);
    if (turn != 1)
      block = arith::MulIOp::create(b, block, index(turn));
    return add(block, n);
  }
  Value keyMessage(Value block, int64_t n) {
    return ringMessage(block, keyTurn(), n);
  }
  /// V follows K in their ring.
  Value valueMessage(Value block, int64_t n) {
    return ringMessage(block, valueTurn(),
                       isSplit() || isShared() ? n : keyCount() + n);
  }
  Value receiveKey(Value block, int64_t n) {
    return ReceiveOp::create(b, parts.keys[n].getType(), ring,
                             keyMessage(block, n));
  }
  Value receiveValue(Value block, int64_t n);
  /// For numberOf(): what stands for values of the loop over blocks.
  IRMapping numbersOf(Value block) {
    IRMapping numbers;
    numbers.map(parts.loop.getInductionVar(), block);
    return numbers;
  }
  Value numberOf(Value value, IRMapping &numbers);
  Value partOf(DotOp original, Value whole);
  Value positive(Value v) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, v, index(0));
  }
  Value receive(Value channel, Value message) {
    return ReceiveOp::create(b, tileOf(channel), channel, message);
  }
  Value acquire(Value channel, Value message) {
    return AcquireOp::create(b, tileOf(channel), channel, message);
  }
  void publish(Value channel, Value message) {
    PublishOp::create(b, channel, message);
  }
  void release(Value channel, Value message) {
    ReleaseOp::create(b, channel, message);
  }
  static TileType tileOf(Value channel) {
    return cast<ChannelType>(channel.getType()).getTile();
  }
  void ifThen(Value condition, function_ref<void()> body,
              function_ref<void()> otherwise = nullptr);
  void forBlocks(Value count, function_ref<void(Value)> body);
  template <typename OpTy>
  OpTy cloneForBlock(OpTy op, ArrayRef<Value> values, IRMapping &numbers);
  /// Clones `op`, its operand number n replaced by values[n] where that is set.
  template <typename OpTy> OpTy clone(OpTy op, ArrayRef<Value> values) {
    auto made = cast<OpTy>(b.clone(*op.getOperation()));
    for (auto [n, value] : llvm::enumerate(values))
      if (value)
        made->setOperand(n, value);
    return made;
  }

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  KernelParts &parts;
  ImplicitLocOpBuilder b;
  SmallVector<TileChannels> channels;
  Value ring, valueRing;
  /// KV blocks of this CTA, and whether its second query tile has rows.
  Value blocks, secondActive;
};

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

void Specialiser::ifThen(Value condition, function_ref<void()> body,
                         function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/!!otherwise);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(op.elseBlock());
  otherwise();
}

void Specialiser::forBlocks(Value count, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, index(0), count, index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// A CTA at the end of a sequence may have rows for its first query tile only;
/// then nothing of the second one is computed.
void Specialiser::forActiveTiles(function_ref<void(unsigned)> body) {
  body(0);
  if (parts.tiles.size() == 2)
    ifThen(secondActive, [&] { body(1); });
}

//===----------------------------------------------------------------------===//
// Numbers of a block
//===----------------------------------------------------------------------===//

/// `value` as it is for the block of `numbers`: the arithmetic that makes it in
/// the sequential loop is done again.
///   %j·128 + %first  ->  %block·128 + %first
Value Specialiser::numberOf(Value value, IRMapping &numbers) {
  Operation *op = value.getDefiningOp();
  if (!isa<TileType>(value.getType()) && op && parts.loop->isAncestor(op) &&
      !numbers.contains(value)) {
    for (Value operand : op->getOperands())
      numberOf(operand, numbers);
    b.clone(*op, numbers);
  }
  return numbers.lookupOrDefault(value);
}

/// Clones `op`, its operand number n replaced by values[n], and its numbers by
/// those of the block.
template <typename OpTy>
OpTy Specialiser::cloneForBlock(OpTy op, ArrayRef<Value> values,
                                IRMapping &numbers) {
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    numberOf(value, numbers);
  auto made = cast<OpTy>(b.clone(*op.getOperation(), numbers));
  for (auto [n, value] : llvm::enumerate(values))
    made->setOperand(n, value);
  return made;
}

//===----------------------------------------------------------------------===//
// load
//===----------------------------------------------------------------------===//

void Specialiser::loadInto(LoadOp original, Value channel, Value message,
                           IRMapping &numbers) {
  Value slot =
      AcquireOp::create(b, original.getType(), channel, message).getResult();
  LoadOp made = cloneForBlock(original, {}, numbers);
  made->removeAttr("tile.q_tile");
  made.getIntoMutable().assign(slot);
  publish(channel, message);
}

void Specialiser::loadBlock(Value block) {
  IRMapping numbers = numbersOf(block);
  numberOf(parts.firstKey, numbers);
  for (auto [n, key] : llvm::enumerate(parts.keys))
    loadInto(key, ring, keyMessage(block, n), numbers);
  for (auto [n, value] : llvm::enumerate(parts.values))
    loadInto(value, valueRing, valueMessage(block, n), numbers);
}

/// Without KV blocks nothing reads the queries, and the output may take their
/// place at once: so they are not loaded. A query tile without rows is loaded
/// with the other one: it reads as zeros and touches no memory.
void Specialiser::buildLoad() {
  ifThen(positive(blocks), [&] {
    IRMapping none;
    for (auto [part, ch] : llvm::zip(parts.tiles, channels))
      loadInto(part.query, ch.query, index(0), none);
    forBlocks(blocks, [&](Value block) { loadBlock(block); });
  });
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

/// A message that is both is received a second time, as V.
Value Specialiser::receiveValue(Value block, int64_t n) {
  Value message = valueMessage(block, n);
  if (!isShared())
    return ReceiveOp::create(b, parts.values[n].getType(), valueRing, message);
  Value key = receiveKey(block, n);
  return parts.valueSlice ? clone(parts.valueSlice, {key}).getResult() : key;
}

/// A of the dot that `original` was, from the whole of A.
Value Specialiser::partOf(DotOp original, Value whole) {
  auto slice = original.getA().getDefiningOp<SliceOp>();
  return slice ? clone(slice, {whole}).getResult() : whole;
}

/// `keys` are the messages of the block, received by the first tile that needs
/// them. All but the last are released as soon as they are read; a block of
/// several has one query tile.
void Specialiser::issueScores(unsigned tile, Value query, Value block,
                              SmallVectorImpl<Value> &keys) {
  acquire(channels[tile].scores, block);
  Value sum;
  for (auto [n, original] : llvm::enumerate(parts.tiles[tile].scores)) {
    if (keys.size() == n)
      keys.push_back(receiveKey(block, n));
    sum =
        DotOp::create(b, original.getType(), partOf(original, query), keys[n],
                      sum, Value(), /*transpose_b=*/true, original.getNegate(),
                      /*rows=*/IntegerAttr());
    if (n + 1 != parts.keys.size())
      release(ring, keyMessage(block, n));
  }
  publish(channels[tile].scores, block);
}

/// O takes the product as it stands for block 0, and is added to afterwards. A
/// slice of P, or a message of V, is received by the first product that reads
/// it. P of the last block is not released: nobody waits for it, and a signal
/// must not reach shared memory that the CTA has left.
void Specialiser::issueProduct(unsigned tile, Value block,
                               SmallVectorImpl<Value> &values, bool last) {
  TileChannels &ch = channels[tile];
  SmallVector<Value> slices = {receive(ch.p.front(), block)};
  Value acc = receive(ch.ready, block), accumulate = positive(block);
  size_t message = 0;
  for (ProductPart &part : parts.tiles[tile].products) {
    // Several messages have one query tile: nobody else reads the one before.
    if (part.message != message)
      release(valueRing, valueMessage(block, message));
    message = part.message;
    if (slices.size() == part.slice)
      slices.push_back(receive(ch.p[part.slice], block));
    if (values.size() == message)
      values.push_back(receiveValue(block, message));
    acc = DotOp::create(b, part.dot.getType(),
                        partOf(part.dot, slices[part.slice]), values[message],
                        acc, accumulate, /*transpose_b=*/false,
                        /*negate=*/false, part.dot.getRowsAttr());
    accumulate = Value();
  }
  publish(ch.done, block);
  if (!last)
    release(ch.p.back(), block);
}

/// Product of block j, scores of block j + 1. A message is free when all tiles
/// have read it; one that is K and V when it has been V.
void Specialiser::issueStep(Value block, ArrayRef<Value> queries) {
  SmallVector<Value> values, keys;
  Value next = add(block, 1);
  bool single = parts.tiles.size() == 1;
  Value lastValue = valueMessage(block, std::max<int64_t>(valueCount(), 1) - 1);
  values.push_back(receiveValue(block, 0));
  forActiveTiles([&](unsigned tile) {
    issueProduct(tile, block, values, /*last=*/false);
    if (single)
      release(valueRing, lastValue);
    if (keys.empty())
      keys.push_back(receiveKey(next, 0));
    issueScores(tile, queries[tile], next, keys);
  });
  if (!single)
    release(valueRing, lastValue);
  if (!isShared())
    release(ring, keyMessage(next, keyCount() - 1));
}

/// scores 0; for each next block: product j, scores j + 1; product of the last.
/// The last product is committed behind all releases, and correction waits for
/// it. tcgen05.commit is in order with the other tcgen05 operations of its
/// thread (PTX ISA 9.7.16.6.1): no release reaches shared memory that the CTA
/// has left.
void Specialiser::buildMma() {
  ifThen(positive(blocks), [&] {
    SmallVector<Value> queries;
    for (TileChannels &ch : channels)
      queries.push_back(receive(ch.query, index(0)));
    SmallVector<Value> keys = {receiveKey(index(0), 0)};
    forActiveTiles([&](unsigned tile) {
      issueScores(tile, queries[tile], index(0), keys);
    });
    if (!isShared())
      release(ring, keyMessage(index(0), keyCount() - 1));
    Value last = add(blocks, -1);
    forBlocks(last, [&](Value block) { issueStep(block, queries); });
    SmallVector<Value> values = {receiveValue(last, 0)};
    forActiveTiles([&](unsigned tile) {
      issueProduct(tile, last, values, /*last=*/true);
    });
  });
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

void Specialiser::sendStats(unsigned tile, MoveOp original, Value stats,
                            Value message) {
  Value slot = acquire(channels[tile].stats, message);
  MoveOp::create(b, original.getType(), stats, slot);
  publish(channels[tile].stats, message);
}

/// alpha leaves before the exponentials, so that O is rescaled meanwhile.
void Specialiser::softmaxBlock(unsigned tile, Value block, Value &max,
                               Value &sum) {
  QueryTileParts &part = parts.tiles[tile];
  TileChannels &ch = channels[tile];
  Value scores = receive(ch.scores, block);
  Value x = clone(part.scoresOut, {scores}).getResult();
  if (ch.scores.getDefiningOp<ChannelOp>().hasReleaseBarrier())
    release(ch.scores, block);
  if (part.scale)
    x = clone(part.scale, {x}).getResult();
  IRMapping numbers = numbersOf(block);
  if (part.modify)
    x = cloneForBlock(part.modify, {x}, numbers).getResult();
  x = cloneForBlock(part.mask, {x}, numbers).getResult();
  RowMaxOp newMax = clone(part.max, {x, max});
  sendStats(tile, part.alphaOut, newMax.getAlpha(), block);
  sendP(tile, block, x, newMax, sum);
  max = newMax.getMax();
}

/// The product of a slice begins while the exponentials of the next one are
/// made. Nobody waits for the sum, so that it follows the last slice; P in one
/// piece is summed before it is rounded, for there are not registers for both.
void Specialiser::sendP(unsigned tile, Value block, Value x, RowMaxOp max,
                        Value &sum) {
  QueryTileParts &part = parts.tiles[tile];
  SmallVector<Value> exact;
  auto addUp = [&] {
    Value p = exact.front();
    if (part.join)
      p = JoinOp::create(b, part.join.getType(), exact);
    sum = clone(part.sum, {p, sum, max.getAlpha()}).getResult();
  };
  for (auto [slice, ch] : llvm::zip(part.slices, channels[tile].p)) {
    Value own = slice.slice ? clone(slice.slice, {x}).getResult() : x;
    exact.push_back(clone(slice.exp, {own, max.getMax()}).getResult());
    if (!part.join)
      addUp();
    Value half = clone(slice.cast, {exact.back()}).getResult();
    Value slot = acquire(ch, block);
    MoveOp::create(b, slice.out.getType(), half, slot);
    publish(ch, block);
  }
  if (part.join)
    addUp();
}

/// The sink is read behind the loop: softmax has no register for it before.
void Specialiser::buildSoftmax(unsigned tile) {
  QueryTileParts &part = parts.tiles[tile];
  Value max = clone(part.maxInit, {}).getResult();
  Value sum = clone(part.sumInit, {}).getResult();
  auto loop =
      scf::ForOp::create(b, index(0), blocks, index(1), ValueRange{max, sum});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value newMax = loop.getRegionIterArg(0), newSum = loop.getRegionIterArg(1);
    softmaxBlock(tile, loop.getInductionVar(), newMax, newSum);
    scf::YieldOp::create(b, ValueRange{newMax, newSum});
  }
  Value total = loop.getResult(1), sink;
  if (part.addSink) {
    sink = clone(part.sink, {}).getResult();
    total = clone(part.addSink, {loop.getResult(0), total, sink}).getResult();
  }
  sendStats(tile, part.sumOut, total, blocks);
  // Where nothing is divided the sink is in the LSE alone.
  if (part.lse && part.lse.getSink() && !sink)
    sink = clone(part.sink, {}).getResult();
  storeRows(tile, loop.getResult(0), loop.getResult(1), sink);
}

/// LSE, maximum and sum of the loop, as far as they are stored.
void Specialiser::storeRows(unsigned tile, Value max, Value sum, Value sink) {
  QueryTileParts &part = parts.tiles[tile];
  for (StoreRowsOp store : part.rowStores) {
    Operation *made = store.getValue().getDefiningOp();
    Value value = sum;
    if (isa_and_nonnull<LseOp>(made))
      value = clone(part.lse, {max, sum, sink}).getResult();
    else if (isa_and_nonnull<ScaleOp>(made))
      value = clone(part.rowMax, {max}).getResult();
    clone(store, {value});
  }
}

//===----------------------------------------------------------------------===//
// correction
//===----------------------------------------------------------------------===//

void Specialiser::rescaleOutput(unsigned tile, Value message) {
  QueryTileParts &part = parts.tiles[tile];
  TileChannels &ch = channels[tile];
  Value stats = receive(ch.stats, message);
  Value alpha = clone(part.alphaIn, {stats}).getResult();
  release(ch.stats, message);
  ifThen(positive(message), [&] {
    Value acc = receive(ch.done, add(message, -1));
    clone(part.rescale, {acc, alpha});
  });
  publish(ch.ready, message);
}

void Specialiser::clearOutput(QueryTileParts &part) {
  if (!part.write) {
    FillOp::create(b, part.normalize.getType(), b.getF32FloatAttr(0.0f));
    return;
  }
  WriteOp zeros = clone(part.write, {});
  zeros.getValueMutable().clear();
  zeros.getSumMutable().clear();
}

/// Rows of a CTA without KV blocks are zeros: O was never written.
void Specialiser::finishOutput(unsigned tile) {
  QueryTileParts &part = parts.tiles[tile];
  TileChannels &ch = channels[tile];
  Value stats = receive(ch.stats, blocks);
  Value sum = clone(part.sumIn, {stats}).getResult();
  ifThen(
      positive(blocks),
      [&] {
        Value acc = receive(ch.done, add(blocks, -1));
        if (part.write)
          clone(part.write, {acc, sum});
        else
          clone(part.normalize, {acc, sum});
      },
      [&] { clearOutput(part); });
  if (part.store)
    publish(ch.out, index(0));
}

void Specialiser::buildCorrection() {
  forBlocks(blocks, [&](Value block) {
    forActiveTiles([&](unsigned tile) { rescaleOutput(tile, block); });
  });
  forActiveTiles([&](unsigned tile) { finishOutput(tile); });
}

//===----------------------------------------------------------------------===//
// store
//===----------------------------------------------------------------------===//

void Specialiser::buildStore() {
  if (!parts.tiles.front().store)
    return;
  forActiveTiles([&](unsigned tile) {
    Value out = receive(channels[tile].out, index(0));
    clone(parts.tiles[tile].store, {out});
  });
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void Specialiser::buildRole(const schedule::Role &role) {
  static const llvm::StringMap<RoleBody> bodies = {
      {"load", &Specialiser::buildLoad},
      {"mma", &Specialiser::buildMma},
      {"correction", &Specialiser::buildCorrection},
      {"store", &Specialiser::buildStore}};
  StringRef name = role.name;
  bool single = name == "load" || name == "mma" || name == "store";
  auto op = RoleOp::create(b, name, role.firstWarp, role.firstWarp + role.warps,
                           role.registers, single);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&op.getBody());
  if (auto body = bodies.find(name); body != bodies.end())
    (this->*body->second)();
  else if (name == "softmax0")
    buildSoftmax(0);
  else if (name == "softmax1" && parts.tiles.size() == 2)
    ifThen(secondActive, [&] { buildSoftmax(1); });
}

void Specialiser::run() {
  b.setInsertionPoint(func.getBody().front().getTerminator());
  blocks = parts.loop.getUpperBound();
  if (parts.tiles.size() == 2) {
    LoadOp query = parts.tiles[1].query;
    ViewOp view = query.getViewOp();
    Value length = view.getLength();
    if (!view.getStart())
      length = memref::DimOp::create(b, view.getSource(), 1);
    secondActive = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                         query.getRow(), length);
  }
  Channels made = buildChannels(b, parts, info.schedule);
  std::tie(ring, valueRing, channels) =
      std::tie(made.ring, made.valueRing, made.tiles);
  auto all = SpecialiseOp::create(b);
  b.createBlock(&all.getBody());
  for (const schedule::Role &role : info.schedule.roles)
    buildRole(role);
}

struct TileSpecialisePass
    : public fmha::tile::impl::TileSpecialiseBase<TileSpecialisePass> {
  void runOnOperation() override {
    if (!isTmemKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(expectStage(getOperation(), KernelStage::Placed, getArgument())))
      return signalPassFailure();
    FailureOr<KernelParts> parts = findParts(getOperation(), info->schedule);
    if (failed(parts))
      return signalPassFailure();
    Specialiser(getOperation(), *info, *parts).run();
    eraseSequential(getOperation());
  }
};

} // namespace

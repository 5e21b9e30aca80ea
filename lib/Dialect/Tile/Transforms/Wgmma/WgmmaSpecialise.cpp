//===- WgmmaSpecialise.cpp - Cut a wgmma kernel into roles ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   load       q of each tile; k 0, v 0, k 1, v 1, ...
//   consumer   s = q.k0; softmax 0
//              for j:  begin s' = q.k(j+1); begin acc += p.v(j)
//                      await s'; softmax j+1; await acc; acc *= alpha
//              acc += p.v(last); epilogue
//   store      the output tiles
//
//===----------------------------------------------------------------------===//

#include "WgmmaParts.h"
#include "WgmmaTiles.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEWGMMASPECIALISE
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

constexpr unsigned groupThreads = target::warpgroupThreads,
                   groupWarps = target::warpgroupWarps;

class WgmmaSpecialiser {
public:
  WgmmaSpecialiser(gpu::GPUFuncOp func, const KernelInfo &info,
                   WgmmaParts &parts)
      : func(func), info(info), parts(parts),
        b(func.getLoc(), func.getContext()) {}
  void run();

private:
  /// What a consumer carries from block to block: maximum, sum, accumulator
  /// and P, in the order of the loop's values.
  using State = SmallVector<Value, 4>;

  void buildChannels();
  void buildRole(const schedule::Role &role);
  void buildWork(StringRef role);
  void buildLoad();
  void loadQueries();
  void loadBlock(Value block);
  void loadBlocks(Value first);
  void buildStore();
  void buildConsumer(unsigned tile);
  State buildBlocks(unsigned tile, Value query, ArrayRef<Value> initial);
  Value receiveQuery(unsigned tile);
  State buildStep(unsigned tile, Value block, Value query, const State &before);

  void loadInto(LoadOp original, Value channel, Value message,
                IRMapping &numbers);
  Value issueScores(ConsumerParts &tile, Value query, Value block,
                    IRMapping &numbers);
  Value issueProducts(ConsumerParts &tile, const State &state, Value block);
  void softmax(ConsumerParts &tile, Value scores, ArrayRef<Value> before,
               IRMapping &numbers);
  State yielded(ConsumerParts &tile, Value acc, IRMapping &numbers);
  SmallVector<Value> await(ValueRange values, unsigned pending);
  void release(Value message) { release(ring, message); }
  void release(Value channel, Value message);
  void releaseQuery(unsigned tile);
  void shareP(ConsumerParts &tile);
  void takeTurn(unsigned tile);
  void takeTurnIf(bool condition, unsigned tile);
  void passTurn(unsigned tile);

  Operation *clone(Operation *op, IRMapping &numbers);
  void mapNumber(Value value, IRMapping &numbers);
  IRMapping numbersOf(Value block) {
    IRMapping numbers;
    numbers.map(parts.loop.getInductionVar(), block);
    return numbers;
  }
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value add(Value v, int64_t n) {
    return arith::AddIOp::create(b, v, index(n));
  }
  /// V follows K in their ring.
  Value keyMessage(Value block) {
    Value message = arith::MulIOp::create(b, block, index(2));
    return before.ring ? arith::AddIOp::create(b, before.ring, message)
                       : message;
  }
  /// The message of queries and of outputs.
  Value tileMessage() { return before.tiles ? before.tiles : index(0); }
  Value valueMessage(Value block) { return add(keyMessage(block), 1); }
  Value hasBlocks() {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, blocks,
                                 index(0));
  }
  void ifThen(Value condition, function_ref<void()> body);

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  WgmmaParts &parts;
  ImplicitLocOpBuilder b;
  Value blocks, ring;
  SmallVector<Value> queries, outputs;
  /// Where roles loop over tiles.
  MessagesBefore before;
  bool loops = loopsOverTiles(info);
  /// Whether the output is staged over the queries.
  bool outOverQuery = false;
};

void WgmmaSpecialiser::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Numbers of a block
//===----------------------------------------------------------------------===//

/// The arithmetic that makes `value` in the sequential loop is done again for
/// the block of `numbers`:
///   %j.128 + %first  ->  %block.128 + %first
void WgmmaSpecialiser::mapNumber(Value value, IRMapping &numbers) {
  Operation *op = value.getDefiningOp();
  if (isa<TileType>(value.getType()) || !op || !parts.loop->isAncestor(op) ||
      numbers.contains(value))
    return;
  for (Value operand : op->getOperands())
    mapNumber(operand, numbers);
  b.clone(*op, numbers);
}

Operation *WgmmaSpecialiser::clone(Operation *op, IRMapping &numbers) {
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    mapNumber(value, numbers);
  return b.clone(*op, numbers);
}

//===----------------------------------------------------------------------===//
// load and store
//===----------------------------------------------------------------------===//

void WgmmaSpecialiser::loadInto(LoadOp original, Value channel, Value message,
                                IRMapping &numbers) {
  Value slot =
      AcquireOp::create(b, original.getType(), channel, message).getResult();
  // The batch, then the row, then the rest of the view.
  mapNumber(original.getViewOp().getBatch(), numbers);
  auto made = cast<LoadOp>(clone(original, numbers));
  made->removeAttr("tile.q_tile");
  made.getIntoMutable().assign(slot);
  PublishOp::create(b, channel, message);
}

void WgmmaSpecialiser::loadQueries() {
  IRMapping none;
  for (auto [tile, channel] : llvm::zip(parts.tiles, queries))
    loadInto(tile.query, channel, tileMessage(), none);
}

void WgmmaSpecialiser::loadBlock(Value block) {
  IRMapping numbers = numbersOf(block);
  loadInto(parts.key, ring, keyMessage(block), numbers);
  loadInto(parts.value, ring, valueMessage(block), numbers);
}

void WgmmaSpecialiser::loadBlocks(Value first) {
  auto loop = scf::ForOp::create(b, first, blocks, index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  loadBlock(loop.getInductionVar());
}

/// Without KV blocks nothing reads the queries, and the output may take their
/// place at once: so they are not loaded. From tile to tile they are loaded
/// even so, since their slot is handed on, and behind the first block: they
/// wait until the tile before leaves it.
void WgmmaSpecialiser::buildLoad() {
  if (!loops)
    return ifThen(hasBlocks(), [&] {
      loadQueries();
      loadBlocks(index(0));
    });
  ifThen(hasBlocks(), [&] { loadBlock(index(0)); });
  loadQueries();
  loadBlocks(index(1));
}

/// Where the output takes the place of the queries, both are free when it is
/// stored. Who frees the queries has to know of their arrival, which is long
/// ago by then, or the next one could be taken for it.
void WgmmaSpecialiser::buildStore() {
  for (auto [n, channel] : llvm::enumerate(outputs)) {
    if (!channel)
      continue;
    ConsumerParts &tile = parts.tiles[n];
    IRMapping numbers;
    Value staged = tile.store.getValue();
    numbers.map(staged,
                ReceiveOp::create(b, staged.getType(), channel, tileMessage())
                    .getResult());
    clone(tile.store, numbers);
    if (loops && outOverQuery)
      receiveQuery(n);
    if (loops)
      ReleaseOp::create(b, outOverQuery ? queries[n] : channel, tileMessage());
  }
}

//===----------------------------------------------------------------------===//
// consumer
//===----------------------------------------------------------------------===//

/// Which consumer begins next. The first one needs no leave for its first turn;
/// behind its last one it takes the one that the last consumer passes on, so
/// that every arrival is met.
void WgmmaSpecialiser::takeTurn(unsigned tile) {
  if (parts.tiles.size() > 1)
    SyncNamedOp::create(b, 1 + tile, 2 * groupThreads, Value());
}

/// A branch on a constant, so that all consumers look the same and can share
/// their code.
void WgmmaSpecialiser::takeTurnIf(bool condition, unsigned tile) {
  if (parts.tiles.size() > 1)
    ifThen(arith::ConstantOp::create(b, b.getBoolAttr(condition)),
           [&] { takeTurn(tile); });
}

void WgmmaSpecialiser::passTurn(unsigned tile) {
  if (parts.tiles.size() > 1)
    ArriveNamedOp::create(b, 1 + (tile + 1) % parts.tiles.size(),
                          2 * groupThreads, Value());
}

SmallVector<Value> WgmmaSpecialiser::await(ValueRange values,
                                           unsigned pending) {
  return SmallVector<Value>(
      WaitDotsOp::create(b, values.getTypes(), values, pending).getResults());
}

/// One thread of each warp says so, behind the wait of its warp.
void WgmmaSpecialiser::release(Value channel, Value message) {
  ifThen(ElectOp::create(b, b.getI1Type()),
         [&] { ReleaseOp::create(b, channel, message); });
}

/// Behind the last scores, for the next tile. Where the output takes their
/// place, whoever stores it frees both.
void WgmmaSpecialiser::releaseQuery(unsigned tile) {
  if (loops && !outOverQuery)
    release(queries[tile], tileMessage());
}

Value WgmmaSpecialiser::issueScores(ConsumerParts &tile, Value query,
                                    Value block, IRMapping &numbers) {
  numbers.map(tile.query.getResult(), query);
  numbers.map(parts.key.getResult(),
              ReceiveOp::create(b, parts.key.getType(), ring, keyMessage(block))
                  .getResult());
  for (Operation *op : tile.scores)
    clone(op, numbers);
  return numbers.lookup(tile.scores.back()->getResult(0));
}

/// acc + p.v of `block`.
Value WgmmaSpecialiser::issueProducts(ConsumerParts &tile, const State &state,
                                      Value block) {
  IRMapping numbers;
  numbers.map(tile.rescale.getResult(), state[2]);
  numbers.map(
      parts.value.getResult(),
      ReceiveOp::create(b, parts.value.getType(), ring, valueMessage(block))
          .getResult());
  numbers.map(tile.casts.back()->getResult(0), state[3]);
  for (Operation *op : tile.products)
    clone(op, numbers);
  return numbers.lookup(tile.products.back()->getResult(0));
}

/// Everything between the scores and P in 16 bits.
void WgmmaSpecialiser::softmax(ConsumerParts &tile, Value scores,
                               ArrayRef<Value> before, IRMapping &numbers) {
  for (auto [place, value] : llvm::zip(tile.states, before))
    numbers.map(parts.loop.getRegionIterArg(place), value);
  numbers.map(tile.scores.back()->getResult(0), scores);
  for (Operation *op : tile.softmax)
    clone(op, numbers);
}

/// What the loop yields for the tile, with the accumulator `acc`, and P.
WgmmaSpecialiser::State
WgmmaSpecialiser::yielded(ConsumerParts &tile, Value acc, IRMapping &numbers) {
  State state;
  for (unsigned place : ArrayRef(tile.states).drop_back())
    state.push_back(numbers.lookupOrDefault(
        parts.loop.getBody()->getTerminator()->getOperand(place)));
  state.push_back(acc);
  for (Operation *cast : tile.casts)
    if (!numbers.contains(cast->getResult(0)))
      clone(cast, numbers);
  state.push_back(numbers.lookup(tile.casts.back()->getResult(0)));
  if (isa<MoveOp>(tile.casts.back()))
    shareP(tile);
  return state;
}

/// wgmma reads P by the asynchronous proxy, and each of its rows by any warp of
/// the group. Nobody writes P anew before the product that reads it is awaited,
/// behind which all have been here.
void WgmmaSpecialiser::shareP(ConsumerParts &tile) {
  FenceOp::create(b, FenceKind::ProxyAsync);
  unsigned number = &tile - parts.tiles.data();
  SyncNamedOp::create(b, 1 + parts.tiles.size() + number, groupThreads,
                      Value());
}

/// The registers that a product of `state` uses, to be left alone until it is
/// awaited.
static void appendFactors(ArrayRef<Value> state, SmallVectorImpl<Value> &used) {
  Value p = state[3];
  if (cast<TileType>(p.getType()).inFragments())
    used.push_back(p);
}

/// Scores of the next block, product of this one, softmax of the next one.
WgmmaSpecialiser::State WgmmaSpecialiser::buildStep(unsigned number,
                                                    Value block, Value query,
                                                    const State &before) {
  ConsumerParts &tile = parts.tiles[number];
  Value next = add(block, 1);
  IRMapping numbers = numbersOf(next);
  takeTurn(number);
  Value begun = issueScores(tile, query, next, numbers);
  Value product = issueProducts(tile, before, block);
  passTurn(number);
  Value scores = await(begun, 1).front();
  release(keyMessage(next));
  softmax(tile, scores, before, numbers);
  // Beside the product, too; shared memory is still read by it.
  for (Operation *cast : tile.casts)
    if (!isa<MoveOp>(cast))
      clone(cast, numbers);
  SmallVector<Value> used = {product};
  appendFactors(before, used);
  Value acc = await(used, 0).front();
  release(valueMessage(block));
  numbers.map(tile.rescale.getInput(), acc);
  return yielded(tile, clone(tile.rescale, numbers)->getResult(0), numbers);
}

/// All blocks of a CTA that has some.
WgmmaSpecialiser::State WgmmaSpecialiser::buildBlocks(unsigned number,
                                                      Value query,
                                                      ArrayRef<Value> initial) {
  ConsumerParts &tile = parts.tiles[number];
  Value zero = index(0);
  IRMapping first = numbersOf(zero);
  takeTurnIf(number != 0, number);
  Value begun = issueScores(tile, query, zero, first);
  passTurn(number);
  Value scores = await(begun, 0).front();
  release(keyMessage(zero));
  softmax(tile, scores, initial, first);
  State state = yielded(tile, initial.back(), first);
  Value last = add(blocks, -1);
  auto loop = scf::ForOp::create(b, zero, last, index(1), state);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    State before(loop.getRegionIterArgs());
    State after = buildStep(number, loop.getInductionVar(), query, before);
    scf::YieldOp::create(b, after);
  }
  releaseQuery(number);
  takeTurnIf(number == 0, number);
  State all(loop.getResults());
  SmallVector<Value> used = {issueProducts(tile, all, last)};
  appendFactors(all, used);
  Value acc = await(used, 0).front();
  if (loops)
    release(valueMessage(last));
  return {all[0], all[1], acc};
}

Value WgmmaSpecialiser::receiveQuery(unsigned number) {
  TileType type = parts.tiles[number].query.getType();
  return ReceiveOp::create(b, type, queries[number], tileMessage()).getResult();
}

/// A query tile without rows is computed with the others: it is loaded as zeros
/// and not stored.
void WgmmaSpecialiser::buildConsumer(unsigned number) {
  ConsumerParts &tile = parts.tiles[number];
  IRMapping numbers;
  for (Operation *fill : tile.fills)
    clone(fill, numbers);
  SmallVector<Value> initial;
  for (unsigned place : tile.states)
    initial.push_back(numbers.lookup(parts.loop.getInitArgs()[place]));
  Value query = loops ? receiveQuery(number) : Value();
  auto branch = scf::IfOp::create(b, ValueRange(initial).getTypes(),
                                  hasBlocks(), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value own = query ? query : receiveQuery(number);
    scf::YieldOp::create(b, buildBlocks(number, own, initial));
    b.setInsertionPointToStart(branch.elseBlock());
    // No wgmma lets the warp wait for those of its threads that still ask for
    // the queries.
    if (loops && !outOverQuery)
      SyncWarpOp::create(b);
    releaseQuery(number);
    scf::YieldOp::create(b, initial);
  }
  for (auto [place, value] : llvm::zip(tile.states, branch.getResults()))
    numbers.map(parts.loop.getResult(place), value);
  for (Operation *op : tile.ending) {
    bool stages = op == tile.normalize;
    if (stages && loops && !outOverQuery)
      AcquireOp::create(b, tile.normalize.getType(), outputs[number],
                        tileMessage());
    clone(op, numbers);
    if (stages)
      PublishOp::create(b, outputs[number], tileMessage());
  }
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Rings are free when one thread of each warp of all consumers has said so.
void WgmmaSpecialiser::buildChannels() {
  auto channel = [&](const Twine &name, TileType tile, Agent from, Agent to,
                     unsigned sent, unsigned freed, bool unreleased) -> Value {
    auto type = ChannelType::get(b.getContext(), tile);
    return ChannelOp::create(b, type, b.getStringAttr(name), from, to, sent,
                             freed, unreleased, StringAttr());
  };
  TileType key = parts.key.getType(), value = parts.value.getType();
  ring =
      channel("kv", key.getBytes() < value.getBytes() ? value : key, Agent::Tma,
              Agent::Threads, 1, groupWarps * parts.tiles.size(), false);
  for (auto [n, tile] : llvm::enumerate(parts.tiles)) {
    unsigned freed = !loops ? groupThreads : outOverQuery ? 1 : groupWarps;
    queries.push_back(channel("q" + Twine(n), tile.query.getType(), Agent::Tma,
                              Agent::Threads, 1, freed, !loops));
    Value out;
    if (tile.normalize)
      out = channel("out" + Twine(n), tile.normalize.getType(), Agent::Threads,
                    Agent::Tma, groupThreads, 1, !loops || outOverQuery);
    outputs.push_back(out);
  }
}

void WgmmaSpecialiser::buildRole(const schedule::Role &role) {
  StringRef name = role.name;
  auto op = RoleOp::create(b, name, role.firstWarp, role.firstWarp + role.warps,
                           role.registers,
                           /*single_thread=*/name == "load" || name == "store");
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&op.getBody());
  if (name == "spare")
    return;
  if (!loops)
    return buildWork(name);
  buildTileLoop(b, op, info, blocks, [&](MessagesBefore messages) {
    before = messages;
    buildWork(name);
  });
}

void WgmmaSpecialiser::buildWork(StringRef name) {
  if (name == "load")
    return buildLoad();
  if (name == "store")
    return buildStore();
  unsigned tile;
  if (name.consume_front("consumer") && !name.getAsInteger(10, tile) &&
      tile < parts.tiles.size())
    buildConsumer(tile);
}

void WgmmaSpecialiser::run() {
  b.setInsertionPoint(func.getBody().front().getTerminator());
  blocks = parts.loop.getUpperBound();
  const schedule::SmemRegion *out = info.map.findSmem("out0");
  outOverQuery = out && !out->aliases.empty();
  buildChannels();
  auto all = SpecialiseOp::create(b);
  b.createBlock(&all.getBody());
  for (const schedule::Role &role : info.schedule.roles)
    buildRole(role);
}

/// Erases the sequential program, uses before definitions.
void eraseSequential(gpu::GPUFuncOp func) {
  Block &entry = func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(entry)))
    if (isa<scf::ForOp>(op) ||
        (queryTileOf(&op) && isa<TileDialect>(op.getDialect())) ||
        isOpTriviallyDead(&op))
      op.erase();
}

struct TileWgmmaSpecialisePass
    : public fmha::tile::impl::TileWgmmaSpecialiseBase<
          TileWgmmaSpecialisePass> {
  void runOnOperation() override {
    if (!isWgmmaKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(expectStage(getOperation(), KernelStage::Placed, getArgument())))
      return signalPassFailure();
    FailureOr<WgmmaParts> parts =
        findWgmmaParts(getOperation(), info->schedule.qTiles);
    if (failed(parts))
      return signalPassFailure();
    WgmmaSpecialiser(getOperation(), *info, *parts).run();
    eraseSequential(getOperation());
  }
};

} // namespace

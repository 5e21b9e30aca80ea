//===- SkipHiddenBlocks.cpp - End loops before hidden keys ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "Loops.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILESKIPHIDDENBLOCKS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

//===----------------------------------------------------------------------===//
// Indices of a loop
//===----------------------------------------------------------------------===//

/// factor·i + offset + base, where i is the index of a loop; without a base it
/// is a constant that is added.
struct LinearIndex {
  int64_t factor = 0, offset = 0;
  Value base;
  bool operator==(const LinearIndex &) const = default;

  /// Returns `value` as a function of the index of `loop`, if it is one.
  static std::optional<LinearIndex> of(Value value, scf::ForOp loop);
  /// Returns the value for the index `i`, emitted at the builder.
  Value at(ImplicitLocOpBuilder &b, Value i) const {
    Value sum = plus(b, times(b, i, factor), offset);
    return base ? arith::AddIOp::create(b, sum, base) : sum;
  }
};

std::optional<LinearIndex> add(std::optional<LinearIndex> a,
                               std::optional<LinearIndex> b) {
  if (!a || !b || (a->base && b->base))
    return std::nullopt;
  return LinearIndex{a->factor + b->factor, a->offset + b->offset,
                     a->base ? a->base : b->base};
}

std::optional<LinearIndex> multiply(std::optional<LinearIndex> a,
                                    std::optional<int64_t> factor) {
  if (!a || !factor || a->base)
    return std::nullopt;
  return LinearIndex{a->factor * *factor, a->offset * *factor, Value()};
}

std::optional<LinearIndex> LinearIndex::of(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return LinearIndex{1, 0, Value()};
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return LinearIndex{0, *known, Value()};
  if (loop.isDefinedOutsideOfLoop(value))
    return LinearIndex{0, 0, value};
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return add(of(sum.getLhs(), loop), of(sum.getRhs(), loop));
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    return multiply(of(product.getLhs(), loop),
                    getConstantIntValue(product.getRhs()));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// A message that every iteration receives.
struct Received {
  ReceiveOp op;
  LinearIndex number;
  /// Null if the release of another message frees this one too.
  ReleaseOp release;
};

/// A loop on KV blocks that may end before the blocks that its mask hides.
class BlockLoop {
public:
  /// Returns the block loop of `loop`, or nothing if it is not one.
  static std::optional<BlockLoop> of(scf::ForOp loop);
  /// scf.for 0 to n { ... } -> scf.for 0 to computed { ... }
  ///                           scf.for 0 to skipped { receive, release }
  void split();

private:
  explicit BlockLoop(scf::ForOp loop)
      : loop(loop), b(loop.getLoc(), loop->getContext()) {}
  bool findMask();
  Received *findMessage(Value channel, LinearIndex number);
  bool addMessage(ReceiveOp receive);
  bool addRelease(ReleaseOp release);
  bool findMessages();
  Value buildOwnBlocks();
  void buildSkipped(SplitTripsOp trips);

  scf::ForOp loop;
  ImplicitLocOpBuilder b;
  MaskOp mask;
  LinearIndex firstKey;
  SmallVector<Received> messages;
};

} // namespace

/// Finds the mask of the loop's scores, which has an upper bound that is the
/// same for all blocks.
bool BlockLoop::findMask() {
  auto masks = llvm::to_vector(loop.getBody()->getOps<MaskOp>());
  if (masks.size() != 1)
    return false;
  mask = masks.front();
  std::optional<LinearIndex> key = LinearIndex::of(mask.getCol(), loop);
  if (!mask.getUpper() || !key || key->factor <= 0 ||
      !loop.isDefinedOutsideOfLoop(mask.getUpper()) ||
      !loop.isDefinedOutsideOfLoop(mask.getRow()))
    return false;
  firstKey = *key;
  return true;
}

/// Returns the message of `channel` with this number in each iteration, or
/// null.
Received *BlockLoop::findMessage(Value channel, LinearIndex number) {
  Received *found = llvm::find_if(messages, [&](Received &message) {
    return message.op.getChannel() == channel && message.number == number;
  });
  return found == messages.end() ? nullptr : found;
}

/// Adds the message of `receive`, unless it is known: a tile that is both K and
/// V is received in two stages of the loop. Returns false if its number is not
/// linear in the index of the loop.
bool BlockLoop::addMessage(ReceiveOp receive) {
  auto number = LinearIndex::of(receive.getMessage(), loop);
  if (number && !findMessage(receive.getChannel(), *number))
    messages.push_back({receive, *number, ReleaseOp()});
  return number.has_value();
}

/// Adds the release of a message. Returns false if no op receives the message,
/// or if it has another release.
bool BlockLoop::addRelease(ReleaseOp release) {
  auto number = LinearIndex::of(release.getMessage(), loop);
  Received *freed =
      number ? findMessage(release.getChannel(), *number) : nullptr;
  if (!freed || freed->release)
    return false;
  freed->release = release;
  return true;
}

/// Finds the messages of an iteration; fails if a role has other effects in it
/// that its peers wait for.
bool BlockLoop::findMessages() {
  Block &body = *loop.getBody();
  bool hasOthers = false;
  loop.getBody()->walk([&](Operation *op) {
    bool isEnd = isa<ReceiveOp, ReleaseOp>(op);
    hasOthers |=
        isa<AcquireOp, PublishOp, StoreOp, StoreRowsOp, scf::ForOp>(op) ||
        (isEnd && op->getBlock() != &body);
  });
  if (hasOthers)
    return false;
  auto add = [&](ReceiveOp receive) { return addMessage(receive); };
  auto free = [&](ReleaseOp release) { return addRelease(release); };
  return llvm::all_of(body.getOps<ReceiveOp>(), add) &&
         llvm::all_of(body.getOps<ReleaseOp>(), free) && !messages.empty();
}

std::optional<BlockLoop> BlockLoop::of(scf::ForOp loop) {
  BlockLoop made(loop);
  if (!isConstantIntValue(loop.getLowerBound(), 0) ||
      !isConstantIntValue(loop.getStep(), 1) ||
      (!isGuarded(loop) && !alwaysRuns(loop)) || !made.findMask() ||
      !made.findMessages())
    return std::nullopt;
  return made;
}

/// Returns the number of blocks up to the last key that a row of the role sees.
/// The last row, i = row + (rows - 1) / heads, sees keys up to i + upper:
///   ceil(max(i + 1 + upper - first key, 0) / keys of a block)
Value BlockLoop::buildOwnBlocks() {
  int64_t rows = mask.getType().getRows();
  int64_t heads = mask.getQueriesOp().getHeads().value_or(1);
  Value end = plus(b, mask.getRow(), (rows - 1) / heads + 1 - firstKey.offset);
  end = arith::AddIOp::create(b, end, mask.getUpper());
  if (firstKey.base)
    end = arith::SubIOp::create(b, end, firstKey.base);
  end = arith::MaxSIOp::create(b, end, arith::ConstantIndexOp::create(b, 0));
  return arith::CeilDivUIOp::create(
      b, end, arith::ConstantIndexOp::create(b, firstKey.factor));
}

/// Emits the loop over skipped blocks, after the ops that free what only the
/// first loop reads.
void BlockLoop::buildSkipped(SplitTripsOp trips) {
  Operation *last = loop;
  while (isa_and_nonnull<ReleaseOp>(last->getNextNode()))
    last = last->getNextNode();
  b.setInsertionPointAfter(last);
  auto skipped = scf::ForOp::create(b, loop.getLowerBound(), trips.getSkipped(),
                                    loop.getStep());
  b.setInsertionPointToStart(skipped.getBody());
  Value block =
      arith::AddIOp::create(b, trips.getComputed(), skipped.getInductionVar());
  for (const Received &message : messages) {
    ReceiveOp receive = message.op;
    Value number = message.number.at(b, block);
    ReceiveOp::create(b, receive.getType(), receive.getChannel(), number);
    if (message.release)
      ReleaseOp::create(b, receive.getChannel(), number);
  }
}

void BlockLoop::split() {
  b.setInsertionPoint(loop);
  auto trips = SplitTripsOp::create(b, buildOwnBlocks(), loop.getUpperBound());
  loop.setUpperBound(trips.getComputed());
  buildSkipped(trips);
}

namespace {
struct TileSkipHiddenBlocksPass
    : public fmha::tile::impl::TileSkipHiddenBlocksBase<
          TileSkipHiddenBlocksPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    // Other kernels omit the last releases of a loop (tile-rotate-loops).
    FailureOr<bool> runsAhead = readRunsAhead(getOperation());
    if (failed(runsAhead))
      return signalPassFailure();
    if (!*runsAhead)
      return;
    SmallVector<BlockLoop> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (!loop->getParentOfType<RoleOp>())
        return;
      if (std::optional<BlockLoop> found = BlockLoop::of(loop))
        loops.push_back(*found);
    });
    // A single role with a mask sees the last key of the CTA: it skips nothing.
    if (loops.size() > 1)
      for (BlockLoop &loop : loops)
        loop.split();
  }
};
} // namespace

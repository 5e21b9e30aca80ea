//===- RotateLoops.cpp - Overlap the stages of a role's loop --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "Loops.h"
#include "TileFlow.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEROTATELOOPS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// The parts of a rotated loop.
enum class Part { Prologue, Body, Epilogue };

struct Item;

class Rotation {
public:
  /// With `repeats`, more messages follow those of this loop, because the
  /// kernel computes another output tile, or because of a loop around this one.
  /// `whole` are the channels of which a role without a rotated loop releases
  /// all messages.
  Rotation(scf::ForOp loop, bool repeats, const DenseSet<Value> &whole)
      : loop(loop), repeats(repeats), whole(whole),
        b(loop.getLoc(), loop->getContext()) {
    b.setInsertionPoint(loop);
  }
  LogicalResult run();

private:
  /// Values of one iteration. An argument of the loop is the value that the
  /// previous iteration yields.
  struct Iteration {
    IRMapping values;
    Iteration *before = nullptr;
  };

  LogicalResult check();
  void findCarried();
  void findLastReleases(Block &block, llvm::DenseMap<Value, Operation *> &last);
  void build(Block &block, unsigned stages, Part part, Iteration *of[2]);
  void cloneItem(const Item &item, Part part, Iteration *of[2]);
  void cloneBranch(scf::IfOp branch, unsigned stages, Part part,
                   Iteration *of[2]);
  Value remake(Value value, Iteration &in);
  void start(Iteration &iteration, Value index);
  SmallVector<Value> carriedOf(Iteration &iteration);

  scf::ForOp loop;
  bool repeats;
  const DenseSet<Value> &whole;
  ImplicitLocOpBuilder b;
  /// Values that stage 0 of an iteration defines, and that stage 1 or the next
  /// iteration uses.
  SetVector<Value> carried;
  /// An op whose result is used before it has run.
  Operation *tooEarly = nullptr;
  /// The last release of each channel in stage 1. The last iteration omits
  /// them: no acquire waits for these slots, and a late signal must not reach
  /// shared memory after the CTA has exited. If another consumer keeps its
  /// releases, this one does too, so that each phase gets all of its arrivals.
  llvm::DenseSet<Operation *> lastReleases;
};

//===----------------------------------------------------------------------===//
// Stages and order
//===----------------------------------------------------------------------===//

/// Returns a mask in which bit s is set if `op` contains ops of stage s.
unsigned stagesIn(Operation *op) {
  unsigned stages = 0;
  op->walk([&](Operation *inner) {
    if (PartitionAttr partition = partitionOf(inner))
      stages |= 1 << partition.getStage();
  });
  return stages;
}

/// The ops of some stages that an op is or contains, and the first order of
/// these.
struct Item {
  Item(Operation *op, unsigned stages) : op(op), stages(stages & stagesIn(op)) {
    op->walk([&](Operation *inner) {
      if (PartitionAttr partition = partitionOf(inner);
          partition && stages >> partition.getStage() & 1)
        order = std::min(order, partition.getOrder());
    });
  }
  Operation *op;
  unsigned stages, order = ~0u;
};

bool holdsProduct(Operation *op) {
  return op->walk([](DotOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Returns the ops of the role in their order. Arithmetic on indices is not
/// among them; it is emitted before its users. A branch with ops of both stages
/// is two items if a product is between them:
///   if (c) A1(i + 1);  B0(i);  if (c) B1(i)
SmallVector<Item> itemsOf(Block &block) {
  SmallVector<Item> all, items;
  for (Operation &op : block.without_terminator())
    if (stagesIn(&op))
      all.push_back(Item(&op, 3));
  for (const Item &item : all) {
    Item first(item.op, 1), second(item.op, 2);
    auto [low, high] = std::minmax(first.order, second.order);
    bool isSplit =
        item.stages == 3 && llvm::any_of(all, [&](const Item &other) {
          return low < other.order && other.order < high &&
                 holdsProduct(other.op);
        });
    if (isSplit)
      items.append({first, second});
    else
      items.push_back(item);
  }
  llvm::stable_sort(
      items, [](const Item &a, const Item &b) { return a.order < b.order; });
  return items;
}

LogicalResult Rotation::check() {
  if (!isConstantIntValue(loop.getStep(), 1))
    return loop.emitOpError()
           << "has ops of two stages: expected a step of 1, got "
           << loop.getStep();
  if (!alwaysRuns(loop) && !isGuarded(loop))
    return loop.emitOpError()
           << "has ops of two stages: expected a loop that runs at least "
              "once; run tile-guard-loops first";
  WalkResult walked = loop.walk([&](scf::IfOp branch) {
    if (stagesIn(branch) != 3)
      return WalkResult::advance();
    if (!branch.getNumResults() && !branch.elseBlock() &&
        loop.isDefinedOutsideOfLoop(branch.getCondition()))
      return WalkResult::advance();
    branch.emitOpError()
        << "holds ops of two stages: expected a condition that the loop does "
           "not change, no results and no else";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// Whether ops of `stage` in the loop use `value`, directly or through
/// arithmetic on indices.
bool isUsedIn(Value value, unsigned stage) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    PartitionAttr partition = partitionOf(user);
    return partition && partition.getStage() == stage;
  });
}

void Rotation::findCarried() {
  auto isThere = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? loop->isProperAncestor(op) && stagesIn(op) == 1
              : llvm::is_contained(loop.getRegionIterArgs(), value);
  };
  for (Value value : loop.getYieldedValues())
    if (isThere(value))
      carried.insert(value);
  for (Value argument : loop.getRegionIterArgs())
    if (isUsedIn(argument, 1))
      carried.insert(argument);
  loop.walk([&](Operation *op) {
    if (PartitionAttr partition = partitionOf(op);
        partition && partition.getStage() == 0)
      for (Value result : op->getResults())
        if (isUsedIn(result, 1))
          carried.insert(result);
  });
}

void Rotation::findLastReleases(Block &block,
                                llvm::DenseMap<Value, Operation *> &last) {
  for (const Item &item : itemsOf(block)) {
    auto release = dyn_cast<ReleaseOp>(item.op);
    if (release && item.stages == 2)
      last[release.getChannel()] = release;
    if (auto branch = dyn_cast<scf::IfOp>(item.op); branch && item.stages != 1)
      findLastReleases(*branch.thenBlock(), last);
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns `value` of iteration `in`. Constants are folded, so that the first
/// messages of a channel have constant numbers.
Value Rotation::remake(Value value, Iteration &in) {
  if (Value known = in.values.lookupOrNull(value))
    return known;
  if (llvm::is_contained(loop.getRegionIterArgs(), value)) {
    unsigned number = cast<BlockArgument>(value).getArgNumber() - 1;
    return remake(loop.getYieldedValues()[number], *in.before);
  }
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return value;
  if (isTileOp(op))
    tooEarly = op;
  for (Value operand : op->getOperands())
    remake(operand, in);
  Operation *own = b.clone(*op, in.values);
  SmallVector<Value> folded;
  if (succeeded(b.tryFold(own, folded)) && !folded.empty())
    in.values.map(op->getResults(), folded);
  return in.values.lookup(value);
}

void Rotation::cloneBranch(scf::IfOp branch, unsigned stages, Part part,
                           Iteration *of[2]) {
  Iteration &values = *of[stages == 3 ? part == Part::Epilogue : stages == 2];
  auto made = scf::IfOp::create(b, branch.getResultTypes(),
                                remake(branch.getCondition(), values),
                                branch.elseBlock() != nullptr);
  auto fill = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(to);
    build(*from, stages, part, of);
    if (!branch.getNumResults())
      return;
    SmallVector<Value> yielded;
    for (Value value : from->getTerminator()->getOperands())
      yielded.push_back(remake(value, values));
    scf::YieldOp::create(b, yielded);
  };
  fill(branch.thenBlock(), made.thenBlock());
  if (branch.elseBlock())
    fill(branch.elseBlock(), made.elseBlock());
  values.values.map(branch.getResults(), made.getResults());
}

void Rotation::cloneItem(const Item &item, Part part, Iteration *of[2]) {
  Operation &op = *item.op;
  if (part == Part::Epilogue && lastReleases.contains(&op))
    return;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return cloneBranch(branch, item.stages, part, of);
  Iteration &values = *of[item.stages == 2];
  SetVector<Value> used(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), used);
  for (Value value : used)
    remake(value, values);
  IRMapping all = values.values;
  for (Value value : used)
    all.map(value, remake(value, values));
  Operation *made = b.clone(op, all);
  values.values.map(op.getResults(), made->getResults());
  // The first rescale of an accumulator that begins with 0.
  SmallVector<Value> folded;
  if (isa<RescaleOp>(made) && succeeded(b.tryFold(made, folded)) &&
      !folded.empty()) {
    values.values.map(op.getResults(), folded);
    made->erase();
  }
}

void Rotation::build(Block &block, unsigned stages, Part part,
                     Iteration *of[2]) {
  unsigned wanted = part == Part::Body ? 3 : part == Part::Prologue ? 1 : 2;
  for (Item item : itemsOf(block)) {
    // A branch in one that is two items is built once for each of them.
    item.stages &= stages;
    if (item.stages & wanted)
      cloneItem(item, part, of);
  }
}

void Rotation::start(Iteration &iteration, Value index) {
  iteration.values.map(loop.getInductionVar(), index);
}

SmallVector<Value> Rotation::carriedOf(Iteration &iteration) {
  SmallVector<Value> values;
  for (Value value : carried)
    values.push_back(remake(value, iteration));
  return values;
}

/// for i: A(i); B(i)   ->   A(0)
///                          for i < n - 1: B(i), A(i + 1) in their order
///                          B(n - 1)
LogicalResult Rotation::run() {
  if (failed(check()))
    return failure();
  findCarried();
  llvm::DenseMap<Value, Operation *> last;
  findLastReleases(*loop.getBody(), last);
  for (auto &[channel, release] : last)
    if (!repeats && !whole.contains(channel))
      lastReleases.insert(release);
  Iteration first, current, next, final;
  start(first, loop.getLowerBound());
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    first.values.map(argument, init);
  Iteration *prologue[] = {&first, nullptr};
  build(*loop.getBody(), 3, Part::Prologue, prologue);

  Value end = plus(b, loop.getUpperBound(), -1);
  auto made = scf::ForOp::create(b, loop.getLowerBound(), end, loop.getStep(),
                                 carriedOf(first));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    start(current, made.getInductionVar());
    start(next, plus(b, made.getInductionVar(), 1));
    next.before = &current;
    for (auto [value, argument] : llvm::zip(carried, made.getRegionIterArgs()))
      current.values.map(value, argument);
    Iteration *body[] = {&next, &current};
    build(*loop.getBody(), 3, Part::Body, body);
    if (!carried.empty())
      scf::YieldOp::create(b, carriedOf(next));
  }
  // Messages that only stage 0 reads are free after its last iteration, before
  // stage 1 of that iteration.
  while (auto release = dyn_cast_if_present<ReleaseOp>(loop->getNextNode())) {
    if (stagesIn(release) != 1)
      break;
    release->moveBefore(loop);
  }
  start(final, end);
  for (auto [value, result] : llvm::zip(carried, made.getResults()))
    final.values.map(value, result);
  Iteration *epilogue[] = {nullptr, &final};
  build(*loop.getBody(), 3, Part::Epilogue, epilogue);
  for (auto [result, value] :
       llvm::zip(loop.getResults(), loop.getYieldedValues()))
    result.replaceAllUsesWith(remake(value, final));
  if (tooEarly)
    return tooEarly->emitOpError()
           << "makes a tile that an op of an earlier order takes: expected the "
              "user to have a higher order";
  loop.erase();
  return success();
}

/// Returns the channels that a role without any of `loops` releases.
DenseSet<Value> channelsReleasedWhole(gpu::GPUFuncOp func,
                                      ArrayRef<scf::ForOp> loops) {
  DenseSet<Value> channels;
  func.walk([&](RoleOp role) {
    if (llvm::any_of(loops, [&](scf::ForOp loop) {
          return role->isProperAncestor(loop);
        }))
      return;
    role.walk(
        [&](ReleaseOp release) { channels.insert(release.getChannel()); });
  });
  return channels;
}

struct TileRotateLoopsPass
    : public fmha::tile::impl::TileRotateLoopsBase<TileRotateLoopsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](RoleOp role) {
      role.walk([&](scf::ForOp loop) {
        if (overlapsStages(loop, role.getName()))
          loops.push_back(loop);
      });
    });
    FailureOr<bool> runsAhead = readRunsAhead(getOperation());
    if (failed(runsAhead))
      return signalPassFailure();
    // Slots of a program are acquired again at its end.
    bool repeats = *runsAhead || getOperation()->hasAttr("tile.kernel");
    DenseSet<Value> whole = channelsReleasedWhole(getOperation(), loops);
    for (scf::ForOp loop : loops) {
      bool isNested = bool(loop->getParentOfType<scf::ForOp>());
      if (failed(Rotation(loop, repeats || isNested, whole).run()))
        return signalPassFailure();
    }
    // The roles exist, so that the attributes are not needed any more.
    getOperation().walk(
        [](Operation *op) { op->removeAttr("tile.partition"); });
  }
};

} // namespace

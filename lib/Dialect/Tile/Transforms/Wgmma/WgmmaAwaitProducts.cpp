//===- WgmmaAwaitProducts.cpp - Insert waits for products -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "WgmmaTurns.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEWGMMAAWAITPRODUCTS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

//===----------------------------------------------------------------------===//
// Factors in registers
//===----------------------------------------------------------------------===//

/// Returns the tile that `value` is a slice of, or `value`.
Value wholeOf(Value value) {
  while (auto slice = value.getDefiningOp<SliceOp>())
    value = slice.getInput();
  return value;
}

/// Replaces the uses of `value` after `op`, in its block, by `result`.
void replaceAfter(Operation *op, Value value, Value result) {
  value.replaceUsesWithIf(result, [&](OpOperand &use) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return user && op->isBeforeInBlock(user);
  });
}

/// Carries first factors in registers through loops and branches. If such a
/// tile is defined outside of the loop or branch of the product, the result of
/// the wait is passed to the next iteration and to later ops. Otherwise these
/// would need a copy of the tile, which would be made while the product reads
/// it.
///   scf.for ... { tile.dot %p, ... }
/// ->
///   %r = scf.for ... iter_args(%x = %p) { tile.dot %x, ...; yield %x }
class FactorCarrier {
public:
  explicit FactorCarrier(RoleOp role) : role(role), b(role.getContext()) {}
  void run();

private:
  void merge(ArrayRef<DotOp> products);
  Value cloneSlice(Value value);
  void placeSlices(const DenseSet<Value> &factors);
  void carry(Block &block);
  Operation *carry(Operation *op, Value factor);
  Operation *carry(scf::ForOp loop, Value factor);
  Operation *carry(scf::IfOp branch, Value factor);

  RoleOp role;
  IRRewriter b;
};

/// Merges factors that are computed by equal ops. Otherwise later passes would
/// do so, and a loop could then use a factor from outside.
void FactorCarrier::merge(ArrayRef<DotOp> products) {
  bool hasSame = false;
  for (DotOp left : products)
    for (DotOp right : products)
      hasSame |=
          left.getA() != right.getA() && areSame(left.getA(), right.getA());
  DominanceInfo dominance(role);
  if (hasSame)
    eliminateCommonSubExpressions(b, dominance, role);
}

/// Computes a slice of a tile again, at the insertion point.
Value FactorCarrier::cloneSlice(Value value) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return value;
  IRMapping inputs;
  inputs.map(slice.getInput(), cloneSlice(slice.getInput()));
  return b.clone(*slice, inputs)->getResult(0);
}

/// Computes slices of factors, which are registers and cost nothing, at each
/// use, so that only whole tiles are carried and awaited.
void FactorCarrier::placeSlices(const DenseSet<Value> &factors) {
  SmallVector<SliceOp> slices;
  role.walk([&](SliceOp slice) {
    if (factors.contains(wholeOf(slice)))
      slices.push_back(slice);
  });
  for (SliceOp slice : slices)
    for (OpOperand &use : llvm::make_early_inc_range(slice->getUses()))
      if (!isa<SliceOp>(use.getOwner())) {
        b.setInsertionPoint(use.getOwner());
        use.set(cloneSlice(slice));
      }
  for (SliceOp slice : llvm::reverse(slices))
    b.eraseOp(slice);
}

/// Returns the loop that replaces `loop` and carries the factor.
Operation *FactorCarrier::carry(scf::ForOp loop, Value factor) {
  b.setInsertionPoint(loop);
  return *loop.replaceWithAdditionalYields(
      b, factor, /*replaceInitOperandUsesInLoop=*/true,
      [](OpBuilder &, Location, ArrayRef<BlockArgument> args) {
        return SmallVector<Value>(args);
      });
}

/// Returns the branch that replaces `branch` and yields the factor on both
/// ways.
Operation *FactorCarrier::carry(scf::IfOp branch, Value factor) {
  b.setInsertionPoint(branch);
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(factor.getType());
  auto made =
      scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(),
                        /*addThenBlock=*/false, /*addElseBlock=*/false);
  for (auto [from, to] : llvm::zip(branch->getRegions(), made->getRegions())) {
    to.takeBody(from);
    if (to.empty()) {
      b.createBlock(&to);
      scf::YieldOp::create(b, branch.getLoc());
    }
    to.front().getTerminator()->insertOperands(branch.getNumResults(), factor);
  }
  b.replaceOp(branch, made.getResults().drop_back());
  return made;
}

/// Returns the op that replaces `op` and has the factor as its last result,
/// which later ops use.
Operation *FactorCarrier::carry(Operation *op, Value factor) {
  auto loop = dyn_cast<scf::ForOp>(op);
  Operation *made =
      loop ? carry(loop, factor) : carry(cast<scf::IfOp>(op), factor);
  replaceAfter(made, factor, made->getResults().back());
  return made;
}

/// Returns the factors in registers of products in `op` that are from outside.
static SetVector<Value> factorsFromOutside(Operation *op) {
  SetVector<Value> factors;
  op->walk([&](DotOp product) {
    Value factor = wholeOf(product.getA());
    if (product.getA().getType().inFragments() &&
        !op->isAncestor(factor.getParentRegion()->getParentOp()))
      factors.insert(factor);
  });
  return factors;
}

/// Carries factors through the ops of `block`, from the outside to the inside,
/// so that each loop or branch gets each factor once.
void FactorCarrier::carry(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<scf::ForOp, scf::IfOp>(op))
      continue;
    Operation *made = &op;
    for (Value factor : factorsFromOutside(&op))
      made = carry(made, factor);
    for (Region &region : made->getRegions())
      if (!region.empty())
        carry(region.front());
  }
}

void FactorCarrier::run() {
  SmallVector<DotOp> products;
  role.walk([&](DotOp product) {
    if (product.getA().getType().inFragments())
      products.push_back(product);
  });
  merge(products);
  DenseSet<Value> factors;
  for (DotOp product : products)
    factors.insert(wholeOf(product.getA()));
  placeSlices(factors);
  carry(role.getBody().front());
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

class Awaiter {
public:
  explicit Awaiter(Consumer consumer)
      : consumer(consumer),
        b(consumer.role.getLoc(), consumer.role.getContext()) {}
  void run();

private:
  void visit(Block &block);
  void visit(Operation *op);
  bool needs(Operation *op, DotOp product);
  void await(size_t count);
  void shareWithProducts(Operation *op);
  void electRelease(ReleaseOp release);

  Consumer consumer;
  ImplicitLocOpBuilder b;
  /// Products in flight in the current block.
  SmallVector<DotOp> begun;
};

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

/// Whether `op` is a product, or a slice that only products use.
bool isOfProduct(Operation *op) {
  return isa<DotOp>(op) ||
         (isa<SliceOp>(op) && llvm::all_of(op->getUsers(), isOfProduct));
}

/// Whether `product` has to be complete before `op`, which uses the result,
/// overwrites a factor in shared memory, or uses the registers of a factor.
bool Awaiter::needs(Operation *op, DotOp product) {
  TypedValue<TileType> a = product.getA();
  if (auto dot = dyn_cast<DotOp>(op);
      dot && dot.getAcc() == product.getResult())
    return !product->hasOneUse();
  bool overwrites = isa<MoveOp, NormalizeOp>(op) &&
                    cast<TileType>(op->getResult(0).getType()).getSmem() &&
                    op->getResult(0).getType() == a.getType();
  bool takesFactor =
      a.getType().inFragments() && !isOfProduct(op) &&
      llvm::is_contained(llvm::map_range(op->getOperands(), wholeOf),
                         wholeOf(a));
  return overwrites || takesFactor ||
         llvm::is_contained(op->getOperands(), product.getResult());
}

/// Emits a wait for the first `count` products in flight. Its operands are the
/// last product of each chain and the factors in registers; later ops use the
/// results of the wait in their place.
void Awaiter::await(size_t count) {
  SetVector<Value> values;
  for (DotOp product : ArrayRef(begun).take_front(count)) {
    bool isAddedTo = llvm::any_of(product->getUsers(), [&](Operation *user) {
      return llvm::is_contained(begun, user);
    });
    if (!isAddedTo)
      values.insert(product.getResult());
    bool isReadLater =
        llvm::any_of(ArrayRef(begun).drop_front(count), [&](DotOp later) {
          return wholeOf(later.getA()) == wholeOf(product.getA());
        });
    if (product.getA().getType().inFragments() && !isReadLater)
      values.insert(wholeOf(product.getA()));
  }
  ValueRange awaited = values.getArrayRef();
  auto wait =
      WaitDotsOp::create(b, awaited.getTypes(), awaited, begun.size() - count);
  for (auto [value, result] : llvm::zip(awaited, wait.getResults()))
    replaceAfter(wait, value, result);
  begun.erase(begun.begin(), begun.begin() + count);
}

/// Whether `op` may be between a release and the op that uses the result of the
/// product that has read the message: arithmetic on indices, a view, or another
/// release.
static bool isBetween(Operation *op) {
  auto isTile = [](Type type) { return isa<TileType>(type); };
  return isa<ReleaseOp>(op) ||
         (isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
          llvm::none_of(op->getOperandTypes(), isTile) &&
          llvm::none_of(op->getResultTypes(), isTile));
}

/// Whether `product` reads the message that `release` frees, or a slice of it.
static bool reads(DotOp product, ReleaseOp release) {
  return llvm::any_of(product->getOperands(), [&](Value operand) {
    while (auto slice = operand.getDefiningOp<SliceOp>())
      operand = slice.getInput();
    auto receive = operand.getDefiningOp<ReceiveOp>();
    return receive && receive.getChannel() == release.getChannel() &&
           areSame(receive.getMessage(), release.getMessage());
  });
}

void Awaiter::visit(Operation *op) {
  // A product has read the message when the next op may use its result.
  Operation *taker = op;
  while (taker && isBetween(taker))
    taker = taker->getNextNode();
  // A role may end with a release.
  bool needsAll = !taker || isa<scf::ForOp, scf::IfOp>(taker) ||
                  taker->hasTrait<OpTrait::IsTerminator>();
  auto release = dyn_cast<ReleaseOp>(op);
  size_t count = 0, read = 0;
  for (auto [n, product] : llvm::enumerate(begun)) {
    if (needsAll || needs(taker, product))
      count = n + 1;
    // Products of one chain are awaited together.
    bool follows = read && product.getAcc() &&
                   product.getAcc() == begun[read - 1].getResult();
    if (follows || (release && reads(product, release)))
      read = n + 1;
  }
  // A release need not wait for the products after the one that reads.
  if (read)
    count = read;
  if (count && (release || op == taker)) {
    b.setInsertionPoint(op);
    await(count);
  }
  if (auto dot = dyn_cast<DotOp>(op))
    begun.push_back(dot);
}

void Awaiter::visit(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    visit(op);
    SmallVector<DotOp> outer = std::move(begun);
    begun.clear();
    for (Region &region : op->getRegions())
      if (!isa<ModifyOp>(op) && !region.empty())
        visit(region.front());
    begun = std::move(outer);
  }
}

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

/// Returns whether a product of the role of `op` has a factor of this type,
/// which names its place.
static bool multipliesIn(Operation *op, TileType type) {
  return op->getParentOfType<RoleOp>()
      .walk([&](DotOp dot) {
        return dot.getA().getType() == type ? WalkResult::interrupt()
                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `op` writes shared memory that products of its own role read.
static bool writesForProduct(Operation *op) {
  if (auto move = dyn_cast<MoveOp>(op))
    return move.getType().getSmem() &&
           (!move.getInto() || multipliesIn(op, move.getType()));
  auto normalize = dyn_cast<NormalizeOp>(op);
  return normalize && llvm::any_of(normalize->getUsers(), [](Operation *user) {
           return isa<DotOp>(user);
         });
}

/// Emits a fence and a barrier of the warpgroup after `op`: wgmma reads shared
/// memory by the asynchronous proxy, and any warp may read any row.
void Awaiter::shareWithProducts(Operation *op) {
  b.setInsertionPointAfter(op);
  FenceOp::create(b, FenceKind::ProxyAsync);
  SyncNamedOp::create(b, 1 + consumer.count + consumer.number, groupThreads,
                      Value());
}

/// Returns whether the threads of a warp are done with messages of the channel
/// of `release`: they have waited for products, or, if threads read messages in
/// its block, have met since the last one that they read.
static bool hasWaitedSinceRead(ReleaseOp release) {
  bool hasWaited = false;
  auto isOfChannel = [&](Value tile) {
    auto receive = tile.getDefiningOp<ReceiveOp>();
    return receive && receive.getChannel() == release.getChannel();
  };
  for (Operation *op = release->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<SyncWarpOp>(op))
      return true;
    hasWaited |= isa<WaitDotsOp>(op);
    if (auto receive = dyn_cast<ReceiveOp>(op);
        receive && receive.getChannel() == release.getChannel())
      return hasWaited;
    if (!isOfProduct(op) && llvm::any_of(op->getOperands(), isOfChannel))
      return false;
  }
  return hasWaited;
}

/// Makes one thread of each warp signal. All threads of the warp have to be
/// done with the message: after a wait for products they are; otherwise a
/// barrier of the warp is needed.
void Awaiter::electRelease(ReleaseOp release) {
  b.setInsertionPoint(release);
  if (!hasWaitedSinceRead(release))
    SyncWarpOp::create(b);
  Value elected = ElectOp::create(b, b.getI1Type());
  auto branch = scf::IfOp::create(b, elected, /*withElseRegion=*/false);
  release->moveBefore(branch.thenBlock()->getTerminator());
}

void Awaiter::run() {
  FactorCarrier(consumer.role).run();
  SmallVector<Operation *> written;
  SmallVector<ReleaseOp> releases;
  consumer.role.walk([&](Operation *op) {
    if (writesForProduct(op))
      written.push_back(op);
    if (auto release = dyn_cast<ReleaseOp>(op))
      releases.push_back(release);
  });
  if (consumer.takesTurns)
    takeTurns(consumer);
  visit(consumer.role.getBody().front());
  for (Operation *op : written)
    shareWithProducts(op);
  for (ReleaseOp release : releases)
    electRelease(release);
}

/// Checks that the kernel has no waits, which would be inserted a second time.
LogicalResult expectNoWaits(gpu::GPUFuncOp func) {
  WalkResult walked = func.walk([](WaitDotsOp wait) {
    wait.emitOpError() << "stands in the kernel already: "
                          "tile-wgmma-await-products has been run on it";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

struct TileWgmmaAwaitProductsPass
    : public fmha::tile::impl::TileWgmmaAwaitProductsBase<
          TileWgmmaAwaitProductsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!isTiledKernel(func) ||
        !partitionFamilyOf(scheduleOf(func)).asyncProducts)
      return;
    if (failed(expectStage(func, KernelStage::Specialized, getArgument())) ||
        failed(expectNoWaits(func)))
      return signalPassFailure();
    SmallVector<RoleOp> roles;
    getOperation().walk([&](RoleOp role) {
      if (!role.getSingleThread() && !role.getBody().front().empty())
        roles.push_back(role);
    });
    bool takesTurns = canTakeTurns(roles);
    for (auto [number, role] : llvm::enumerate(roles))
      Awaiter({role, unsigned(number), unsigned(roles.size()), takesTurns})
          .run();
  }
};

} // namespace

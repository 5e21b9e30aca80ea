//===- WgmmaAwaitProducts.cpp - Waits for products that have begun --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/Transforms/KernelInfo.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEWGMMAAWAITPRODUCTS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

constexpr unsigned groupThreads = 128;

/// A role with products, which is one of `count` that take turns.
struct Consumer {
  RoleOp role;
  unsigned number, count;
};

class Awaiter {
public:
  explicit Awaiter(Consumer consumer)
      : consumer(consumer),
        b(consumer.role.getLoc(), consumer.role.getContext()) {}
  void run();

private:
  void takeTurns(scf::ForOp loop);
  void takeTurn(DotOp first, std::optional<bool> condition);
  void passTurn(DotOp last);
  void visit(Block &block);
  void visit(Operation *op);
  bool needs(Operation *op, DotOp product);
  void await(size_t count);
  void shareWithProducts(MoveOp move);
  void electRelease(ReleaseOp release);

  Consumer consumer;
  ImplicitLocOpBuilder b;
  /// Products that have begun in the block at hand and are not awaited.
  SmallVector<DotOp> begun;
};

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// Consumer n may begin its products when the one before has begun its own. The
/// first one needs no leave for its first turn; for its last product it takes
/// the one that the last consumer passes on, so that every arrival is met. A
/// branch on a constant lets all consumers look the same and share their code.
void Awaiter::takeTurn(DotOp first, std::optional<bool> condition) {
  Operation *factor = first.getB().getDefiningOp();
  b.setInsertionPoint(factor && factor->getBlock() == first->getBlock()
                          ? factor
                          : first.getOperation());
  if (condition) {
    Value value = arith::ConstantOp::create(b, b.getBoolAttr(*condition));
    auto branch = scf::IfOp::create(b, value, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  SyncNamedOp::create(b, 1 + consumer.number, 2 * groupThreads, Value());
}

void Awaiter::passTurn(DotOp last) {
  b.setInsertionPointAfter(last);
  ArriveNamedOp::create(b, 1 + (consumer.number + 1) % consumer.count,
                        2 * groupThreads, Value());
}

/// Products of a rotated loop, of its first and of its last iteration.
void Awaiter::takeTurns(scf::ForOp loop) {
  SmallVector<DotOp> inside(loop.getBody()->getOps<DotOp>()), before, after;
  for (DotOp dot : loop->getBlock()->getOps<DotOp>())
    (dot->isBeforeInBlock(loop) ? before : after).push_back(dot);
  if (inside.empty() || before.empty() || after.empty())
    return;
  takeTurn(before.front(), consumer.number != 0);
  passTurn(before.back());
  takeTurn(inside.front(), std::nullopt);
  passTurn(inside.back());
  takeTurn(after.front(), consumer.number == 0);
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

/// Whether `product` has to be complete for `op`: it takes the result, or
/// writes what the product reads from shared memory.
bool Awaiter::needs(Operation *op, DotOp product) {
  if (auto dot = dyn_cast<DotOp>(op);
      dot && dot.getAcc() == product.getResult())
    return false;
  auto move = dyn_cast<MoveOp>(op);
  bool overwrites = move && move.getType().getSmem() &&
                    move.getType() == product.getA().getType();
  return overwrites ||
         llvm::is_contained(op->getOperands(), product.getResult());
}

/// Awaits the first `count` products that have begun; later ones may run on.
void Awaiter::await(size_t count) {
  SmallVector<Value> values;
  for (DotOp product : ArrayRef(begun).take_front(count)) {
    bool isAddedTo = llvm::any_of(product->getUsers(), [&](Operation *user) {
      return llvm::is_contained(begun, user);
    });
    if (isAddedTo)
      continue;
    values.push_back(product.getResult());
    // Registers that it reads are left alone until then.
    if (product.getA().getType().inFragments())
      values.push_back(product.getA());
  }
  auto wait = WaitDotsOp::create(b, ValueRange(values).getTypes(), values,
                                 begun.size() - count);
  for (auto [value, result] : llvm::zip(values, wait.getResults()))
    if (value.getDefiningOp<DotOp>())
      value.replaceAllUsesExcept(result, wait);
  begun.erase(begun.begin(), begun.begin() + count);
}

/// Whether `op` stands between a release and the op that takes the result of
/// the product that has read the message: arithmetic on indices, and views.
static bool isBetween(Operation *op) {
  auto isTile = [](Type type) { return isa<TileType>(type); };
  return isa<ReleaseOp>(op) ||
         (isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
          llvm::none_of(op->getOperandTypes(), isTile) &&
          llvm::none_of(op->getResultTypes(), isTile));
}

/// Whether `product` reads the message that `release` frees: the same number
/// of its channel, or a part of it.
static bool reads(DotOp product, ReleaseOp release) {
  return llvm::any_of(product->getOperands(), [&](Value operand) {
    while (auto slice = operand.getDefiningOp<SliceOp>())
      operand = slice.getInput();
    auto receive = operand.getDefiningOp<ReceiveOp>();
    return receive && receive.getChannel() == release.getChannel() &&
           receive.getMessage() == release.getMessage();
  });
}

void Awaiter::visit(Operation *op) {
  // What a release frees has been read when the next op may take the result.
  Operation *taker = op;
  while (taker && isBetween(taker))
    taker = taker->getNextNode();
  // A role may end with a release.
  bool needsAll = !taker || isa<scf::ForOp, scf::IfOp>(taker) ||
                  taker->hasTrait<OpTrait::IsTerminator>();
  auto release = dyn_cast<ReleaseOp>(op);
  size_t count = 0;
  for (auto [n, product] : llvm::enumerate(begun))
    if (needsAll || needs(taker, product) ||
        (release && reads(product, release)))
      count = n + 1;
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

/// wgmma reads shared memory by the asynchronous proxy, and each row of a tile
/// by any warp of the group.
void Awaiter::shareWithProducts(MoveOp move) {
  b.setInsertionPointAfter(move);
  FenceOp::create(b, FenceKind::ProxyAsync);
  SyncNamedOp::create(b, 1 + consumer.count + consumer.number, groupThreads,
                      Value());
}

/// One thread of each warp signals. A wait for products has stopped all threads
/// of the warp; without one they wait for each other.
void Awaiter::electRelease(ReleaseOp release) {
  b.setInsertionPoint(release);
  bool hasWaited = false;
  for (Operation *op = release->getPrevNode(); op; op = op->getPrevNode())
    hasWaited |= isa<WaitDotsOp, SyncWarpOp>(op);
  if (!hasWaited)
    SyncWarpOp::create(b);
  Value elected = ElectOp::create(b, b.getI1Type());
  auto branch = scf::IfOp::create(b, elected, /*withElseRegion=*/false);
  release->moveBefore(branch.thenBlock()->getTerminator());
}

void Awaiter::run() {
  SmallVector<scf::ForOp> loops;
  SmallVector<MoveOp> moves;
  SmallVector<ReleaseOp> releases;
  consumer.role.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
    if (auto move = dyn_cast<MoveOp>(op);
        move && move.getType().getSmem() && !move.getInto())
      moves.push_back(move);
    if (auto release = dyn_cast<ReleaseOp>(op))
      releases.push_back(release);
  });
  if (consumer.count > 1)
    for (scf::ForOp loop : loops)
      takeTurns(loop);
  visit(consumer.role.getBody().front());
  for (MoveOp move : moves)
    shareWithProducts(move);
  for (ReleaseOp release : releases)
    electRelease(release);
}

struct TileWgmmaAwaitProductsPass
    : public fmha::tile::impl::TileWgmmaAwaitProductsBase<
          TileWgmmaAwaitProductsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()) ||
        !partitionFamilyOf(scheduleOf(getOperation())).asyncProducts)
      return;
    SmallVector<RoleOp> roles;
    getOperation().walk([&](RoleOp role) {
      if (!role.getSingleThread() && !role.getBody().front().empty())
        roles.push_back(role);
    });
    for (auto [number, role] : llvm::enumerate(roles))
      Awaiter({role, unsigned(number), unsigned(roles.size())}).run();
  }
};

} // namespace

//===- MmaSyncStageCopies.cpp - Copy keys and values ahead of use ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "Common/PartitionFamily.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEMMASYNCSTAGECOPIES
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// The copies of one loop. Message m of the ring is load m mod n of iteration
/// m / n, where n is the number of loads, and lies in stage m mod S.
class StagedLoop {
public:
  StagedLoop(scf::ForOp loop, ArrayRef<LoadOp> loads, RoleOp role)
      : loop(loop), loads(loads), role(role),
        b(loop.getLoc(), loop->getContext()),
        stages(LoadOp(loads.front()).getType().getStages()) {}

  void run();

private:
  Value index(int64_t n) { return arith::ConstantIndexOp::create(b, n); }
  int64_t count() const { return int64_t(loads.size()); }
  Value remake(Value value, IRMapping &mapping);
  Value stageOf(Value iteration, int64_t message);
  Value plus(Value value, int64_t n) {
    return n ? Value(arith::AddIOp::create(b, value, index(n))) : value;
  }
  void issue(Value iteration, int64_t message);
  void copy(LoadOp load, Value iteration, int64_t message);
  void buildPrologue();
  void replace(LoadOp load, int64_t number);

  scf::ForOp loop;
  ArrayRef<LoadOp> loads;
  RoleOp role;
  ImplicitLocOpBuilder b;
  int64_t stages;
};

} // namespace

/// Returns the value in another iteration, whose ops it emits.
Value StagedLoop::remake(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return value;
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value operand : used)
    if (Value made = remake(operand, mapping); made != operand)
      mapping.map(operand, made);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

/// Returns the stage of message `message`, counted from those of `iteration`.
Value StagedLoop::stageOf(Value iteration, int64_t message) {
  if (count() % stages == 0)
    return index(message % stages);
  Value number = arith::SubIOp::create(b, iteration, loop.getLowerBound());
  number = plus(arith::MulIOp::create(b, number, index(count())), message);
  return arith::RemUIOp::create(b, number, index(stages));
}

/// Emits the copy of `load` in iteration `iteration`.
void StagedLoop::copy(LoadOp load, Value iteration, int64_t message) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), iteration);
  Value row = remake(load.getRow(), mapping);
  ViewOp view = load.getView().getDefiningOp<ViewOp>();
  auto of = [&](Value value) {
    return value ? remake(value, mapping) : Value();
  };
  TileType tile = load.getType();
  Value first = smemAddress(b, tile.getSmem().getOffset());
  Value to = stageAddress(b, tile, first, stageOf(iteration, message));
  CopyRowsOp::create(
      b, view.getSource(), view.getPages(), of(view.getEntry()), view.getList(),
      of(view.getFirst()), of(view.getBound()), of(view.getBatch()),
      of(view.getHead()), row, of(view.getLength()), of(view.getStart()),
      of(view.getColumn()), to, tile.getRows(), tile.getColumns(),
      role.getLastWarp() - role.getFirstWarp(), role.getFirstWarp());
}

/// Begins to copy message `message`, counted from those of `iteration`, if the
/// loop has its iteration. A message that does not exist is an empty group.
void StagedLoop::issue(Value iteration, int64_t message) {
  Value own = plus(iteration, message / count());
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, own,
                                       loop.getUpperBound());
  inIf(b, exists, [&] {
    LoadOp load = loads[message % count()];
    copy(load, own, message % count());
  });
  CommitCopiesOp::create(b);
}

void StagedLoop::buildPrologue() {
  b.setInsertionPoint(loop);
  for (int64_t message = 0; message + 1 < stages; ++message)
    issue(loop.getLowerBound(), message);
}

/// Returns the first op of the loop's body that uses the load, at any depth.
static Operation *firstUseOf(LoadOp load) {
  Operation *first = nullptr;
  for (Operation *user : load->getUsers()) {
    Operation *own = load->getBlock()->findAncestorOpInBlock(*user);
    if (!first || own->isBeforeInBlock(first))
      first = own;
  }
  return first;
}

/// Load n of an iteration -> wait for message n before its first use; begin to
/// copy message n + S - 1, whose stage the threads have read by then: it is
/// that of message n - 1.
void StagedLoop::replace(LoadOp load, int64_t number) {
  b.setInsertionPoint(firstUseOf(load));
  AwaitCopiesOp::create(b, uint32_t(stages - 2));
  SyncCtaOp::create(b);
  issue(loop.getInductionVar(), number + stages - 1);
  Value stage = stageOf(loop.getInductionVar(), number);
  load.replaceAllUsesWith(
      SlotAddressOp::create(b, load.getType(), stage).getResult());
}

void StagedLoop::run() {
  buildPrologue();
  for (auto [number, load] : llvm::enumerate(loads))
    replace(load, int64_t(number));
  for (LoadOp load : loads)
    load.erase();
}

/// tile.store %out, %o[%row]
/// ->
///   tile.sync_cta; tile.copy_rows_out ...
static void storeByThreads(StoreOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  TileType tile = op.getValue().getType();
  ViewOp view = op.getView().getDefiningOp<ViewOp>();
  Value members = view.getCount() ? view.getCount()
                                  : Value(arith::ConstantIndexOp::create(b, 1));
  SyncCtaOp::create(b);
  CopyRowsOutOp::create(b, smemAddress(b, tile.getSmem().getOffset()),
                        view.getSource(), view.getBatch(), view.getHead(),
                        members, op.getRow(), view.getLength(), view.getStart(),
                        view.getColumn(), tile.getRows(), tile.getColumns(),
                        view.getType().getHeads());
  op.erase();
}

/// The output takes the place of the queries, which all warps have read, and
/// which may still be arriving if there were no keys.
static void awaitBefore(NormalizeOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  AwaitCopiesOp::create(b, 0);
  SyncCtaOp::create(b);
}

static LogicalResult stageLoads(RoleOp role) {
  llvm::MapVector<scf::ForOp, SmallVector<LoadOp>> loops;
  WalkResult walked = role.walk([&](LoadOp load) -> WalkResult {
    auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
    auto place = load.getType().getSmem();
    if (!loop || !place || place.getStages() < 2)
      return load.emitOpError()
             << "expected loads of a ring of at least two stages in a loop, as "
                "fmha.attention has them on "
             << scheduleOf(role->getParentOfType<gpu::GPUFuncOp>()).target
             << ", got another one; take a target with TMA for other programs";
    loops[loop].push_back(load);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  for (auto &[loop, loads] : loops) {
    llvm::sort(loads, [](LoadOp x, LoadOp y) {
      return firstUseOf(x)->isBeforeInBlock(firstUseOf(y));
    });
    StagedLoop(loop, loads, role).run();
  }
  return success();
}

namespace {
struct TileMmaSyncStageCopiesPass
    : public fmha::tile::impl::TileMmaSyncStageCopiesBase<
          TileMmaSyncStageCopiesPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!isTiledKernel(func) || !partitionFamilyOf(scheduleOf(func)).hasOneRole)
      return;
    if (failed(expectStage(func, KernelStage::Synchronized, getArgument())))
      return signalPassFailure();
    SmallVector<RoleOp> roles;
    func.walk([&](RoleOp role) { roles.push_back(role); });
    for (RoleOp role : roles) {
      SmallVector<StoreOp> stores;
      role.walk([&](NormalizeOp op) { awaitBefore(op); });
      role.walk([&](StoreOp op) { stores.push_back(op); });
      llvm::for_each(stores, storeByThreads);
      if (failed(stageLoads(role)))
        return signalPassFailure();
    }
  }
};
} // namespace

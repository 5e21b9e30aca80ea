//===- SlicePartitions.cpp - Cut the program into roles -------------------===//
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
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILESLICEPARTITIONS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Copies the part of the program that one role executes.
class Slicer {
public:
  Slicer(gpu::GPUFuncOp func, StringRef role, ImplicitLocOpBuilder &b)
      : func(func), role(role), b(b) {}
  void run();

private:
  bool isOurs(Operation *op) {
    PartitionAttr partition = partitionOf(op);
    return partition && partition.getRole() == role;
  }
  bool hasOurs(Operation *op);
  bool hasOurs(Block &block) {
    return llvm::any_of(block, [&](Operation &op) { return hasOurs(&op); });
  }
  void findLive();
  void findConditions();
  void placeSlots(IRMapping &mapping);
  void inConditions(ArrayRef<Value> left, IRMapping &mapping);
  void cloneBlock(Block &block, IRMapping mapping,
                  function_ref<void(IRMapping &)> finish = nullptr);
  void cloneItem(Operation &op, IRMapping &mapping);
  void cloneOp(Operation *op, IRMapping &mapping);
  void cloneLoop(scf::ForOp loop, IRMapping &mapping);
  void cloneBranch(scf::IfOp branch, IRMapping &mapping);
  void yield(ValueRange values, IRMapping &mapping);
  Value remake(Value value, IRMapping &mapping);
  SmallVector<Value> remakeLive(ValueRange values, ValueRange live,
                                IRMapping &mapping);

  gpu::GPUFuncOp func;
  StringRef role;
  ImplicitLocOpBuilder &b;
  /// Results and arguments of loops and branches that the role uses.
  llvm::DenseSet<Value> live;
  /// Conditions that are common to all ops of the role, which tests them once.
  SetVector<Value> conditions;
};

//===----------------------------------------------------------------------===//
// Ops and values of the role
//===----------------------------------------------------------------------===//

bool Slicer::hasOurs(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        return isOurs(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Finds the tiles that reach ops of the role through loops and branches.
void Slicer::findLive() {
  SmallVector<Value> work;
  func.walk([&](Operation *op) {
    if (isOurs(op))
      llvm::append_range(work, op->getOperands());
  });
  auto carried = [&](scf::ForOp loop, unsigned number) {
    work.append({loop.getInitArgs()[number], loop.getYieldedValues()[number],
                 loop.getRegionIterArg(number), loop.getResult(number)});
  };
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!isa<TileType>(value.getType()) || !live.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
        carried(loop, argument.getArgNumber() - loop.getNumInductionVars());
      continue;
    }
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = value.getDefiningOp<scf::ForOp>())
      carried(loop, number);
    else if (auto branch = value.getDefiningOp<scf::IfOp>())
      work.append({branch.thenYield().getOperand(number),
                   branch.elseYield().getOperand(number)});
  }
}

/// Returns the conditions of the branches around `op` that do not change in a
/// kernel.
static SetVector<Value> conditionsOf(Operation *op, Block &entry) {
  SetVector<Value> found;
  for (auto branch = op->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>())
    if (branch.getCondition().getParentBlock() == &entry &&
        branch.thenBlock()->findAncestorOpInBlock(*op))
      found.insert(branch.getCondition());
  return found;
}

void Slicer::findConditions() {
  Block &entry = func.getBody().front();
  bool isFirst = true;
  func.walk([&](Operation *op) {
    if (!isOurs(op) || isMemoryEffectFree(op))
      return;
    SetVector<Value> own = conditionsOf(op, entry);
    if (isFirst)
      conditions = own;
    else
      conditions.remove_if([&](Value value) { return !own.contains(value); });
    isFirst = false;
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether `op` compares the bounds of a loop. Each role computes the
/// comparison itself, because a predicate of the whole kernel would be live
/// across all loops.
static bool isLoopTest(Operation *op) {
  return isa<arith::CmpIOp>(op) &&
         llvm::any_of(op->getOperand(0).getUsers(), [&](Operation *user) {
           auto loop = dyn_cast<scf::ForOp>(user);
           return loop && isTestOf(op->getResult(0), loop);
         });
}

/// Returns the value of the role for `value`. Each role that needs arithmetic
/// on indices inside of loops and branches computes it again.
Value Slicer::remake(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  // An unwritten tile is an address, and each role has its own.
  bool isUnwritten = isa_and_nonnull<ub::PoisonOp>(op);
  bool isVisible = op && op->getBlock() == &func.getBody().front();
  if (!op || isTileOp(op) || (isVisible && !isLoopTest(op) && !isUnwritten))
    return value;
  cloneOp(op, mapping);
  Value made = mapping.lookup(value);
  // A later use of the test of a loop computes it again.
  if (isVisible)
    mapping.erase(value);
  return made;
}

SmallVector<Value> Slicer::remakeLive(ValueRange values, ValueRange which,
                                      IRMapping &mapping) {
  SmallVector<Value> made;
  for (auto [value, of] : llvm::zip_equal(values, which))
    if (live.contains(of))
      made.push_back(remake(value, mapping));
  return made;
}

void Slicer::cloneOp(Operation *op, IRMapping &mapping) {
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    remake(value, mapping);
  b.clone(*op, mapping);
}

void Slicer::cloneLoop(scf::ForOp loop, IRMapping &mapping) {
  SmallVector<Value> inits =
      remakeLive(loop.getInitArgs(), loop.getResults(), mapping);
  auto made = scf::ForOp::create(b, remake(loop.getLowerBound(), mapping),
                                 remake(loop.getUpperBound(), mapping),
                                 remake(loop.getStep(), mapping), inits);
  IRMapping inside = mapping;
  inside.map(loop.getInductionVar(), made.getInductionVar());
  unsigned kept = 0;
  for (auto [argument, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
    if (!live.contains(result))
      continue;
    inside.map(argument, made.getRegionIterArg(kept));
    mapping.map(result, made.getResult(kept++));
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  cloneBlock(*loop.getBody(), inside, [&](IRMapping &end) {
    if (kept)
      scf::YieldOp::create(
          b, remakeLive(loop.getYieldedValues(), loop.getResults(), end));
  });
}

void Slicer::cloneBranch(scf::IfOp branch, IRMapping &mapping) {
  if (conditions.contains(branch.getCondition())) {
    for (Operation &op : branch.thenBlock()->without_terminator())
      cloneItem(op, mapping);
    for (auto [result, value] :
         llvm::zip(branch.getResults(), branch.thenYield().getOperands()))
      if (live.contains(result))
        mapping.map(result, remake(value, mapping));
    return;
  }
  SmallVector<Value> kept;
  for (Value result : branch.getResults())
    if (live.contains(result))
      kept.push_back(result);
  bool hasElse =
      !kept.empty() || (branch.elseBlock() && hasOurs(*branch.elseBlock()));
  auto made =
      scf::IfOp::create(b, ValueRange(kept).getTypes(),
                        remake(branch.getCondition(), mapping), hasElse);
  auto fill = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(to);
    cloneBlock(*from, mapping, [&](IRMapping &end) {
      if (!kept.empty())
        scf::YieldOp::create(b, remakeLive(from->getTerminator()->getOperands(),
                                           branch.getResults(), end));
    });
  };
  fill(branch.thenBlock(), made.thenBlock());
  if (hasElse)
    fill(branch.elseBlock(), made.elseBlock());
  for (auto [result, own] : llvm::zip(kept, made.getResults()))
    mapping.map(result, own);
}

void Slicer::cloneItem(Operation &op, IRMapping &mapping) {
  if (isOurs(&op))
    return cloneOp(&op, mapping);
  auto loop = dyn_cast<scf::ForOp>(op);
  auto branch = dyn_cast<scf::IfOp>(op);
  if (loop && hasOurs(loop))
    cloneLoop(loop, mapping);
  if (branch && hasOurs(branch))
    cloneBranch(branch, mapping);
}

void Slicer::cloneBlock(Block &block, IRMapping mapping,
                        function_ref<void(IRMapping &)> finish) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    cloneItem(op, mapping);
  }
  if (finish)
    finish(mapping);
}

void Slicer::inConditions(ArrayRef<Value> left, IRMapping &mapping) {
  if (left.empty())
    return cloneBlock(func.getBody().front(), mapping);
  auto branch = scf::IfOp::create(b, remake(left.front(), mapping),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  inConditions(left.drop_front(), mapping);
}

/// Gives the role slots of its own for the tiles that all threads load above
/// the roles.
void Slicer::placeSlots(IRMapping &mapping) {
  for (auto load : func.getBody().front().getOps<LoadRotatedOp>()) {
    Value tile = load.getResult();
    if (!live.contains(tile))
      continue;
    Value first = arith::ConstantIndexOp::create(b, 0);
    mapping.map(tile, SlotAddressOp::create(b, tile.getType(), first));
  }
}

void Slicer::run() {
  findLive();
  findConditions();
  IRMapping mapping;
  placeSlots(mapping);
  // The innermost condition was found first.
  SmallVector<Value> outer(llvm::reverse(conditions));
  inConditions(outer, mapping);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

bool hasTwoStages(scf::ForOp loop) {
  bool found[2] = {false, false};
  loop.walk([&](Operation *op) {
    if (PartitionAttr partition = partitionOf(op))
      found[partition.getStage()] = true;
  });
  return found[0] && found[1];
}

/// Removes the guard of a loop with one stage, which needs none:
///   %r = scf.if %has { %s = scf.for ... iter_args(%x = %init); yield %s }
///        else { yield %init }
/// ->
///   %r = scf.for ... iter_args(%x = %init)
void dropGuard(scf::IfOp branch) {
  Block *then = branch.thenBlock();
  auto loop = dyn_cast<scf::ForOp>(then->front());
  if (!loop || !isTestOf(branch.getCondition(), loop) || hasTwoStages(loop) ||
      loop->getNextNode() != then->getTerminator())
    return;
  SmallVector<Value> values;
  for (Value result : branch.getResults()) {
    unsigned number = cast<OpResult>(result).getResultNumber();
    auto value = dyn_cast<OpResult>(branch.thenYield().getOperand(number));
    if (!value || value.getOwner() != loop ||
        branch.elseYield().getOperand(number) !=
            loop.getInitArgs()[value.getResultNumber()])
      return;
    values.push_back(value);
  }
  Operation *test = branch.getCondition().getDefiningOp();
  loop->moveBefore(branch);
  branch->replaceAllUsesWith(values);
  branch.erase();
  if (test->use_empty())
    test->erase();
}

/// Erases the sequential program, uses before definitions.
void eraseProgram(gpu::GPUFuncOp func) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if ((isa<scf::ForOp, scf::IfOp>(op) && op.use_empty()) || isTileOp(&op) ||
        isOpTriviallyDead(&op))
      op.erase();
}

struct TileSlicePartitionsPass
    : public fmha::tile::impl::TileSlicePartitionsBase<
          TileSlicePartitionsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!isTiledKernel(func))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(func);
    if (failed(info))
      return signalPassFailure();
    const PartitionFamily &family = partitionFamilyOf(info->schedule);
    KernelStage expected =
        family.hasOneRole ? KernelStage::Placed : KernelStage::Specialized;
    if (failed(expectStage(func, expected, getArgument())) ||
        failed(checkRoles(func, info->schedule)))
      return signalPassFailure();
    ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
    b.setInsertionPoint(func.getBody().front().getTerminator());
    auto all = WarpSpecializeOp::create(b);
    b.createBlock(&all.getBody());
    for (const schedule::Role &role : info->schedule.roles)
      buildRole(role, family, b);
    SmallVector<scf::IfOp> branches;
    all.walk([&](scf::IfOp branch) { branches.push_back(branch); });
    for (scf::IfOp branch : branches)
      dropGuard(branch);
    eraseProgram(func);
  }

private:
  static LogicalResult checkRoles(gpu::GPUFuncOp func,
                                  const schedule::Schedule &schedule) {
    WalkResult walked = func.walk([&](Operation *op) {
      if (isa<WarpSpecializeOp>(op)) {
        op->emitOpError() << "has been cut into roles already";
        return WalkResult::interrupt();
      }
      PartitionAttr partition = partitionOf(op);
      if (!partition || schedule.findRole(partition.getRole().str()))
        return WalkResult::advance();
      op->emitOpError() << "expected a role of the schedule, got \""
                        << partition.getRole() << '"';
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  void buildRole(const schedule::Role &role, const PartitionFamily &family,
                 ImplicitLocOpBuilder &b) {
    const RoleRule *rule = family.findRole(role.name);
    auto op = RoleOp::create(b, role.name, role.firstWarp,
                             role.firstWarp + role.warps, role.registers,
                             rule && rule->singleThread);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op.getBody());
    Slicer(getOperation(), role.name, b).run();
  }
};

} // namespace

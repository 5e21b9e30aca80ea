//===- ShareConsumers.cpp - Merge roles that differ in numbers only -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (warp < 8) { f(0, %a) }             %n = uniform(warp / 4 - 1)
//   else if (warp < 12) { f(64, %b) } ->   %x = %n == 0 ? %a
//   else { f(128, %c) }                         : %n == 1 ? %b : %c
//                                          f(64 %n, %x)
//
// Consumers do the same work on different rows. After the pass LLVM and ptxas
// compile only one of them, and it is in the instruction cache of an SM once.
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "Distribute.h"
#include "RoleMatcher.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "llvm/ADT/TypeSwitch.h"

#include <optional>

namespace fmha::tile {
#define GEN_PASS_DEF_TILESHARECONSUMERS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

constexpr int64_t warpsPerGroup = target::warpgroupWarps;

/// if (warp < bounds[0]) arms[0] else if (warp < bounds[1]) arms[1] ... else
/// the last arm.
struct WarpChain {
  Value warp;
  SmallVector<int64_t> bounds;
  SmallVector<Region *> arms;

  /// Whether each arm is for one warpgroup, from that of warp `first` to the
  /// last one of a CTA.
  bool isOfWarpgroups(int64_t first, int64_t warps) const {
    for (auto [n, bound] : llvm::enumerate(bounds))
      if (bound != first + int64_t(n + 1) * warpsPerGroup)
        return false;
    return bounds.back() + warpsPerGroup == warps;
  }
};

/// Returns the only op of `region` with an effect, if it is an scf.if.
scf::IfOp onlyIf(Region &region) {
  scf::IfOp found;
  for (Operation &op : region.front().without_terminator()) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (found)
        return {};
      found = branch;
    } else if (!isPure(&op)) {
      return {};
    }
  }
  return found;
}

/// Whether `value` is the warp index, that is the thread index divided by 32.
bool isWarp(Value value) {
  constexpr int64_t log2OfThreads = 5;
  auto shift = value.getDefiningOp<arith::ShRUIOp>();
  if (!shift || getConstantIntValue(shift.getRhs()) != log2OfThreads)
    return false;
  auto cast = shift.getLhs().getDefiningOp<arith::IndexCastOp>();
  auto thread =
      cast ? cast.getIn().getDefiningOp<gpu::ThreadIdOp>() : gpu::ThreadIdOp();
  return thread && thread.getDimension() == gpu::Dimension::x;
}

/// Returns the warp index and the constant if the condition is warp < constant.
std::optional<std::pair<Value, int64_t>> boundOf(scf::IfOp branch) {
  auto compared = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  IntegerAttr bound;
  if (!compared || compared.getPredicate() != arith::CmpIPredicate::ult ||
      !isWarp(compared.getLhs()) ||
      !matchPattern(compared.getRhs(), m_Constant(&bound)))
    return std::nullopt;
  return std::pair(compared.getLhs(), bound.getInt());
}

/// Returns the first warp that reaches `branch`, if it is known that the warps
/// from that one on do, with all of their threads.
std::optional<int64_t> firstWarpAt(scf::IfOp branch) {
  if (isa<gpu::GPUFuncOp>(branch->getParentOp()))
    return 0;
  auto around = dyn_cast<scf::IfOp>(branch->getParentOp());
  auto bound = around ? boundOf(around) : std::nullopt;
  if (!bound || branch->getParentRegion() != &around.getElseRegion() ||
      !firstWarpAt(around))
    return std::nullopt;
  return bound->second;
}

std::optional<WarpChain> chainAt(scf::IfOp branch) {
  WarpChain chain;
  Region *rest = nullptr;
  while (branch && branch.elseBlock() && branch.getNumResults() == 0) {
    auto bound = boundOf(branch);
    if (!bound || (chain.warp && bound->first != chain.warp))
      break;
    chain.warp = bound->first;
    chain.bounds.push_back(bound->second);
    chain.arms.push_back(&branch.getThenRegion());
    rest = &branch.getElseRegion();
    branch = onlyIf(*rest);
  }
  if (!rest)
    return std::nullopt;
  chain.arms.push_back(rest);
  return chain;
}

/// A number and a constant that is added to it.
struct Sum {
  OpFoldResult of;
  int64_t constant = 0;

  static Sum read(OpFoldResult value) {
    if (auto constant = getConstantIntValue(value))
      return {OpFoldResult(), *constant};
    auto sum = dyn_cast<Value>(value);
    auto op = sum ? sum.getDefiningOp<arith::AddIOp>() : arith::AddIOp();
    if (!op)
      return {value};
    if (auto constant = getConstantIntValue(op.getRhs()))
      return {op.getLhs(), *constant};
    return {value};
  }
};

/// Returns the difference between the numbers of one arm and the next, if it is
/// the same for all arms. Adding a multiple of it takes no more registers than
/// the number of the arm, and selecting one of the numbers does.
std::optional<int64_t> pitchOf(ArrayRef<OpFoldResult> values) {
  Sum first = Sum::read(values[0]);
  int64_t pitch = Sum::read(values[1]).constant - first.constant;
  for (auto [n, value] : llvm::enumerate(values)) {
    Sum sum = Sum::read(value);
    if (sum.of != first.of ||
        sum.constant != first.constant + int64_t(n) * pitch)
      return std::nullopt;
  }
  return pitch;
}

/// Returns the barriers among the values of a difference.
SmallVector<BarrierOp> barriersOf(const Difference &difference) {
  SmallVector<BarrierOp> barriers;
  for (OpFoldResult one : difference.values)
    if (auto value = dyn_cast<Value>(one))
      if (auto barrier = value.getDefiningOp<BarrierOp>())
        barriers.push_back(barrier);
  return barriers;
}

/// Makes the ops of the first arm compute the numbers of all arms.
class Sharing {
public:
  Sharing(ImplicitLocOpBuilder &b, Value warp, int64_t first) : b(b) {
    Value inRole =
        arith::SubIOp::create(b, warp, number(warp.getType(), first));
    Value group = arith::DivUIOp::create(b, inRole,
                                         number(warp.getType(), warpsPerGroup));
    which = UniformOp::create(
        b, arith::IndexCastUIOp::create(b, b.getIndexType(), group));
  }

  /// Whether apply() supports `difference`: barriers cannot be selected, other
  /// constants have to be of a type for arith.constant, and an op has only one
  /// number that is added.
  static bool canApply(const Difference &difference) {
    if (!difference.operand)
      return TypeSwitch<Operation *, bool>(difference.op)
          .Case<SyncNamedOp, ArriveNamedOp>(
              [](auto op) { return !op.getDistance(); })
          .Default(true);
    Type type = difference.op->getOperand(*difference.operand).getType();
    for (OpFoldResult one : difference.values)
      if (auto constant = dyn_cast<Attribute>(one))
        if (auto typed = dyn_cast<TypedAttr>(constant);
            !typed || typed.getType() != type)
          return false;
    SmallVector<BarrierOp> barriers = barriersOf(difference);
    if (barriers.empty() && isa<BarrierType>(type))
      return false;
    return barriers.empty() ||
           (barriers.size() == difference.values.size() &&
            pitchOf(offsetsOf(barriers)) && areAlike(barriers));
  }

  /// Replaces a number by code at its use. Computed before the loop, it would
  /// take registers that the arms did not need.
  void apply(const Difference &difference) {
    if (auto address = dyn_cast<SmemAddressOp>(difference.op))
      return place(address, difference);
    b.setInsertionPoint(difference.op);
    if (difference.operand)
      return difference.op->setOperand(*difference.operand,
                                       operandFor(difference));
    TypeSwitch<Operation *>(difference.op)
        .Case<SyncNamedOp, ArriveNamedOp>([&](auto op) {
          op.getDistanceMutable().assign(distance(difference.values));
        });
  }

private:
  static SmallVector<OpFoldResult> offsetsOf(ArrayRef<BarrierOp> barriers) {
    SmallVector<OpFoldResult> offsets;
    for (BarrierOp barrier : barriers)
      offsets.push_back(barrier.getOffsetAttr());
    return offsets;
  }
  static bool areAlike(ArrayRef<BarrierOp> barriers) {
    BarrierOp first = barriers.front();
    return llvm::all_of(barriers, [&](BarrierOp barrier) {
      return !barrier.getDistance() &&
             barrier.getArrivals() == first.getArrivals();
    });
  }

  Value number(Type type, int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }
  Value valueOf(OpFoldResult one) {
    if (auto value = dyn_cast<Value>(one))
      return value;
    return arith::ConstantOp::create(b, cast<TypedAttr>(cast<Attribute>(one)));
  }

  Value operandFor(const Difference &difference) {
    SmallVector<BarrierOp> barriers = barriersOf(difference);
    if (!barriers.empty()) {
      BarrierOp first = barriers.front();
      return BarrierOp::create(b, first.getType(), first.getName(),
                               first.getOffset(), first.getArrivals(),
                               distance(offsetsOf(barriers)));
    }
    std::optional<int64_t> pitch = pitchOf(difference.values);
    Type type = difference.op->getOperand(*difference.operand).getType();
    if (!pitch || !type.isIndex())
      return choose(difference.values);
    return arith::AddIOp::create(
        b, valueOf(difference.values.front()),
        arith::MulIOp::create(b, RereadOp::create(b, which),
                              number(b.getIndexType(), *pitch)));
  }

  /// %which == 0 ? values[0] : %which == 1 ? values[1] : ...
  Value choose(ArrayRef<OpFoldResult> values) {
    Value arm = RereadOp::create(b, which);
    Value chosen = valueOf(values.back());
    for (int64_t n = int64_t(values.size()) - 2; n >= 0; --n) {
      Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arm,
                                       number(b.getIndexType(), n));
      chosen = arith::SelectOp::create(b, is, valueOf(values[n]), chosen);
    }
    return chosen;
  }

  /// Returns the difference between the number of the arm that runs and that of
  /// the first arm.
  Value distance(ArrayRef<OpFoldResult> values) {
    if (auto pitch = pitchOf(values)) {
      Value arm = RereadOp::create(b, which);
      return arith::MulIOp::create(
          b, arith::IndexCastUIOp::create(b, b.getI32Type(), arm),
          constantI32(b, int32_t(*pitch)));
    }
    SmallVector<OpFoldResult> distances;
    for (OpFoldResult one : values)
      distances.push_back(b.getI32IntegerAttr(int32_t(
          *getConstantIntValue(one) - *getConstantIntValue(values.front()))));
    return choose(distances);
  }

  /// Replaces each use of `op` by the address of the first arm plus the
  /// distance.
  void place(SmemAddressOp op, const Difference &difference) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      b.setInsertionPoint(use.getOwner());
      use.set(LLVM::GEPOp::create(
          b, op.getType(), b.getI8Type(), op,
          ArrayRef<LLVM::GEPArg>{distance(difference.values)}));
    }
  }

  ImplicitLocOpBuilder &b;
  Value which;
};

/// Replaces `branch` by one arm if all of them differ in numbers only. Returns
/// whether they do.
bool share(scf::IfOp branch, int64_t warps) {
  std::optional<WarpChain> chain = chainAt(branch);
  std::optional<int64_t> first = firstWarpAt(branch);
  if (!chain || !first || !chain->isOfWarpgroups(*first, warps))
    return false;
  RoleMatcher matcher(*chain->arms.front());
  for (Region *arm : ArrayRef(chain->arms).drop_front())
    if (!matcher.add(*arm))
      return false;
  SmallVector<Difference> differences = matcher.getDifferences();
  if (!llvm::all_of(differences, Sharing::canApply))
    return false;
  ImplicitLocOpBuilder b(branch.getLoc(), branch);
  Sharing sharing(b, chain->warp, *first);
  for (const Difference &difference : differences)
    sharing.apply(difference);
  Block &body = chain->arms.front()->front();
  body.getTerminator()->erase();
  branch->getBlock()->getOperations().splice(branch->getIterator(),
                                             body.getOperations());
  branch.erase();
  return true;
}

/// Shares the first branch that can be, outermost ones first. Returns whether
/// there was one.
bool shareOnce(gpu::GPUFuncOp func, int64_t warps) {
  return func
      .walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
        return share(branch, warps) ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

struct TileShareConsumersPass
    : public fmha::tile::impl::TileShareConsumersBase<TileShareConsumersPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    scf::ForOp::getCanonicalizationPatterns(set, context);
    loopPatterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    if (!isTiledKernel(getOperation()) ||
        !partitionFamilyOf(scheduleOf(getOperation())).mergesInstances)
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) || failed(expectStage(getOperation(), KernelStage::Machine,
                                           getArgument())))
      return signalPassFailure();
    if (failed(simplifyLoops()))
      return signalPassFailure();
    const schedule::Role &last = info->schedule.roles.back();
    int64_t warps = last.firstWarp + last.warps;
    auto threads = getOperation().getKnownBlockSize();
    if (threads && threads->front() != warps * 32)
      return;
    while (shareOnce(getOperation(), warps)) {
    }
  }

private:
  /// Removes values that a loop carries unchanged, such as the address of P in
  /// shared memory. Otherwise it would differ inside and outside of the loop
  /// once it is computed.
  LogicalResult simplifyLoops() {
    SmallVector<Operation *> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    return applyOpPatternsGreedily(loops, loopPatterns);
  }

  FrozenRewritePatternSet loopPatterns;
};

} // namespace

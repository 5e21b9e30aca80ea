//===- Tcgen05SeparateMasks.cpp - A loop of the blocks without a mask -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   scf.for %n {                      scf.while (%n < end) {
//     load scores                       scf.while (%n < end and not masked) {
//     scf.if masked {                     load scores
//       mask them               ->        use them; ++%n
//     }                                 }
//     use them                          scf.if (%n < end) {
//   }                                     load scores
//                                         mask them
//                                         use them; ++%n
//                                       }
//                                     }
//
// At a branch between a load and its uses ptxas often waits for all loads, and
// it copies scores where the two sides join. The blocks run in the same order.
//
//===----------------------------------------------------------------------===//

#include "SlicesOfP.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
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
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05SEPARATEMASKS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Values in registers of each thread that may live across a loop with two
/// bodies, blocks that may end in one, and loops around it, taken together.
/// ptxas 13.0.88 spills some kernels with 7, 128 scores, and 200 or 216
/// registers.
constexpr unsigned mostLiveValues = 6;

/// A loop, the branch in it that changes scores, and what computes its
/// condition.
struct MaskedLoop {
  scf::ForOp loop;
  scf::IfOp branch;
  SetVector<Operation *> condition;
};

/// Returns whether a side of a branch only yields values.
bool onlyYields(Region &side) {
  return !side.empty() && llvm::hasSingleElement(side.front());
}

/// Returns whether `value` has the scores of a load, as they were loaded.
bool isLoaded(Value value) {
  if (auto cast = value.getDefiningOp<vector::BitCastOp>())
    return isLoaded(cast.getSource());
  return isa_and_nonnull<TmemWaitOp>(value.getDefiningOp());
}

/// Returns whether exactly one side of `branch` computes, and the other one
/// yields scores as they were loaded.
bool isMask(scf::IfOp branch) {
  if (!branch.elseBlock() ||
      onlyYields(branch.getThenRegion()) == onlyYields(branch.getElseRegion()))
    return false;
  bool isThen = onlyYields(branch.getThenRegion());
  return llvm::any_of(
      (isThen ? branch.thenYield() : branch.elseYield()).getOperands(),
      isLoaded);
}

/// Returns the ops in the loop that compute the condition of `branch`, or none
/// if they need a load.
std::optional<SetVector<Operation *>> conditionOf(scf::IfOp branch) {
  SetVector<Operation *> made;
  Operation *maker = branch.getCondition().getDefiningOp();
  if (!maker || maker->getBlock() != branch->getBlock())
    return made;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == branch->getBlock();
  };
  if (failed(getBackwardSlice(maker, &made, options)))
    return std::nullopt;
  auto isNumber = [](Operation *op) {
    return !op->getNumRegions() && isMemoryEffectFree(op);
  };
  return llvm::all_of(made, isNumber) ? std::make_optional(made) : std::nullopt;
}

/// Returns whether ptxas does not know that the results of `op` are the same in
/// all threads of a warp, although they are in those of its operands: it loads,
/// divides or reads the number of the thread. Barriers are addresses.
bool makesVarying(Operation *op) {
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::CeilDivUIOp, arith::CeilDivSIOp>(op))
    return !matchPattern(op->getOperand(1), m_Constant());
  return isa<gpu::ThreadIdOp>(op) ||
         (!op->getNumRegions() && !isa<BarrierOp>(op) &&
          !isMemoryEffectFree(op));
}

/// Returns the values of `func` that depend on an op that makes values vary.
/// The others lie in uniform registers.
llvm::DenseSet<Value> varyingValues(gpu::GPUFuncOp func) {
  llvm::DenseSet<Value> varying;
  SmallVector<Operation *> work;
  auto mark = [&](ValueRange values) {
    for (Value value : values)
      if (varying.insert(value).second)
        llvm::append_range(work, value.getUsers());
  };
  func.walk([&](Operation *op) {
    if (makesVarying(op))
      mark(op->getResults());
  });
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op->hasTrait<OpTrait::IsTerminator>())
      op = op->getParentOp();
    mark(op->getResults());
    for (Region &region : op->getRegions())
      mark(region.getArguments());
  }
  return varying;
}

/// Returns how many values of `varying` live across `loop`: those that it or
/// code after it uses, and that an iteration of a loop around it uses. Each of
/// the loops around it counts as one more, for its own state.
unsigned countLiveValues(scf::ForOp loop,
                         const llvm::DenseSet<Value> &varying) {
  DominanceInfo dominance;
  llvm::DenseSet<Value> live;
  unsigned outer = 0;
  auto use = [&](Operation *user, Operation *at) {
    user->walk([&](Operation *op) {
      for (Value value : op->getOperands())
        if (varying.contains(value) && dominance.properlyDominates(value, at))
          live.insert(value);
    });
  };
  for (Operation *op = loop; !isa<gpu::GPUFuncOp>(op); op = op->getParentOp()) {
    if (isa<LoopLikeOpInterface>(op)) {
      use(op, op);
      outer += op != loop;
    }
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      use(next, loop);
  }
  return live.size() + outer;
}

/// Returns `loop` with its only mask, if it passes on P in slices and masks
/// scores that it has loaded, or none.
std::optional<MaskedLoop> maskedLoop(scf::ForOp loop,
                                     const llvm::DenseSet<Value> &varying) {
  Block &body = *loop.getBody();
  auto branches = body.getOps<scf::IfOp>();
  auto first = llvm::find_if(branches, isMask);
  unsigned ends = llvm::count_if(body.getOps<ArriveOp>(), endsSlice);
  if (!ends || llvm::count_if(branches, isMask) != 1)
    return std::nullopt;
  std::optional<SetVector<Operation *>> condition = conditionOf(*first);
  if (!condition || ends + countLiveValues(loop, varying) > mostLiveValues)
    return std::nullopt;
  return MaskedLoop{loop, *first, *condition};
}

/// Emits the two bodies of a loop with a mask.
class MaskSeparator {
public:
  explicit MaskSeparator(MaskedLoop &from)
      : from(from), b(from.loop.getLoc(), from.loop) {}

  void run();

private:
  Value inRange(ValueRange state);
  Value unmasked(ValueRange state);
  SmallVector<Value> body(ValueRange state, bool masked);
  scf::WhileOp loop(ValueRange inits,
                    llvm::function_ref<Value(ValueRange)> condition,
                    llvm::function_ref<SmallVector<Value>(ValueRange)> step);
  IRMapping mapping(ValueRange state);

  MaskedLoop &from;
  ImplicitLocOpBuilder b;
};

/// Returns the index of the loop and what it carries, mapped to `state`.
IRMapping MaskSeparator::mapping(ValueRange state) {
  IRMapping values;
  values.map(from.loop.getBody()->getArguments(), state);
  return values;
}

Value MaskSeparator::inRange(ValueRange state) {
  auto less = from.loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                         : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(b, less, state[0], from.loop.getUpperBound());
}

/// Returns whether the block is one of the loop and has no mask.
Value MaskSeparator::unmasked(ValueRange state) {
  IRMapping values = mapping(state);
  for (Operation *op : from.condition)
    b.clone(*op, values);
  Value taken = values.lookupOrDefault(from.branch.getCondition());
  if (onlyYields(from.branch.getElseRegion())) {
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    taken = arith::XOrIOp::create(b, taken, yes);
  }
  return arith::AndIOp::create(b, inRange(state), taken);
}

/// Emits the body for one block with one side of the branch, and returns the
/// state of the next block.
SmallVector<Value> MaskSeparator::body(ValueRange state, bool masked) {
  IRMapping values = mapping(state);
  Region &then = from.branch.getThenRegion();
  Region &side =
      masked != onlyYields(then) ? then : from.branch.getElseRegion();
  auto clone = [&](Block &block) {
    for (Operation &op : block.without_terminator())
      if (&op != from.branch)
        b.clone(op, values);
      else {
        for (Operation &inner : side.front().without_terminator())
          b.clone(inner, values);
        for (auto [result, value] : llvm::zip_equal(
                 op.getResults(), side.front().getTerminator()->getOperands()))
          values.map(result, values.lookupOrDefault(value));
      }
  };
  clone(*from.loop.getBody());
  SmallVector<Value> next = {
      arith::AddIOp::create(b, state[0], from.loop.getStep())};
  for (Value yielded : from.loop.getYieldedValues())
    next.push_back(values.lookupOrDefault(yielded));
  return next;
}

scf::WhileOp
MaskSeparator::loop(ValueRange inits,
                    llvm::function_ref<Value(ValueRange)> condition,
                    llvm::function_ref<SmallVector<Value>(ValueRange)> step) {
  OpBuilder::InsertionGuard guard(b);
  return scf::WhileOp::create(
      b, inits.getTypes(), inits,
      [&](OpBuilder &inner, Location, ValueRange state) {
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        scf::ConditionOp::create(b, condition(state), state);
      },
      [&](OpBuilder &inner, Location, ValueRange state) {
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        scf::YieldOp::create(b, step(state));
      });
}

void MaskSeparator::run() {
  SmallVector<Value> inits = {from.loop.getLowerBound()};
  llvm::append_range(inits, from.loop.getInitArgs());
  auto range = [&](ValueRange state) { return inRange(state); };
  auto plain = [&](ValueRange state) { return unmasked(state); };
  auto next = [&](ValueRange state) { return body(state, /*masked=*/false); };
  scf::WhileOp made = loop(inits, range, [&](ValueRange state) {
    scf::WhileOp hot = loop(state, plain, next);
    b.setInsertionPointAfter(hot);
    ValueRange left = hot.getResults();
    auto rest = scf::IfOp::create(b, left.getTypes(), inRange(left),
                                  /*withElseRegion=*/true);
    b.setInsertionPointToEnd(rest.thenBlock());
    scf::YieldOp::create(b, body(left, /*masked=*/true));
    b.setInsertionPointToEnd(rest.elseBlock());
    scf::YieldOp::create(b, left);
    b.setInsertionPointAfter(rest);
    return SmallVector<Value>(rest.getResults());
  });
  from.loop.replaceAllUsesWith(made.getResults().drop_front());
  from.loop.erase();
}

struct TileTcgen05SeparateMasksPass
    : public fmha::tile::impl::TileTcgen05SeparateMasksBase<
          TileTcgen05SeparateMasksPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<ScheduleAttr>("fmha.schedule");
    if (!plan || !endsBlocksAtSlices(plan.getValue()))
      return;
    llvm::DenseSet<Value> varying = varyingValues(getOperation());
    SmallVector<MaskedLoop> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (std::optional<MaskedLoop> found = maskedLoop(loop, varying))
        loops.push_back(*found);
    });
    for (MaskedLoop &found : loops)
      MaskSeparator(found).run();
  }
};

} // namespace

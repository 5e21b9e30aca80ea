//===- Loops.cpp - Trip counts and message numbers ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Loops.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

/// Returns the upper bound of `loop`. If tile.split_trips computes the bound,
/// returns the number of all iterations: `loop` runs at least once if that is
/// not 0.
static Value allIterations(scf::ForOp loop) {
  Value end = loop.getUpperBound();
  auto split = end.getDefiningOp<fmha::tile::SplitTripsOp>();
  return split && end == split.getComputed() ? split.getAll() : end;
}

bool fmha::tile::alwaysRuns(scf::ForOp loop) {
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> end = getConstantIntValue(allIterations(loop));
  return first && end && *first < *end;
}

bool fmha::tile::isTestOf(Value condition, scf::ForOp loop) {
  auto test = condition.getDefiningOp<arith::CmpIOp>();
  return test && test.getPredicate() == arith::CmpIPredicate::sgt &&
         test.getLhs() == allIterations(loop) &&
         isEqualConstantIntOrValue(test.getRhs(), loop.getLowerBound());
}

bool fmha::tile::isGuarded(scf::ForOp loop) {
  for (auto branch = loop->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>())
    if (isTestOf(branch.getCondition(), loop) &&
        branch.thenBlock()->findAncestorOpInBlock(*loop))
      return true;
  return false;
}

/// Returns the outermost loop in which the bounds of `loop` do not change, or
/// `loop`.
static Operation *outOfLoops(scf::ForOp loop) {
  Operation *found = loop;
  for (auto around = loop->getParentOfType<scf::ForOp>();
       around && fmha::tile::areBoundsInvariant(loop, around);
       around = around->getParentOfType<scf::ForOp>())
    found = around;
  return found;
}

bool fmha::tile::areBoundsInvariant(scf::ForOp loop, scf::ForOp around) {
  return llvm::all_of(
      ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
      [&](Value bound) {
        return around.isDefinedOutsideOfLoop(bound) ||
               getConstantIntValue(bound);
      });
}

Value fmha::tile::hasIterations(scf::ForOp loop) {
  Operation *at = outOfLoops(loop);
  for (Operation *user : loop.getUpperBound().getUsers())
    if (user->getBlock() == at->getBlock() && user->isBeforeInBlock(at) &&
        user->getNumResults() == 1 && isTestOf(user->getResult(0), loop))
      return user->getResult(0);
  OpBuilder b(at);
  return arith::CmpIOp::create(b, loop.getLoc(), arith::CmpIPredicate::sgt,
                               loop.getUpperBound(), loop.getLowerBound());
}

/// Returns ceil((value - first) / step).
static Value countSteps(ImplicitLocOpBuilder &b, Value value, scf::ForOp loop) {
  if (!isConstantIntValue(loop.getLowerBound(), 0))
    value = arith::SubIOp::create(b, value, loop.getLowerBound());
  if (!isConstantIntValue(loop.getStep(), 1))
    value = arith::CeilDivSIOp::create(b, value, loop.getStep());
  return value;
}

Value fmha::tile::tripCount(ImplicitLocOpBuilder &b, scf::ForOp loop) {
  return countSteps(b, loop.getUpperBound(), loop);
}

Value fmha::tile::iterationNumber(ImplicitLocOpBuilder &b, scf::ForOp loop) {
  return countSteps(b, loop.getInductionVar(), loop);
}

Value fmha::tile::plus(ImplicitLocOpBuilder &b, Value value, int64_t n) {
  if (n == 0)
    return value;
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return arith::ConstantIndexOp::create(b, *known + n);
  return arith::AddIOp::create(b, value, arith::ConstantIndexOp::create(b, n));
}

Value fmha::tile::times(ImplicitLocOpBuilder &b, Value value, int64_t n) {
  if (n == 1)
    return value;
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return arith::ConstantIndexOp::create(b, *known * n);
  return arith::MulIOp::create(b, value, arith::ConstantIndexOp::create(b, n));
}

bool fmha::tile::testsLoopAround(Value condition, Operation *op) {
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (isTestOf(condition, loop))
      return true;
  return false;
}

Operation *fmha::tile::guardOf(Operation *user, Operation *op) {
  Operation *guard = nullptr;
  auto loop = dyn_cast<scf::ForOp>(op);
  for (auto branch = user->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>()) {
    Value condition = branch.getCondition();
    bool tests =
        testsLoopAround(condition, op) || (loop && isTestOf(condition, loop));
    if (tests && !branch->isProperAncestor(op))
      guard = branch;
  }
  return guard;
}

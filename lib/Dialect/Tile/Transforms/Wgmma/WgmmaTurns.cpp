//===- WgmmaTurns.cpp - Turns of consumers --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaTurns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Decides whether values are computed from the same values by equal ops, each
/// pair of ops once.
class Sameness {
public:
  bool compare(Value a, Value b);

private:
  bool compareAll(ValueRange left, ValueRange right) {
    return llvm::all_of_zip(left, right,
                            [this](Value a, Value b) { return compare(a, b); });
  }

  /// Pairs that are equal if all pairs are. The first unequal pair ends the
  /// comparison.
  DenseSet<std::pair<Value, Value>> assumed;
};

/// Products of a rotated loop, before, inside and after it, and the loop over
/// the iterations that it skips, if there is one.
struct RotatedProducts {
  SmallVector<DotOp> before, inside, after;
  scf::ForOp skipping;

  static RotatedProducts of(scf::ForOp loop);
  bool isRotated() const {
    return !before.empty() && !inside.empty() && !after.empty();
  }
};

/// Emits the turns of one consumer.
class Turns {
public:
  explicit Turns(Consumer consumer)
      : consumer(consumer),
        b(consumer.role.getLoc(), consumer.role.getContext()) {}
  void take(scf::ForOp loop);

private:
  void awaitTurn(std::optional<bool> condition);
  void awaitTurn(DotOp first, std::optional<bool> condition);
  void passTurn();
  void passTurn(DotOp last);
  bool isFirst() const { return consumer.number == 0; }

  Consumer consumer;
  ImplicitLocOpBuilder b;
};

} // namespace

bool Sameness::compare(Value a, Value b) {
  if (a == b || assumed.contains({a, b}))
    return true;
  auto left = dyn_cast<OpResult>(a), right = dyn_cast<OpResult>(b);
  if (!left || !right || left.getResultNumber() != right.getResultNumber() ||
      !isMemoryEffectFree(left.getOwner()))
    return false;
  assumed.insert({a, b});
  return OperationEquivalence::isEquivalentTo(
      left.getOwner(), right.getOwner(),
      [&](Value x, Value y) { return success(compare(x, y)); },
      [&](Value x, Value y) { assumed.insert({x, y}); },
      OperationEquivalence::IgnoreLocations,
      [&](ValueRange x, ValueRange y) { return success(compareAll(x, y)); });
}

bool fmha::tile::areSame(Value a, Value b) { return Sameness().compare(a, b); }

/// Returns the loop in the block of `loop` over skipped iterations.
static scf::ForOp findSkipping(scf::ForOp loop) {
  for (auto other : loop->getBlock()->getOps<scf::ForOp>())
    if (auto trips = other.getUpperBound().getDefiningOp<SplitTripsOp>();
        trips && other.getUpperBound() == trips.getSkipped())
      return other;
  return {};
}

RotatedProducts RotatedProducts::of(scf::ForOp loop) {
  RotatedProducts made;
  made.inside = llvm::to_vector(loop.getBody()->getOps<DotOp>());
  for (DotOp dot : loop->getBlock()->getOps<DotOp>())
    (dot->isBeforeInBlock(loop) ? made.before : made.after).push_back(dot);
  made.skipping = findSkipping(loop);
  return made;
}

/// Returns the loops of a role whose products take turns.
static SmallVector<scf::ForOp> rotatedLoops(RoleOp role) {
  SmallVector<scf::ForOp> loops;
  role.walk([&](scf::ForOp loop) {
    if (RotatedProducts::of(loop).isRotated())
      loops.push_back(loop);
  });
  return loops;
}

/// Whether products of two loops take the same number of turns: as many in an
/// iteration, and as many iterations, with those that are skipped.
static bool haveSameTurns(scf::ForOp a, scf::ForOp b) {
  RotatedProducts ofA = RotatedProducts::of(a), ofB = RotatedProducts::of(b);
  if (bool(ofA.skipping) != bool(ofB.skipping) ||
      ofA.inside.size() != ofB.inside.size() ||
      !areSame(a.getLowerBound(), b.getLowerBound()))
    return false;
  if (!ofA.skipping)
    return areSame(a.getUpperBound(), b.getUpperBound());
  auto allOf = [](scf::ForOp skipping) {
    return skipping.getUpperBound().getDefiningOp<SplitTripsOp>().getAll();
  };
  return areSame(allOf(ofA.skipping), allOf(ofB.skipping));
}

bool fmha::tile::canTakeTurns(ArrayRef<RoleOp> roles) {
  scf::ForOp first;
  for (RoleOp role : roles) {
    SmallVector<scf::ForOp> loops = rotatedLoops(role);
    if (loops.size() != 1)
      return false;
    if (!first)
      first = loops.front();
    if (!haveSameTurns(loops.front(), first))
      return false;
  }
  return roles.size() > 1;
}

/// Emits the wait for the turn of a consumer: consumer n may issue its products
/// when the previous consumer has issued its own. A branch on a constant
/// `condition` makes the code of all consumers equal, so that they can share
/// it.
void Turns::awaitTurn(std::optional<bool> condition) {
  OpBuilder::InsertionGuard guard(b);
  if (condition) {
    Value value = arith::ConstantOp::create(b, b.getBoolAttr(*condition));
    auto branch = scf::IfOp::create(b, value, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  SyncNamedOp::create(b, 1 + consumer.number, 2 * groupThreads, Value());
}

/// Emits the wait before the first product of a turn.
void Turns::awaitTurn(DotOp first, std::optional<bool> condition) {
  Operation *factor = first.getB().getDefiningOp();
  b.setInsertionPoint(factor && factor->getBlock() == first->getBlock()
                          ? factor
                          : first.getOperation());
  awaitTurn(condition);
}

void Turns::passTurn() {
  ArriveNamedOp::create(b, 1 + (consumer.number + 1) % consumer.count,
                        2 * groupThreads, Value());
}

void Turns::passTurn(DotOp last) {
  b.setInsertionPointAfter(last);
  passTurn();
}

/// The first consumer does not wait for its first turn; before its last product
/// it waits for the arrival of the last consumer, so that every arrival has a
/// wait. In an iteration that is skipped, a turn passes without products.
void Turns::take(scf::ForOp loop) {
  auto [before, inside, after, skipping] = RotatedProducts::of(loop);
  awaitTurn(before.front(), !isFirst());
  passTurn(before.back());
  awaitTurn(inside.front(), std::nullopt);
  passTurn(inside.back());
  awaitTurn(after.front(), isFirst());
  if (!skipping)
    return;
  b.setInsertionPointToStart(skipping.getBody());
  awaitTurn(!isFirst());
  passTurn();
  awaitTurn(isFirst());
}

void fmha::tile::takeTurns(Consumer consumer) {
  for (scf::ForOp loop : rotatedLoops(consumer.role))
    Turns(consumer).take(loop);
}

//===- CarryStages.cpp - Carry stages of channels through loops -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <utility>

namespace fmha::tile {
#define GEN_PASS_DEF_TILECARRYSTAGES
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Reads numbers in a loop as affine expressions: d0 is the index of the loop,
/// and s0, s1, ... are values from outside of the loop.
class NumberReader {
public:
  explicit NumberReader(scf::ForOp loop) : loop(loop) {}

  /// Returns the expression of `value`, or null.
  AffineExpr read(Value value);
  /// Returns the factors of d0, s0, s1, ..., and the constant.
  SmallVector<int64_t> flatten(AffineExpr number) const;

  ArrayRef<Value> outside() const { return symbols.getArrayRef(); }

private:
  template <typename Join> AffineExpr join(Operation *op, Join joined);

  scf::ForOp loop;
  SetVector<Value> symbols;
};

/// An op on the number of a message: its stage, or the parity of its round.
struct Use {
  Operation *op;
  bool isStage;
  int64_t depth;
  AffineExpr number;
};

/// A position in a ring: a stage, and the parity of the round.
struct Position {
  Value stage, parity;
};

/// Uses whose numbers differ by constants, modulo one depth.
struct Group {
  int64_t depth;
  /// Each use, and the constant of its number.
  SmallVector<std::pair<Use, int64_t>> uses;
  /// The number of the first use in the loop, and its constant.
  AffineExpr number;
  int64_t first;
  /// Messages from one iteration to the next.
  int64_t advance;
};

/// The stages and parities that one loop computes from numbers of messages.
class LoopStages {
public:
  explicit LoopStages(scf::ForOp loop)
      : loop(loop), b(loop.getLoc(), loop.getContext()), reader(loop) {}

  void carry();

private:
  void collect();
  void add(Operation *op, Value number, Value depth, bool isStage);
  SmallVector<Group> groups();
  bool complete(Group &group, ArrayRef<int64_t> factors);
  bool startsBelowZero(const Group &group, ArrayRef<int64_t> factors);
  void carry(const Group &group);
  Position carryFirst(const Group &group);
  Position start(const Group &group);
  Position after(const Position &from, int64_t depth, int64_t messages);

  scf::ForOp loop;
  ImplicitLocOpBuilder b;
  NumberReader reader;
  SmallVector<Use> uses;
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers of messages
//===----------------------------------------------------------------------===//

template <typename Join>
AffineExpr NumberReader::join(Operation *op, Join joined) {
  AffineExpr lhs = read(op->getOperand(0));
  AffineExpr rhs = lhs ? read(op->getOperand(1)) : lhs;
  return rhs ? joined(lhs, rhs) : rhs;
}

AffineExpr NumberReader::read(Value value) {
  MLIRContext *context = loop.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  if (value == loop.getInductionVar())
    return getAffineDimExpr(0, context);
  if (loop.isDefinedOutsideOfLoop(value)) {
    symbols.insert(value);
    auto place = llvm::find(symbols, value) - symbols.begin();
    return getAffineSymbolExpr(place, context);
  }
  // A value that the loop, or one in it, carries.
  Operation *maker = value.getDefiningOp();
  if (!maker)
    return AffineExpr();
  return TypeSwitch<Operation *, AffineExpr>(maker)
      .Case([&](arith::AddIOp op) {
        return join(op, [](AffineExpr x, AffineExpr y) { return x + y; });
      })
      .Case([&](arith::SubIOp op) {
        return join(op, [](AffineExpr x, AffineExpr y) { return x - y; });
      })
      .Case([&](arith::MulIOp op) {
        return join(op, [](AffineExpr x, AffineExpr y) {
          bool isAffine =
              isa<AffineConstantExpr>(x) || isa<AffineConstantExpr>(y);
          return isAffine ? x * y : AffineExpr();
        });
      })
      .Default(AffineExpr());
}

SmallVector<int64_t> NumberReader::flatten(AffineExpr number) const {
  SmallVector<int64_t> factors;
  LogicalResult isAffine =
      getFlattenedAffineExpr(number, /*numDims=*/1, symbols.size(), &factors);
  assert(succeeded(isAffine) && "sums of multiples");
  (void)isAffine;
  return factors;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// Stages of rings with a power of two of stages are the last bits of a number.
void LoopStages::add(Operation *op, Value number, Value depth, bool isStage) {
  std::optional<int64_t> stages = getConstantIntValue(depth);
  if (!stages || *stages < 2 || llvm::isPowerOf2_64(*stages) ||
      !number.getType().isIndex())
    return;
  if (AffineExpr expression = reader.read(number))
    uses.push_back({op, isStage, *stages, expression});
}

/// Returns whether `round` is used for its parity only.
static bool isParity(arith::DivUIOp round) {
  return llvm::all_of(round->getUsers(), [](Operation *user) {
    return isa<arith::AndIOp>(user) && isOneInteger(user->getOperand(1));
  });
}

void LoopStages::collect() {
  loop.getBody()->walk([&](Operation *op) {
    if (op->getParentOfType<scf::ForOp>() != loop)
      return;
    if (auto stage = dyn_cast<arith::RemUIOp>(op))
      add(op, stage.getLhs(), stage.getRhs(), /*isStage=*/true);
    if (auto round = dyn_cast<arith::DivUIOp>(op); round && isParity(round))
      add(op, round.getLhs(), round.getRhs(), /*isStage=*/false);
  });
}

/// Returns whether each iteration uses the result of `op`.
static bool isUsedAlways(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return user->getBlock() == op->getBlock();
  });
}

/// Finds the first use of every iteration. Returns whether the loop can carry
/// its position: in iterations that do not take a branch, message numbers in it
/// may be negative.
bool LoopStages::complete(Group &group, ArrayRef<int64_t> factors) {
  group.advance = factors.front() * *getConstantIntValue(loop.getStep());
  bool found = false;
  for (auto &[use, constant] : group.uses)
    if (use.op->getBlock() == loop.getBody() && isUsedAlways(use.op) &&
        (!found || constant < group.first)) {
      group.first = constant;
      group.number = use.number;
      found = true;
    }
  return found && group.advance > 0 && !startsBelowZero(group, factors);
}

/// Returns whether the number of the first use is known to be negative in the
/// first iteration.
bool LoopStages::startsBelowZero(const Group &group,
                                 ArrayRef<int64_t> factors) {
  auto symbols = factors.drop_front().drop_back();
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound());
  return begin && llvm::all_of(symbols, [](int64_t f) { return f == 0; }) &&
         factors.front() * *begin + group.first < 0;
}

SmallVector<Group> LoopStages::groups() {
  std::map<SmallVector<int64_t>, Group> byFactors;
  for (const Use &use : uses) {
    SmallVector<int64_t> key = reader.flatten(use.number);
    int64_t constant = std::exchange(key.back(), use.depth);
    Group &group = byFactors[key];
    group.depth = use.depth;
    group.uses.push_back({use, constant});
  }
  SmallVector<Group> complete;
  for (auto &[key, group] : byFactors)
    if (this->complete(group, key))
      complete.push_back(group);
  return complete;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static Value constantOf(ImplicitLocOpBuilder &b, int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

/// Emits the position of the first use in the first iteration.
Position LoopStages::start(const Group &group) {
  Value index = loop.getLowerBound();
  Value number = affine::expandAffineExpr(b, b.getLoc(), group.number, index,
                                          reader.outside());
  Value depth = constantOf(b, group.depth);
  Value round = arith::DivUIOp::create(b, number, depth);
  return {arith::RemUIOp::create(b, number, depth),
          arith::AndIOp::create(b, round, constantOf(b, 1))};
}

/// Emits the position that lies `messages` after `from`.
Position LoopStages::after(const Position &from, int64_t depth,
                           int64_t messages) {
  Position next = from;
  if ((messages / depth) % 2)
    next.parity = arith::XOrIOp::create(b, next.parity, constantOf(b, 1));
  if (messages % depth == 0)
    return next;
  Value stages = constantOf(b, depth);
  Value moved =
      arith::AddIOp::create(b, next.stage, constantOf(b, messages % depth));
  Value wraps =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, moved, stages);
  Value wrapped = arith::SubIOp::create(b, moved, stages);
  Value other = arith::XOrIOp::create(b, next.parity, constantOf(b, 1));
  return {arith::SelectOp::create(b, wraps, wrapped, moved),
          arith::SelectOp::create(b, wraps, other, next.parity)};
}

/// Adds the position of the first use to the values that the loop carries.
Position LoopStages::carryFirst(const Group &group) {
  b.setInsertionPoint(loop);
  Position first = start(group);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  auto yields = [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
    Position next = after({carried[0], carried[1]}, group.depth, group.advance);
    return SmallVector<Value>{next.stage, next.parity};
  };
  IRRewriter rewriter(b.getContext());
  rewriter.setInsertionPoint(loop);
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {first.stage, first.parity},
      /*replaceInitOperandUsesInLoop=*/false, yields));
  auto carried = loop.getRegionIterArgs().take_back(2);
  return {carried[0], carried[1]};
}

/// Replaces a stage, or the parities of a round.
static void replaceUse(const Use &use, const Position &at) {
  if (use.isStage)
    use.op->replaceAllUsesWith(ValueRange(at.stage));
  for (Operation *parity : llvm::make_early_inc_range(use.op->getUsers())) {
    parity->replaceAllUsesWith(ValueRange(at.parity));
    parity->erase();
  }
  use.op->erase();
}

void LoopStages::carry(const Group &group) {
  Position first = carryFirst(group);
  // Positions in the body itself, which later uses share.
  llvm::SmallDenseMap<int64_t, Position> known;
  for (auto &[use, constant] : group.uses) {
    if (constant < group.first)
      continue;
    b.setInsertionPoint(use.op);
    auto place = known.find(constant);
    Position at = place != known.end()
                      ? place->second
                      : after(first, group.depth, constant - group.first);
    if (use.op->getBlock() == loop.getBody())
      known[constant] = at;
    replaceUse(use, at);
  }
}

void LoopStages::carry() {
  if (!getConstantIntValue(loop.getStep()))
    return;
  collect();
  for (const Group &group : groups())
    carry(group);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class CarryStages : public tile::impl::TileCarryStagesBase<CarryStages> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      LoopStages(loop).carry();
  }
};
} // namespace

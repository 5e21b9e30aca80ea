//===- Tcgen05ReduceLoads.cpp - Maxima that loads compute -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %v = tile.tmem_load %t               %v, %m = tcgen05.ld_red max %t
//   %w = tile.tmem_wait load of %v       %w, %n = tcgen05.wait load of %v, %m
//   %a, %b = extract all of %w     ->    %a, %b = extract all of %w
//   %x = maxnumf %a, %b
//   %y = maxnumf %x, %old                %y = maxnumf %n, %old
//
// A maximum that has all columns of loads among its operands takes the maxima
// that tcgen05.ld.red computes. If a branch replaces the columns, as a mask
// does, each of its sides yields a maximum: that of the loads, or one of what
// it yields.
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05REDUCELOADS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// The code doubles with each further branch that yields the row of another.
constexpr unsigned mostBranches = 4;

/// A maximum of values of one thread: a tree of arith.maxnumf.
struct MaximumTree {
  explicit MaximumTree(arith::MaxNumFOp root);

  arith::MaxNumFOp root;
  SmallVector<Value> leaves;
};

/// Replaces the loads of rows, and the maxima of their columns.
class LoadReduction {
public:
  /// Replaces the tree if it has all columns of loads.
  void fold(MaximumTree tree);

private:
  /// Returns whether loads can compute the maximum of `row`, on one path at
  /// least. Follows rows that `depth` branches in a row yield.
  bool canReduce(Value row, unsigned depth = mostBranches) const;
  /// Returns the maxima of the loads of a row, f32.
  ArrayRef<Value> maximaOf(Value row);
  /// Returns the maximum of all columns of a row.
  Value maximumOf(ImplicitLocOpBuilder &b, Value row);
  /// Returns the maximum that the branch of `row` yields with the row.
  Value yieldMaximum(OpResult row);

  /// The maxima of rows whose loads are replaced.
  llvm::DenseMap<Value, SmallVector<Value>> maxima;
};

} // namespace

//===----------------------------------------------------------------------===//
// Maxima and rows
//===----------------------------------------------------------------------===//

/// Returns whether `op` is an operand of a larger maximum, and nothing else.
static bool isInTree(arith::MaxNumFOp op) {
  return op->hasOneUse() && isa<arith::MaxNumFOp>(*op->user_begin()) &&
         op->getBlock() == op->user_begin()->getBlock();
}

MaximumTree::MaximumTree(arith::MaxNumFOp root) : root(root) {
  SmallVector<Value> open = {root.getRhs(), root.getLhs()};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto inner = value.getDefiningOp<arith::MaxNumFOp>();
    if (inner && isInTree(inner))
      open.append({inner.getRhs(), inner.getLhs()});
    else
      leaves.push_back(value);
  }
}

/// Returns the wait that gives the columns of `row`, if each of its loads can
/// compute a maximum, or null.
static TmemWaitOp waitOf(Value row) {
  auto bits = row.getDefiningOp<vector::BitCastOp>();
  auto wait = bits ? bits.getSource().getDefiningOp<TmemWaitOp>() : nullptr;
  auto canReduce = [](Value loaded) {
    return loaded.getDefiningOp<TmemLoadOp>() && loaded.hasOneUse() &&
           cast<VectorType>(loaded.getType()).getNumElements() > 1;
  };
  return wait && llvm::all_of(wait.getValues(), canReduce) ? wait : nullptr;
}

/// Returns what the sides of a branch yield as `result`.
static SmallVector<Value, 2> yieldedAs(OpResult result) {
  SmallVector<Value, 2> values;
  for (Region &region : result.getOwner()->getRegions())
    if (!region.empty())
      values.push_back(
          region.front().getTerminator()->getOperand(result.getResultNumber()));
  return values;
}

/// Returns the rows of which `leaves` has all columns, f32.
static SmallVector<Value> wholeRows(ArrayRef<Value> leaves) {
  llvm::MapVector<Value, llvm::SmallBitVector> columns;
  for (Value leaf : leaves) {
    auto extract = leaf.getDefiningOp<vector::ExtractOp>();
    if (!extract || extract.hasDynamicPosition())
      continue;
    Value row = extract.getSource();
    auto type = cast<VectorType>(row.getType());
    if (type.getRank() != 1 || !leaf.getType().isF32())
      continue;
    llvm::SmallBitVector &seen = columns[row];
    seen.resize(unsigned(type.getNumElements()));
    seen.set(unsigned(extract.getStaticPosition().front()));
  }
  SmallVector<Value> rows;
  for (auto &[row, seen] : columns)
    if (seen.all())
      rows.push_back(row);
  return rows;
}

/// Returns whether `leaf` is a column of `row`.
static bool isColumnOf(Value leaf, Value row) {
  auto extract = leaf.getDefiningOp<vector::ExtractOp>();
  return extract && extract.getSource() == row;
}

/// Returns the maximum of `values`, in pairs.
static Value maximum(ImplicitLocOpBuilder &b, SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t n = 0; n + 1 < values.size(); n += 2)
      pairs.push_back(arith::MaxNumFOp::create(b, values[n], values[n + 1]));
    if (values.size() % 2)
      pairs.push_back(values.back());
    values = std::move(pairs);
  }
  return values.front();
}

static SmallVector<Value> columnsOf(ImplicitLocOpBuilder &b, Value row) {
  SmallVector<Value> columns;
  for (int64_t n = 0; n < cast<VectorType>(row.getType()).getNumElements(); ++n)
    columns.push_back(vector::ExtractOp::create(b, row, n));
  return columns;
}

//===----------------------------------------------------------------------===//
// Loads, branches and trees
//===----------------------------------------------------------------------===//

/// Returns the registers of a load and their maximum, i32, by tcgen05.ld.red.
static std::pair<Value, Value> reduceLoad(TmemLoadOp load) {
  ImplicitLocOpBuilder b(load.getLoc(), load);
  auto shape = load.getSplit() ? tcgen05::MoveShape::Shape16x32bx2
                               : tcgen05::MoveShape::Shape32x32b;
  auto made = tcgen05::LdRedOp::create(
      b, load.getType(), b.getI32Type(), tcgen05::Extremum::Max, shape,
      load.getAddress(), load.getSplitAttr(), b.getF32Type());
  return {made.getRegisters(), made.getResult()};
}

bool LoadReduction::canReduce(Value row, unsigned depth) const {
  if (maxima.contains(row) || waitOf(row))
    return true;
  return depth && row.getDefiningOp<scf::IfOp>() &&
         llvm::any_of(yieldedAs(cast<OpResult>(row)),
                      [&](Value side) { return canReduce(side, depth - 1); });
}

ArrayRef<Value> LoadReduction::maximaOf(Value row) {
  auto [entry, isNew] = maxima.try_emplace(row);
  if (!isNew)
    return entry->second;
  TmemWaitOp wait = waitOf(row);
  ImplicitLocOpBuilder b(wait.getLoc(), wait);
  SmallVector<Value> values, columns;
  SmallVector<Operation *> replaced = {wait};
  for (Value value : wait.getValues()) {
    auto [registers, most] = reduceLoad(value.getDefiningOp<TmemLoadOp>());
    values.append({registers, most});
    replaced.push_back(value.getDefiningOp());
  }
  auto made = tcgen05::WaitOp::create(b, tcgen05::Access::Load, values);
  for (auto [n, ready] : llvm::enumerate(made.getReady()))
    if (n % 2)
      entry->second.push_back(
          arith::BitcastOp::create(b, b.getF32Type(), ready));
    else
      columns.push_back(ready);
  wait.getResult().replaceAllUsesWith(concatenate(b, columns));
  for (Operation *op : replaced)
    op->erase();
  return entry->second;
}

Value LoadReduction::maximumOf(ImplicitLocOpBuilder &b, Value row) {
  if (!canReduce(row))
    return maximum(b, columnsOf(b, row));
  if (row.getDefiningOp<scf::IfOp>())
    return yieldMaximum(cast<OpResult>(row));
  return maximum(b, llvm::to_vector(maximaOf(row)));
}

Value LoadReduction::yieldMaximum(OpResult row) {
  auto branch = cast<scf::IfOp>(row.getOwner());
  ImplicitLocOpBuilder b(branch.getLoc(), branch);
  for (Region &side : branch->getRegions()) {
    Operation *yield = side.front().getTerminator();
    b.setInsertionPoint(yield);
    Value most = maximumOf(b, yield->getOperand(row.getResultNumber()));
    yield->insertOperands(yield->getNumOperands(), most);
  }
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(b.getF32Type());
  b.setInsertionPoint(branch);
  auto made = scf::IfOp::create(b, types, branch.getCondition(),
                                /*addThenBlock=*/false, /*addElseBlock=*/false);
  for (auto [to, from] :
       llvm::zip_equal(made->getRegions(), branch->getRegions()))
    to.takeBody(from);
  branch.replaceAllUsesWith(made.getResults().drop_back());
  branch.erase();
  return made.getResults().back();
}

/// Erases a maximum that nothing uses, and those that only it used.
static void eraseTree(arith::MaxNumFOp root) {
  SmallVector<Operation *> open = {root};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      if (auto inner = operand.getDefiningOp<arith::MaxNumFOp>())
        if (inner->use_empty())
          open.push_back(inner);
  }
}

void LoadReduction::fold(MaximumTree tree) {
  ImplicitLocOpBuilder b(tree.root.getLoc(), tree.root);
  bool changed = false;
  for (;;) {
    SmallVector<Value> rows = wholeRows(tree.leaves);
    auto row = llvm::find_if(rows, [&](Value row) { return canReduce(row); });
    if (row == rows.end())
      break;
    llvm::erase_if(tree.leaves,
                   [&](Value leaf) { return isColumnOf(leaf, *row); });
    tree.leaves.push_back(maximumOf(b, *row));
    changed = true;
  }
  if (!changed)
    return;
  tree.root.getResult().replaceAllUsesWith(maximum(b, tree.leaves));
  eraseTree(tree.root);
}

namespace {

struct TileTcgen05ReduceLoadsPass
    : public tile::impl::TileTcgen05ReduceLoadsBase<
          TileTcgen05ReduceLoadsPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<ScheduleAttr>("fmha.schedule");
    if (!plan || !tcgen05::hasReducingLoads(plan.getValue().target))
      return;
    SmallVector<arith::MaxNumFOp> roots;
    getOperation().walk([&](arith::MaxNumFOp op) {
      if (op.getType().isF32() && !isInTree(op))
        roots.push_back(op);
    });
    // The root of one tree may be a leaf of a later one.
    LoadReduction reduction;
    for (arith::MaxNumFOp root : roots)
      reduction.fold(MaximumTree(root));
  }
};

} // namespace

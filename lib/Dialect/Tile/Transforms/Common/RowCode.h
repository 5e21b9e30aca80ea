//===- RowCode.h - Code on scores, for a row of a thread --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H

#include "Distribute.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/IR/ScoreCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <functional>
#include <numeric>

namespace fmha::tile {

/// Of a row of a thread, counted from the tile's first one: what makes its
/// query row and, where heads are packed, its head; i32.
struct RowPlace {
  std::function<mlir::Value()> row, head;

  /// Where each thread has one row, or shares it.
  static RowPlace ofThread(mlir::ImplicitLocOpBuilder &b, ModifyOp op) {
    TileType tile = op.getType();
    std::optional<uint32_t> heads = op.getQueriesOp().getHeads();
    return {[=, &b] { return threadQuery(b, tile, heads); },
            [=, &b] { return threadHead(b, tile, *heads); }};
  }
};

/// The region of a tile.modify for one thread: what depends on neither score
/// nor key is computed once for the row, as a number; the rest for some keys at
/// once, as vectors. Where heads are packed the row's head is such a number.
///
///   %e = fmha.read %bias[%h, %i, %j]    %e = tile.gather %bias[%h, %i, %keys]
///   %y = arith.addf %x, %e         ->   %y = arith.addf %x, %e : vector<4xf32>
class RowCode {
public:
  RowCode(mlir::ImplicitLocOpBuilder &b, ModifyOp op, const KernelInfo &info,
          const RowPlace &place)
      : b(b), body(op.getBody().front()),
        choosesByElement(needs(Workaround::ChoicesByElement, info)) {
    if (op.getQueriesOp().getHeads() && needs(Workaround::RowsBeforeLoop, info))
      loop = op->getParentOfType<mlir::scf::ForOp>();
    makeRow(op, place);
    varying.insert(body.getArgument(0));
    varying.insert(body.getArgument(2));
    for (mlir::Operation &inner : body.without_terminator())
      if (llvm::any_of(inner.getOperands(),
                       [&](mlir::Value v) { return varying.contains(v); }))
        varying.insert_range(inner.getResults());
      else
        mapping.map(inner.getResult(0), buildOfRow(inner));
  }

  /// What the region makes of the vector `scores`, of keys that follow each
  /// other from `first` on.
  mlir::Value apply(mlir::Value scores, mlir::Value first) {
    int64_t count =
        llvm::cast<mlir::VectorType>(scores.getType()).getDimSize(0);
    firstKey = first;
    mlir::IRMapping own = mapping;
    own.map(body.getArgument(0), scores);
    own.map(body.getArgument(2), keysFrom(first, count));
    llvm::SmallVector<mlir::Operation *> run;
    auto finishRun = [&] {
      buildByElement(run, own, count);
      run.clear();
    };
    for (mlir::Operation &inner : body.without_terminator()) {
      if (!varying.contains(inner.getResult(0)))
        continue;
      if (choosesByElement && isChoice(inner)) {
        run.push_back(&inner);
        continue;
      }
      finishRun();
      own.map(inner.getResult(0), build(inner, own, count));
    }
    finishRun();
    return spread(own.lookupOrDefault(body.getTerminator()->getOperand(0)),
                  count);
  }

  /// The same in a block of its own, which keys, never negative, always enter.
  mlir::Value applyInBlock(mlir::Value scores, mlir::Value first) {
    mlir::Value always =
        mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::sge, first,
                                    mlir::arith::ConstantIndexOp::create(b, 0));
    auto branch =
        mlir::scf::IfOp::create(b, mlir::TypeRange{scores.getType()}, always,
                                /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    mlir::scf::YieldOp::create(b, scores);
    b.setInsertionPointToStart(branch.thenBlock());
    mlir::Value made = apply(scores, first);
    mlir::scf::YieldOp::create(b, made);
    return branch.getResult(0);
  }

  /// Whether something is computed of keys, and not of scores.
  bool readsKeys() {
    llvm::DenseSet<mlir::Value> ofScores = {body.getArgument(0)};
    for (mlir::Operation &op : body.without_terminator()) {
      bool usesScore = llvm::any_of(op.getOperands(), [&](mlir::Value v) {
        return ofScores.contains(v);
      });
      if (usesScore)
        ofScores.insert(op.getResult(0));
      else if (varying.contains(op.getResult(0)))
        return true;
    }
    return false;
  }

  /// Whether more is computed for each key than one function and a few sums
  /// and products, or something that the function's argument is kept for: of a
  /// whole row ptxas then keeps both.
  bool isLong() {
    constexpr unsigned most = 32;
    unsigned length = 0;
    for (mlir::Operation &op : body.without_terminator())
      if (varying.contains(op.getResult(0)))
        length += isLongAlone(op) || keepsArgument(op) ? most + 1
                  : isUnitFunction(&op)                ? most / 2
                                                       : 1;
    return length > most;
  }

private:
  /// Row and head of this thread.
  void makeRow(ModifyOp op, const RowPlace &place) {
    mlir::OpBuilder::InsertionGuard guard(b);
    ViewOp queries = op.getQueriesOp();
    moveAhead({op.getRow(), queries.getHead()});
    mlir::Value row = toIndex(b, place.row());
    mapping.map(body.getArgument(1),
                mlir::arith::AddIOp::create(b, op.getRow(), row));
    if (!queries.getHeads())
      return;
    mlir::Value head = toIndex(b, place.head());
    mapping.map(body.getArgument(3),
                mlir::arith::AddIOp::create(b, queries.getHead(), head));
  }

  /// Of packed heads each thread has a row's numbers of its own, which are made
  /// in front of the loop unless they are another block's in each turn.
  mlir::Value buildOfRow(mlir::Operation &inner) {
    mlir::OpBuilder::InsertionGuard guard(b);
    moveAhead(
        llvm::map_to_vector(inner.getOperands(), [&](mlir::Value operand) {
          return mapping.lookupOrDefault(operand);
        }));
    return build(inner, mapping, 0);
  }

  /// In front of the loop, where nothing in it makes one of `used`.
  void moveAhead(llvm::ArrayRef<mlir::Value> used) {
    auto isOutside = [&](mlir::Value value) {
      // The loop's own numbers have no region while it is converted.
      mlir::Region *from = value.getParentRegion();
      return from && !loop.getRegion().isAncestor(from);
    };
    if (loop && llvm::all_of(used, isOutside))
      b.setInsertionPoint(loop);
  }

  mlir::Value keysFrom(mlir::Value first, int64_t count) {
    auto type = mlir::VectorType::get({count}, b.getIndexType());
    llvm::SmallVector<int64_t> steps(count);
    std::iota(steps.begin(), steps.end(), 0);
    mlir::Value offsets = mlir::arith::ConstantOp::create(
        b, mlir::DenseIntElementsAttr::get(type, steps));
    return mlir::arith::AddIOp::create(
        b, mlir::vector::BroadcastOp::create(b, type, first), offsets);
  }

  /// Whether the keys are the last index, and no other one varies: then the
  /// elements follow each other in memory.
  bool readsRow(ReadOp read) {
    mlir::ValueRange indices = read.getIndices();
    return !indices.empty() && indices.back() == body.getArgument(2) &&
           llvm::none_of(indices.drop_back(),
                         [&](mlir::Value v) { return varying.contains(v); });
  }

  mlir::Value spread(mlir::Value value, int64_t count) {
    if (llvm::isa<mlir::VectorType>(value.getType()))
      return value;
    return mlir::vector::BroadcastOp::create(
        b, mlir::VectorType::get({count}, value.getType()), value);
  }

  /// `op` on vectors of `count`, or on numbers if that is 0.
  mlir::Value build(mlir::Operation &op, const mlir::IRMapping &values,
                    int64_t count) {
    auto read = llvm::dyn_cast<ReadOp>(op);
    llvm::SmallVector<mlir::Value> operands;
    bool isRow = read && readsRow(read);
    for (mlir::Value operand : op.getOperands()) {
      mlir::Value value = isRow && operand == body.getArgument(2)
                              ? firstKey
                              : values.lookupOrDefault(operand);
      operands.push_back(count && !read ? spread(value, count) : value);
    }
    mlir::Type type = op.getResult(0).getType();
    if (count)
      type = mlir::VectorType::get({count}, type);
    if (read)
      return GatherOp::create(b, type, operands.front(),
                              mlir::ValueRange(operands).drop_front());
    mlir::OperationState state(op.getLoc(), op.getName(), operands, type,
                               op.getAttrs());
    return b.create(state)->getResult(0);
  }

  /// What is long by itself of what functions became.
  static bool isLongAlone(mlir::Operation &op) {
    return isDivision(&op) || isWide(&op) ||
           llvm::isa<mlir::math::CosOp, mlir::math::LogOp, mlir::math::Log2Op,
                     mlir::math::RoundOp, mlir::math::RsqrtOp,
                     mlir::math::SinOp, mlir::math::SqrtOp>(op);
  }

  static bool keepsArgument(mlir::Operation &op) {
    return isUnitFunction(&op) && !op.getOperand(0).hasOneUse();
  }

  /// Comparisons, and what picks by them.
  static bool isChoice(mlir::Operation &op) {
    return op.getResult(0).getType().isInteger(1) ||
           llvm::isa<mlir::arith::SelectOp>(op);
  }

  /// Element by element.
  void buildByElement(llvm::ArrayRef<mlir::Operation *> run,
                      mlir::IRMapping &values, int64_t count) {
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> results(run.size());
    for (int64_t n = 0; n < count && !run.empty(); ++n) {
      mlir::IRMapping own;
      for (auto [op, made] : llvm::zip_equal(run, results)) {
        for (mlir::Value operand : op->getOperands())
          if (!own.contains(operand))
            own.map(operand, elementOf(values.lookupOrDefault(operand), n));
        made.push_back(b.clone(*op, own)->getResult(0));
      }
    }
    for (auto [op, made] : llvm::zip_equal(run, results)) {
      auto type = mlir::VectorType::get({count}, op->getResult(0).getType());
      values.map(op->getResult(0),
                 mlir::vector::FromElementsOp::create(b, type, made));
    }
  }

  mlir::Value elementOf(mlir::Value value, int64_t n) {
    return llvm::isa<mlir::VectorType>(value.getType())
               ? mlir::Value(mlir::vector::ExtractOp::create(b, value, n))
               : value;
  }

  mlir::ImplicitLocOpBuilder &b;
  mlir::Block &body;
  bool choosesByElement;
  /// Null where all is made beside the scores.
  mlir::scf::ForOp loop;
  mlir::IRMapping mapping;
  llvm::DenseSet<mlir::Value> varying;
  mlir::Value firstKey;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H

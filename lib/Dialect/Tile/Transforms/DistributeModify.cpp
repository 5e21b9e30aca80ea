//===- DistributeModify.cpp - Code on scores, one row a thread ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// The region of a tile.modify for one thread: what depends on neither score
/// nor key is computed once for the row, as a number; the rest for some keys at
/// once, as vectors. Where heads are packed the row's head is such a number.
///
///   %e = fmha.read %bias[%h, %i, %j]    %e = tile.gather %bias[%h, %i, %keys]
///   %y = arith.addf %x, %e         ->   %y = arith.addf %x, %e :
///   vector<16xf32>
class RowCode {
public:
  RowCode(ImplicitLocOpBuilder &b, ModifyOp op)
      : b(b), body(op.getBody().front()) {
    if (op.getHeads())
      loop = op->getParentOfType<scf::ForOp>();
    makeRow(op);
    varying.insert(body.getArgument(0));
    varying.insert(body.getArgument(2));
    for (Operation &inner : body.without_terminator())
      if (llvm::any_of(inner.getOperands(),
                       [&](Value v) { return varying.contains(v); }))
        varying.insert_range(inner.getResults());
      else
        mapping.map(inner.getResult(0), buildOfRow(inner));
  }

  /// What the region makes of the vector `scores`, of keys that follow each
  /// other from `first` on.
  Value apply(Value scores, Value first) {
    int64_t count = cast<VectorType>(scores.getType()).getDimSize(0);
    firstKey = first;
    IRMapping own = mapping;
    own.map(body.getArgument(0), scores);
    own.map(body.getArgument(2), keysFrom(first, count));
    SmallVector<Operation *> run;
    auto finishRun = [&] {
      buildByElement(run, own, count);
      run.clear();
    };
    for (Operation &inner : body.without_terminator()) {
      if (!varying.contains(inner.getResult(0)))
        continue;
      if (isChoice(inner)) {
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

private:
  /// Row and head of this thread.
  void makeRow(ModifyOp op) {
    OpBuilder::InsertionGuard guard(b);
    moveAhead({op.getRow(), op.getHead()});
    TileType tile = op.getType();
    Value row = toIndex(b, threadQuery(b, tile, op.getHeads()));
    mapping.map(body.getArgument(1),
                arith::AddIOp::create(b, op.getRow(), row));
    if (std::optional<uint32_t> heads = op.getHeads()) {
      Value head = toIndex(b, threadHead(b, tile, *heads));
      mapping.map(body.getArgument(3),
                  arith::AddIOp::create(b, op.getHead(), head));
    }
  }

  /// Of packed heads each thread has a row's numbers of its own. Read beside
  /// the scores they make ptxas 13.0 spill a row where another tile has its
  /// share of registers, or a block a source (560 bytes, ALiBi), so that they
  /// are made in front of the loop, unless they are another block's in each
  /// turn.
  Value buildOfRow(Operation &inner) {
    OpBuilder::InsertionGuard guard(b);
    moveAhead(llvm::map_to_vector(inner.getOperands(), [&](Value operand) {
      return mapping.lookupOrDefault(operand);
    }));
    return build(inner, mapping, 0);
  }

  /// In front of the loop, where nothing in it makes one of `used`.
  void moveAhead(ArrayRef<Value> used) {
    auto isOutside = [&](Value value) {
      // The loop's own numbers have no region while it is converted.
      Region *from = value.getParentRegion();
      return from && !loop.getRegion().isAncestor(from);
    };
    if (loop && llvm::all_of(used, isOutside))
      b.setInsertionPoint(loop);
  }

  Value keysFrom(Value first, int64_t count) {
    auto type = VectorType::get({count}, b.getIndexType());
    SmallVector<int64_t> steps(count);
    std::iota(steps.begin(), steps.end(), 0);
    Value offsets =
        arith::ConstantOp::create(b, DenseIntElementsAttr::get(type, steps));
    return arith::AddIOp::create(b, vector::BroadcastOp::create(b, type, first),
                                 offsets);
  }

  /// Whether the keys are the last index, and no other one varies: then the
  /// elements follow each other in memory.
  bool readsRow(ReadOp read) {
    ValueRange indices = read.getIndices();
    return indices.back() == body.getArgument(2) &&
           llvm::none_of(indices.drop_back(),
                         [&](Value v) { return varying.contains(v); });
  }

  Value spread(Value value, int64_t count) {
    if (isa<VectorType>(value.getType()))
      return value;
    return vector::BroadcastOp::create(
        b, VectorType::get({count}, value.getType()), value);
  }

  /// `op` on vectors of `count`, or on numbers if that is 0.
  Value build(Operation &op, const IRMapping &values, int64_t count) {
    auto read = dyn_cast<ReadOp>(op);
    SmallVector<Value> operands;
    bool isRow = read && readsRow(read);
    for (Value operand : op.getOperands()) {
      Value value = isRow && operand == body.getArgument(2)
                        ? firstKey
                        : values.lookupOrDefault(operand);
      operands.push_back(count && !read ? spread(value, count) : value);
    }
    Type type = op.getResult(0).getType();
    if (count)
      type = VectorType::get({count}, type);
    if (read)
      return GatherOp::create(b, type, operands.front(),
                              ValueRange(operands).drop_front());
    OperationState state(op.getLoc(), op.getName(), operands, type,
                         op.getAttrs());
    return b.create(state)->getResult(0);
  }

  /// Comparisons, and what picks by them.
  static bool isChoice(Operation &op) {
    return op.getResult(0).getType().isInteger(1) || isa<arith::SelectOp>(op);
  }

  /// Element by element: there are eight predicates, and those of a vector
  /// would be kept in registers until the vector is picked by them.
  void buildByElement(ArrayRef<Operation *> run, IRMapping &values,
                      int64_t count) {
    SmallVector<SmallVector<Value>> results(run.size());
    for (int64_t n = 0; n < count && !run.empty(); ++n) {
      IRMapping own;
      for (auto [op, made] : llvm::zip_equal(run, results)) {
        for (Value operand : op->getOperands())
          if (!own.contains(operand))
            own.map(operand, elementOf(values.lookupOrDefault(operand), n));
        made.push_back(b.clone(*op, own)->getResult(0));
      }
    }
    for (auto [op, made] : llvm::zip_equal(run, results)) {
      auto type = VectorType::get({count}, op->getResult(0).getType());
      values.map(op->getResult(0),
                 vector::FromElementsOp::create(b, type, made));
    }
  }

  Value elementOf(Value value, int64_t n) {
    return isa<VectorType>(value.getType())
               ? Value(vector::ExtractOp::create(b, value, n))
               : value;
  }

  ImplicitLocOpBuilder &b;
  Block &body;
  /// Null where all is made beside the scores.
  scf::ForOp loop;
  IRMapping mapping;
  DenseSet<Value> varying;
  Value firstKey;
};

struct DistributeModify : public DistributePattern<ModifyOp> {
  using DistributePattern::DistributePattern;
  LogicalResult
  matchAndRewrite(ModifyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TileType tile = op.getType();
    Value x = adaptor.getInput(), first = firstKey(b, op);
    RowCode code(b, op);
    Value made = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
    // Piece by piece, for the sake of registers; keys of one slice follow each
    // other.
    int64_t columns = ownColumns(tile), inSlice = columns / slicesOf(tile);
    int64_t pitch = tile.getColumns() / slicesOf(tile);
    int64_t piece = std::gcd(inSlice, pieceColumns);
    for (int64_t column = 0; column < columns; column += piece) {
      int64_t place = column / inSlice * pitch + column % inSlice;
      Value key = arith::AddIOp::create(
          b, first, arith::ConstantIndexOp::create(b, place));
      Value part = code.apply(slice(b, x, column, piece), key);
      made = vector::InsertStridedSliceOp::create(
          b, part, made, ArrayRef<int64_t>{column}, ArrayRef<int64_t>{1});
    }
    rewriter.replaceOp(op, made);
    return success();
  }

private:
  /// The key of this thread's first column.
  static Value firstKey(ImplicitLocOpBuilder &b, ModifyOp op) {
    Value own = firstOwnColumn(b, op.getType());
    return own ? Value(arith::AddIOp::create(b, op.getCol(), toIndex(b, own)))
               : op.getCol();
  }
};

} // namespace

void fmha::tile::populateDistributeModify(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const DistributeContext &context) {
  patterns.add<DistributeModify>(converter, context);
}

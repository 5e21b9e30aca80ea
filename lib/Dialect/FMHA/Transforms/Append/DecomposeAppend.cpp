//===- DecomposeAppend.cpp - The definition of fmha.append in linalg ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two loops over sequences and tokens, with a linalg.generic over the heads and
// columns of one token. Its result goes to a slice of the cache: on tensors the
// loops carry the cache, on memrefs they write to it.
//
//===----------------------------------------------------------------------===//

#include "LinalgSteps.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/IndexMath.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

namespace {

/// Rows to copy to a destination, a tensor that loops carry or a memref.
struct Stream {
  Value rows, destination;
  bool isRotated;
};

/// Builds the loops before the op and replaces it by them.
class AppendDecomposition {
public:
  AppendDecomposition(RewriterBase &rewriter, AppendOp op)
      : b(rewriter), op(op), location(op.getLoc()), math{b, location} {
    b.setInsertionPoint(op);
    lens = tensorOf(b, location, op.getKvLens());
    tables = tensorOf(b, location, op.getBlockTables());
    cos = tensorOf(b, location, op.getCos());
    sin = tensorOf(b, location, op.getSin());
  }
  void run();

private:
  using Step = function_ref<Value(Value destination)>;
  using TokenStep =
      function_ref<Value(Value destination, Value sequence, Value token)>;

  Value size(Value shaped, int64_t dimension);
  Value loop(Value count, Value destination,
             function_ref<Value(Value index, Value destination)> body);
  Value eachToken(const Stream &stream, TokenStep body);
  Value onlyIf(Value condition, Value destination, Step body);
  Value position(const Stream &stream, Value sequence, Value token);
  Value append(const Stream &stream);
  Value rotateQueries(const Stream &stream);
  Value tokenRows(const Stream &stream, Value sequence, Value token,
                  Value position);
  /// The other column of a pair, and the number of the pair.
  struct Pair {
    Value partner, angle, isFirst;
  };
  Pair pairOf(IndexMath here, Value column);
  Value turned(OpBuilder &in, Value element, Value other, const Pair &pair,
               Value position);
  Value rotated(OpBuilder &at, Value row, Value element, Value position);
  Value store(Value rows, Value destination, Value block, Value row);

  RewriterBase &b;
  AppendOp op;
  Location location;
  IndexMath math;
  Value lens, tables, cos, sin;
};

} // namespace

Value AppendDecomposition::size(Value shaped, int64_t dimension) {
  int64_t known = cast<ShapedType>(shaped.getType()).getDimSize(dimension);
  if (!ShapedType::isDynamic(known))
    return math.constant(known);
  if (isa<MemRefType>(shaped.getType()))
    return memref::DimOp::create(b, location, shaped, dimension);
  return tensor::DimOp::create(b, location, shaped, dimension);
}

/// Emits a loop that carries `destination` if that is a tensor; returns what it
/// is afterwards.
Value AppendDecomposition::loop(Value count, Value destination,
                                function_ref<Value(Value, Value)> body) {
  bool isCarried = isa<RankedTensorType>(destination.getType());
  auto loop =
      scf::ForOp::create(b, location, math.constant(0), count, math.constant(1),
                         isCarried ? ValueRange(destination) : ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(),
                    isCarried ? loop.getRegionIterArg(0) : destination);
  if (!isCarried)
    return destination;
  scf::YieldOp::create(b, location, next);
  return loop.getResult(0);
}

Value AppendDecomposition::eachToken(const Stream &stream, TokenStep body) {
  return loop(size(stream.rows, 0), stream.destination,
              [&](Value sequence, Value outer) {
                return loop(size(stream.rows, 1), outer,
                            [&](Value token, Value inner) {
                              return body(inner, sequence, token);
                            });
              });
}

/// Emits `body` if `condition` holds; returns the destination afterwards.
Value AppendDecomposition::onlyIf(Value condition, Value destination,
                                  Step body) {
  bool isCarried = isa<RankedTensorType>(destination.getType());
  auto branch = scf::IfOp::create(
      b, location, isCarried ? TypeRange(destination.getType()) : TypeRange(),
      condition, /*withElseRegion=*/isCarried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value next = body(destination);
  if (!isCarried)
    return destination;
  scf::YieldOp::create(b, location, next);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, location, destination);
  return branch.getResult(0);
}

/// Returns kv_lens[sequence] - length + token. A negative position is a very
/// large unsigned number.
Value AppendDecomposition::position(const Stream &stream, Value sequence,
                                    Value token) {
  Value length = arith::IndexCastOp::create(
      b, location, b.getIndexType(),
      tensor::ExtractOp::create(b, location, lens, sequence));
  return math.add(math.sub(length, size(stream.rows, 1)), token);
}

Value AppendDecomposition::append(const Stream &stream) {
  auto toPage = [&](Value destination, Value rows, Value sequence, Value at) {
    Value perPage = size(destination, 1);
    Value entry = tensor::ExtractOp::create(
        b, location, tables, ValueRange{sequence, math.div(at, perPage)});
    Value page =
        arith::IndexCastOp::create(b, location, b.getIndexType(), entry);
    Value exists = math.compare(Predicate::ult, page, size(destination, 0));
    return onlyIf(exists, destination, [&](Value inner) {
      return store(rows, inner, page, math.rem(at, perPage));
    });
  };
  return eachToken(stream, [&](Value destination, Value sequence, Value token) {
    Value at = position(stream, sequence, token);
    Value most = size(destination, 1);
    if (tables)
      most = math.mul(most, size(tables, 1));
    if (cos)
      most = math.min(most, size(cos, 0));
    Value exists = math.compare(Predicate::ult, at, most);
    return onlyIf(exists, destination, [&](Value inner) {
      Value rows = tokenRows(stream, sequence, token, at);
      return tables ? toPage(inner, rows, sequence, at)
                    : store(rows, inner, sequence, at);
    });
  });
}

Value AppendDecomposition::rotateQueries(const Stream &stream) {
  return eachToken(stream, [&](Value destination, Value sequence, Value token) {
    Value at = position(stream, sequence, token);
    Value rows = tokenRows(stream, sequence, token, at);
    return store(rows, destination, sequence, token);
  });
}

/// Returns the rows of all heads of one token, [heads, dim].
Value AppendDecomposition::tokenRows(const Stream &stream, Value sequence,
                                     Value token, Value position) {
  auto type = cast<RankedTensorType>(stream.rows.getType());
  SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(size(stream.rows, 2)),
                                     b.getIndexAttr(type.getDimSize(3))};
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  auto slice = tensor::ExtractSliceOp::create(
      b, location,
      RankedTensorType::get({type.getDimSize(2), type.getDimSize(3)},
                            type.getElementType()),
      stream.rows, ArrayRef<OpFoldResult>{sequence, token, zero, zero},
      ArrayRef<OpFoldResult>{one, one, sizes[0], sizes[1]},
      ArrayRef<OpFoldResult>{one, one, one, one});
  Value empty =
      tensor::EmptyOp::create(b, location, sizes, type.getElementType());
  return genericOver(b, location, 2, 0, {{slice, {0, 1}}}, {empty, {0, 1}},
                     [&](OpBuilder &at, Location, ValueRange elements) {
                       return stream.isRotated && op.getRotary()
                                  ? rotated(at, slice, elements[0], position)
                                  : elements[0];
                     });
}

/// Returns where the partner of the current element of a generic is, its angle,
/// and whether the element is the first of its pair.
AppendDecomposition::Pair AppendDecomposition::pairOf(IndexMath here,
                                                      Value column) {
  Value columns = here.constant(op.getRotaryDim() / 2);
  if (*op.getRotary() == Rotary::Half) {
    Value isFirst = here.compare(Predicate::ult, column, columns);
    Value partner = here.select(isFirst, here.add(column, columns),
                                here.sub(column, columns));
    return {partner, here.select(isFirst, column, partner), isFirst};
  }
  Value one = here.constant(1), two = here.constant(2);
  Value isFirst =
      here.compare(Predicate::eq, here.rem(column, two), here.constant(0));
  Value partner =
      here.select(isFirst, here.add(column, one), here.sub(column, one));
  return {partner, here.div(column, two), isFirst};
}

/// Returns `element` rotated with `other`, its partner.
Value AppendDecomposition::turned(OpBuilder &in, Value element, Value other,
                                  const Pair &pair, Value position) {
  auto product = [&](Value narrow, Value angles) -> Value {
    Value wide = arith::ExtFOp::create(in, location, in.getF32Type(), narrow);
    Value angle = tensor::ExtractOp::create(in, location, angles,
                                            ValueRange{position, pair.angle});
    return arith::MulFOp::create(in, location, wide, angle);
  };
  Value kept = product(element, cos), mixed = product(other, sin);
  Value sum =
      arith::SelectOp::create(in, location, pair.isFirst,
                              arith::SubFOp::create(in, location, kept, mixed),
                              arith::AddFOp::create(in, location, kept, mixed));
  return arith::TruncFOp::create(in, location, element.getType(), sum);
}

/// Returns the rotated element of the current loops of a generic over `row`.
/// What has no rotated column or no angles stays.
Value AppendDecomposition::rotated(OpBuilder &at, Value row, Value element,
                                   Value position) {
  IndexMath here{at, location};
  Value head = linalg::IndexOp::create(at, location, 0);
  Value column = linalg::IndexOp::create(at, location, 1);
  Pair pair = pairOf(here, column);
  // An unsigned comparison: a negative position has no angles.
  Value positions = tensor::DimOp::create(at, location, cos, 0);
  Value isRotated = here.both(
      here.compare(Predicate::ult, column, here.constant(op.getRotaryDim())),
      here.compare(Predicate::ult, position, positions));
  auto turn = [&](OpBuilder &in, Location) {
    Value other = tensor::ExtractOp::create(in, location, row,
                                            ValueRange{head, pair.partner});
    scf::YieldOp::create(in, location,
                         turned(in, element, other, pair, position));
  };
  auto stay = [&](OpBuilder &in, Location) {
    scf::YieldOp::create(in, location, element);
  };
  return scf::IfOp::create(at, location, isRotated, turn, stay).getResult(0);
}

/// Writes `rows` to the row `row` of the batch or page `block`; returns the
/// destination afterwards.
Value AppendDecomposition::store(Value rows, Value destination, Value block,
                                 Value row) {
  auto type = cast<RankedTensorType>(rows.getType());
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets = {block, row, zero, zero};
  SmallVector<OpFoldResult> sizes = {one, one, getAsOpFoldResult(size(rows, 0)),
                                     b.getIndexAttr(type.getDimSize(1))};
  SmallVector<OpFoldResult> strides(4, one);
  if (isa<RankedTensorType>(destination.getType()))
    return tensor::InsertSliceOp::create(b, location, rows, destination,
                                         offsets, sizes, strides);
  MemRefType slice = memref::SubViewOp::inferRankReducedResultType(
      type.getShape(), cast<MemRefType>(destination.getType()), offsets, sizes,
      strides);
  Value view = memref::SubViewOp::create(b, location, slice, destination,
                                         offsets, sizes, strides);
  bufferization::MaterializeInDestinationOp::create(
      b, location, TypeRange(), rows, view, /*restrict=*/true,
      /*writable=*/true);
  return destination;
}

void AppendDecomposition::run() {
  auto stream = [&](Value rows, Value destination, bool isRotated) {
    return Stream{tensorOf(b, location, rows), destination, isRotated};
  };
  SmallVector<Value> results = {
      append(stream(op.getKeyNew(), op.getKeyCache(), true)),
      append(stream(op.getValueNew(), op.getValueCache(), false))};
  if (op.getQuery())
    results.push_back(
        rotateQueries(stream(op.getQuery(), op.getQueryOut(), true)));
  if (op.hasPureTensorSemantics())
    b.replaceOp(op, results);
  else
    b.eraseOp(op);
}

void fmha::decomposeToLinalg(RewriterBase &rewriter, AppendOp op) {
  AppendDecomposition(rewriter, op).run();
}

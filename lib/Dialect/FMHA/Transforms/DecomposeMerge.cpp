//===- DecomposeMerge.cpp - The definition of fmha.merge in linalg --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgSteps.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace fmha;

namespace {

using Term = function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

/// Builds the steps before the op and replaces it by them. Loops are (b, h, m),
/// then those of the step: (b, h, m, d), (b, h, m, p), ...
class MergeDecomposition {
public:
  MergeDecomposition(RewriterBase &rewriter, MergeOp op)
      : rewriter(rewriter), op(op), b(op.getLoc(), rewriter) {
    b.setInsertionPoint(op);
    parts = asTensor(op.getParts());
    maxima = asTensor(op.getMaxima());
    sums = asTensor(op.getSums());
    sink = asTensor(op.getSink());
    zero = constant(0.0);
    minusInfinity = constant(-std::numeric_limits<double>::infinity());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), parts);
    rows = {sizes[1], sizes[3], sizes[2]};
    matrix = rows;
    matrix.push_back(sizes[4]);
  }
  void run();

private:
  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  Value asTensor(Value operand) { return tensorOf(b, b.getLoc(), operand); }
  Value filled(Value element, ArrayRef<OpFoldResult> sizes) {
    return filledTensor(b, b.getLoc(), element, sizes);
  }
  Value generic(unsigned parallel, unsigned reductions, ArrayRef<Access> inputs,
                const Access &destination, Term term) {
    auto body = [&](OpBuilder &builder, Location location,
                    ValueRange elements) {
      ImplicitLocOpBuilder inner(location, builder);
      return term(inner, elements);
    };
    return genericOver(b, b.getLoc(), parallel, reductions, inputs, destination,
                       body);
  }
  Value difference(ImplicitLocOpBuilder &at, Value value, Value max);
  Value rowMaxima();
  Value reduced(Value rowMax, ArrayRef<Access> terms, const Access &init,
                unsigned loops);
  Value output(Value sum, Value rowMax, Value weighted);
  Value logarithm(Value rowMax, Value sum);
  Value copied(Value rows, Value destination);
  void replace(ValueRange results);

  RewriterBase &rewriter;
  MergeOp op;
  ImplicitLocOpBuilder b;
  Value parts, maxima, sums, sink, zero, minusInfinity;
  SmallVector<OpFoldResult> rows, matrix;
};

} // namespace

/// Returns value - max, with 0 for a maximum of -inf: -inf - -inf would be NaN.
Value MergeDecomposition::difference(ImplicitLocOpBuilder &at, Value value,
                                     Value max) {
  Value empty =
      arith::CmpFOp::create(at, arith::CmpFPredicate::OEQ, max, minusInfinity);
  Value safe = arith::SelectOp::create(at, empty, zero, max);
  return arith::SubFOp::create(at, value, safe);
}

Value MergeDecomposition::rowMaxima() {
  return generic(3, 1, {{maxima, {3, 0, 1, 2}}},
                 {filled(minusInfinity, rows), {0, 1, 2}},
                 [](ImplicitLocOpBuilder &at, ValueRange e) -> Value {
                   return arith::MaximumFOp::create(at, e[0], e[1]);
                 });
}

/// Returns init + the sum over parts of w[p]·term[p]. An empty part contributes
/// nothing, whatever its term holds.
Value MergeDecomposition::reduced(Value rowMax, ArrayRef<Access> terms,
                                  const Access &init, unsigned loops) {
  SmallVector<Access> inputs = {{rowMax, {0, 1, 2}},
                                {maxima, {loops, 0, 1, 2}}};
  llvm::append_range(inputs, terms);
  return generic(loops, 1, inputs, init,
                 [&](ImplicitLocOpBuilder &at, ValueRange e) -> Value {
                   Value weight =
                       math::ExpOp::create(at, difference(at, e[1], e[0]));
                   Value empty = arith::CmpFOp::create(
                       at, arith::CmpFPredicate::OEQ, e[1], minusInfinity);
                   Value term = arith::MulFOp::create(at, weight, e[2]);
                   term = arith::SelectOp::create(at, empty, zero, term);
                   return arith::AddFOp::create(at, e[3], term);
                 });
}

/// Returns acc / (l + exp(sink - m)) or acc, rounded; 0 if no part is valid.
Value MergeDecomposition::output(Value sum, Value rowMax, Value weighted) {
  SmallVector<Access> inputs = {
      {weighted, {0, 1, 2, 3}}, {rowMax, {0, 1, 2}}, {sum, {0, 1, 2}}};
  if (sink)
    inputs.push_back({sink, {1}});
  auto finish = [&](ImplicitLocOpBuilder &at, ValueRange e) -> Value {
    Value empty = arith::CmpFOp::create(at, arith::CmpFPredicate::OEQ, e[1],
                                        minusInfinity);
    Value result = e[0], total = e[2];
    if (sink)
      total = arith::AddFOp::create(
          at, total, math::ExpOp::create(at, difference(at, e[3], e[1])));
    if (!op.getUnnormalised())
      result = arith::DivFOp::create(at, result, total);
    result = arith::SelectOp::create(at, empty, zero, result);
    Type type = e.back().getType();
    return type.isF32() ? result
                        : Value(arith::TruncFOp::create(at, type, result));
  };
  return generic(4, 0, inputs, {asTensor(op.getOutput()), {0, 2, 1, 3}},
                 finish);
}

/// Returns m + log l; with a sink log(exp(m + log l) + exp(sink)), computed
/// from the larger term.
Value MergeDecomposition::logarithm(Value rowMax, Value sum) {
  SmallVector<Access> inputs = {{rowMax, {0, 1, 2}}, {sum, {0, 1, 2}}};
  if (sink)
    inputs.push_back({sink, {1}});
  auto combine = [&](ImplicitLocOpBuilder &at, ValueRange e) -> Value {
    Value lse = arith::AddFOp::create(at, e[0], math::LogOp::create(at, e[1]));
    if (!sink)
      return lse;
    Value high = arith::MaximumFOp::create(at, lse, e[2]);
    Value both = arith::AddFOp::create(
        at, math::ExpOp::create(at, difference(at, lse, high)),
        math::ExpOp::create(at, difference(at, e[2], high)));
    return arith::AddFOp::create(at, high, math::LogOp::create(at, both));
  };
  return generic(3, 0, inputs, {asTensor(op.getLse()), {0, 1, 2}}, combine);
}

Value MergeDecomposition::copied(Value rows, Value destination) {
  return generic(
      3, 0, {{rows, {0, 1, 2}}}, {asTensor(destination), {0, 1, 2}},
      [](ImplicitLocOpBuilder &, ValueRange e) -> Value { return e[0]; });
}

void MergeDecomposition::replace(ValueRange results) {
  if (op.hasPureTensorSemantics()) {
    rewriter.replaceOp(op, results);
    return;
  }
  for (auto [result, destination] : llvm::zip_equal(results, op.getDpsInits()))
    bufferization::MaterializeInDestinationOp::create(
        b, TypeRange(), result, destination, /*restrict=*/true,
        /*writable=*/true);
  rewriter.eraseOp(op);
}

void MergeDecomposition::run() {
  Value rowMax = rowMaxima();
  Value sum = reduced(rowMax, {{sums, {3, 0, 1, 2}}},
                      {filled(zero, rows), {0, 1, 2}}, 3);
  Value weighted = reduced(rowMax, {{parts, {4, 0, 2, 1, 3}}},
                           {filled(zero, matrix), {0, 1, 2, 3}}, 4);
  SmallVector<Value> results = {output(sum, rowMax, weighted)};
  if (op.getLse())
    results.push_back(logarithm(rowMax, sum));
  if (op.getRowMax())
    results.push_back(copied(rowMax, op.getRowMax()));
  if (op.getRowSum())
    results.push_back(copied(sum, op.getRowSum()));
  replace(results);
}

void fmha::decomposeToLinalg(RewriterBase &rewriter, MergeOp op) {
  MergeDecomposition(rewriter, op).run();
}

//===- DecomposeToLinalg.cpp - The definition of fmha.attention -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include <limits>

namespace fmha {
#define GEN_PASS_DEF_FMHADECOMPOSETOLINALG
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

Decomposition::Decomposition(RewriterBase &rewriter, AttentionOp op)
    : SoftmaxSteps(rewriter, op) {
  rewriter.setInsertionPoint(op);
  query = asTensor(op.getQuery());
  startsQ = asTensor(op.getCuSeqlensQ());
  Value tables = asTensor(op.getBlockTables()), lens = asTensor(op.getKvLens());
  Value keys = asTensor(op.getKey()), values = asTensor(op.getValue());
  if (op.hasKeyVectors())
    keys = tensor::CollapseShapeOp::create(
        rewriter, location, keys,
        ArrayRef<ReassociationIndices>{{0}, {1}, {2}, {3, 4}});
  keyScale = asTensor(op.getKScale());
  valueScale = asTensor(op.getVScale());
  queryScale = asTensor(op.getQScale());
  if (tables) {
    keys = gatherPages(keys, tables, lens, keyScale);
    values = gatherPages(values, tables, lens, valueScale);
  }
  addSource(keys, values, op.getKvLens(), op.getCuSeqlensK(), op.getMask());
  if (op.getKey2())
    addSource(op.getKey2(), op.getValue2(), op.getSource2Lens(), Value(),
              op.getSource2Mask());
  if (op.getKvNumBlocks())
    sources = sourcesOfBlocks(sources.front());
  sink = asTensor(op.getSink());
  for (Value source : op.getCaptures())
    captures[source] = asTensor(source);
  isVarlen = startsQ || llvm::any_of(sources, [](const KeySource &one) {
               return one.lengths || one.starts || one.timesListed;
             });
  zero = constant(0.0);
  minusInfinity = constant(-std::numeric_limits<double>::infinity());
  SmallVector<OpFoldResult> querySizes =
      tensor::getMixedSizes(rewriter, location, query);
  batch = querySizes[AttentionOp::Batch];
  queryHeads = querySizes[AttentionOp::Heads];
  queryLength = querySizes[AttentionOp::Length];
  topk = asTensor(op.getTopk());
  if (topk)
    listLength = listLengths();
}

/// Gathers the pages of each sequence into a dense tensor [batch, max_pages *
/// page_size, heads, dim], which is zero after the end of each sequence:
///   dense[b, j, h, d] = j < lens[b] ? cache[tables[b, j / n], j % n, h, d] : 0
/// in f32, times the scale of the page, if pages have one.
Value Decomposition::gatherPages(Value cache, Value tables, Value lens,
                                 Value scale) {
  auto type = cast<RankedTensorType>(cache.getType());
  bool isScaled = op.getScalePerPage();
  Type element = isScaled ? rewriter.getF32Type() : type.getElementType();
  Value rows = arith::ConstantIndexOp::create(
      rewriter, location, type.getDimSize(AttentionOp::Length));
  Value length =
      arith::MulIOp::create(rewriter, location, size(tables, 1), rows);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, location, cache);
  Value empty = tensor::EmptyOp::create(
      rewriter, location,
      ArrayRef<OpFoldResult>{OpFoldResult(size(tables, 0)),
                             OpFoldResult(length), sizes[2], sizes[3]},
      element);
  Value none = arith::ConstantOp::create(rewriter, location,
                                         rewriter.getZeroAttr(element));
  auto gather = [&](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
    Value sequence = index(builder, 0), key = index(builder, 1);
    Value head = index(builder, 2), column = index(builder, 3);
    Value keys = arith::IndexCastOp::create(
        builder, location, builder.getIndexType(), elements[0]);
    Value exists = arith::CmpIOp::create(builder, location,
                                         arith::CmpIPredicate::slt, key, keys);
    auto found = scf::IfOp::create(
        builder, location, exists,
        [&](OpBuilder &inner, Location location) {
          Value entry = tensor::ExtractOp::create(
              inner, location, tables,
              ValueRange{sequence,
                         arith::DivUIOp::create(inner, location, key, rows)});
          Value page = arith::IndexCastOp::create(inner, location,
                                                  inner.getIndexType(), entry);
          Value one = tensor::ExtractOp::create(
              inner, location, cache,
              ValueRange{page,
                         arith::RemUIOp::create(inner, location, key, rows),
                         head, column});
          if (isScaled)
            one = scaled(inner, location, extend(inner, location, one), scale,
                         page);
          scf::YieldOp::create(inner, location, one);
        },
        [&](OpBuilder &inner, Location location) {
          scf::YieldOp::create(inner, location, none);
        });
    return found.getResult(0);
  };
  return generic(4, 0, {{lens, {0}}}, {empty, {0, 1, 2, 3}}, gather);
}

void Decomposition::addSource(Value key, Value value, Value lengths,
                              Value starts, const schedule::Mask &mask) {
  KeySource made{asTensor(key), asTensor(value), asTensor(lengths),
                 asTensor(starts), mask};
  made.length =
      tensor::getMixedSizes(rewriter, location, made.key)[AttentionOp::Length];
  made.number = int64_t(sources.size());
  sources.push_back(made);
}

void Decomposition::run() {
  if (startsQ)
    sequences = sequenceOfRows();
  SmallVector<Value> masked, values;
  for (const KeySource &one : sources) {
    source = one;
    Value keys = repeatHeads(source.key, keyScale);
    values.push_back(repeatHeads(source.value, valueScale));
    masked.push_back(scaleAndMask(scores(keys)));
  }
  Statistics all = statistics(masked, /*withSink=*/true), keysOnly = all;
  // Outputs about the keys alone do not include the sink.
  if (sink && op.getProblem().needsTrueMax())
    keysOnly = statistics(masked, /*withSink=*/false);
  const Statistics &own = op.getUnnormalised() ? keysOnly : all;
  OpFoldResult headDim = rewriter.getIndexAttr(op.getHeadDimV());
  Value weighted = filled(zero, {batch, queryHeads, queryLength, headDim});
  for (auto [one, weights, v] : llvm::zip_equal(sources, own.weights, values)) {
    source = one;
    weighted = weightedSums(weights, v, weighted);
  }
  SmallVector<Value> results{output(weighted, own.sums)};
  if (op.getLse())
    results.push_back(logSumExp(all.maxima, all.sums));
  if (op.getRowMax())
    results.push_back(keptRows(keysOnly.maxima, op.getRowMax()));
  if (op.getRowSum())
    results.push_back(keptRows(keysOnly.sums, op.getRowSum()));
  replace(results);
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

/// [b, n, g, d] -> [b, h, n, d] in f32, where query head h reads KV head
/// h * kv_heads / q_heads, times the scale of the KV head or of all, if any.
Value ScoreSteps::repeatHeads(Value keysOrValues, Value scale) {
  Value keyValueHeads = size(keysOrValues, AttentionOp::Heads);
  Value heads = size(query, AttentionOp::Heads);
  OpFoldResult headDim = tensor::getMixedSizes(
      rewriter, location, keysOrValues)[AttentionOp::HeadDim];
  OpFoldResult batch = tensor::getMixedSizes(rewriter, location,
                                             keysOrValues)[AttentionOp::Batch];
  Value empty = tensor::EmptyOp::create(
      rewriter, location, {batch, queryHeads, source.length, headDim},
      rewriter.getF32Type());
  auto gather = [&](OpBuilder &builder, Location location, ValueRange) {
    Value product = arith::MulIOp::create(builder, location, index(builder, 1),
                                          keyValueHeads);
    Value head = arith::DivUIOp::create(builder, location, product, heads);
    Value element = tensor::ExtractOp::create(
        builder, location, keysOrValues,
        ValueRange{index(builder, 0), index(builder, 2), head,
                   index(builder, 3)});
    Value wide = extend(builder, location, element);
    // Pages were scaled when they were gathered.
    if (!scale || op.getScalePerPage())
      return wide;
    Value first = arith::ConstantIndexOp::create(builder, location, 0);
    return scaled(builder, location, wide, scale,
                  op.getScalePerHead() ? head : first);
  };
  return generic(4, 0, {}, {empty, {0, 1, 2, 3}}, gather);
}

/// s[b, h, m, n] = sum_d query[b, m, h, d] * keys[b, h, n, d].
Value ScoreSteps::scores(Value keys) {
  if (topk)
    return scoresOfLists(keys);
  Value init = filled(zero, {batch, queryHeads, queryLength, source.length});
  if (isVarlen)
    return scoresOfSequences(keys, init);
  auto multiplyAdd = [](OpBuilder &builder, Location location,
                        ValueRange elements) -> Value {
    Value queryElement = extend(builder, location, elements[0]);
    Value product =
        arith::MulFOp::create(builder, location, queryElement, elements[1]);
    return arith::AddFOp::create(builder, location, elements[2], product);
  };
  return generic(4, 1, {{query, {0, 2, 1, 4}}, {keys, {0, 1, 3, 4}}},
                 {init, {0, 1, 2, 3}}, multiplyAdd);
}

/// Returns the key position of row 0.
Value SequenceSteps::rowShift() {
  if (source.mask.isTopLeft())
    return arith::ConstantIndexOp::create(rewriter, location, 0);
  return arith::SubIOp::create(rewriter, location,
                               size(source.key, AttentionOp::Length),
                               size(query, AttentionOp::Length));
}

/// Returns `score` if p - left <= n <= p + right, else -inf; p = m + shift.
Value ScoreSteps::masked(OpBuilder &builder, Location location, Value score,
                         Value shift) {
  Value place =
      arith::AddIOp::create(builder, location, index(builder, 2), shift);
  auto hide = [&](arith::CmpIPredicate seen, int64_t distance) {
    Value bound = place;
    if (distance)
      bound = arith::AddIOp::create(
          builder, location, place,
          arith::ConstantIndexOp::create(builder, location, distance));
    Value visible = arith::CmpIOp::create(builder, location, seen,
                                          index(builder, 3), bound);
    score = arith::SelectOp::create(builder, location, visible, score,
                                    minusInfinity);
  };
  if (std::optional<unsigned> right = source.mask.rightBound())
    hide(arith::CmpIPredicate::sle, *right);
  if (source.mask.left)
    hide(arith::CmpIPredicate::sge, -int64_t(*source.mask.left));
  return score;
}

/// Returns scale * s where the mask lets row m see key n, -inf elsewhere.
Value ScoreSteps::scaleAndMask(Value scores) {
  Value scale = constant(op.getScaleOrDefault());
  if (queryScale)
    scale = scaled(rewriter, location, scale, queryScale,
                   arith::ConstantIndexOp::create(rewriter, location, 0));
  if (topk)
    return scaleListed(scores, scale);
  Value shift = isVarlen ? Value() : rowShift();
  auto apply = [&](OpBuilder &builder, Location location,
                   ValueRange elements) -> Value {
    Value score = arith::MulFOp::create(builder, location, elements[0], scale);
    if (isVarlen)
      return scoreOfSequences(builder, location, score);
    score = modified(builder, location, score);
    if (source.mask.isFull())
      return score;
    return masked(builder, location, score, shift);
  };
  return generic(4, 0, {}, {scores, {0, 1, 2, 3}}, apply);
}

/// Returns the row statistics, continued from one KV segment to the next.
Statistics SoftmaxSteps::statistics(ArrayRef<Value> scores, bool withSink) {
  SmallVector<OpFoldResult> rows = {batch, queryHeads, queryLength};
  Statistics made;
  made.maxima = withSink ? leastMaxima() : filled(minusInfinity, rows);
  for (Value one : scores)
    made.maxima = rowMaxima(one, made.maxima);
  made.sums = withSink ? leastSums(made.maxima) : filled(zero, rows);
  for (auto [segment, one] : llvm::zip_equal(sources, scores)) {
    source = segment;
    made.weights.push_back(exponentials(one, made.maxima));
    made.sums = rowSums(made.weights.back(), made.sums);
  }
  return made;
}

/// [b, h, m]: the initial value of a maximum over keys, the head's sink if
/// there is one.
Value SoftmaxSteps::leastMaxima() {
  if (!sink)
    return filled(minusInfinity, {batch, queryHeads, queryLength});
  auto copy = [](OpBuilder &, Location, ValueRange elements) -> Value {
    return elements[0];
  };
  return generic(3, 0, {{sink, {1}}}, {rows(), {0, 1, 2}}, copy);
}

/// [b, h, m]: the initial value of a sum of weights, exp(sink - max) or 0.
Value SoftmaxSteps::leastSums(Value maxima) {
  if (!sink)
    return filled(zero, {batch, queryHeads, queryLength});
  auto weight = [&](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
    return math::ExpOp::create(
        builder, location,
        difference(builder, location, elements[0], elements[1]));
  };
  return generic(3, 0, {{sink, {1}}, {maxima, {0, 1, 2}}}, {rows(), {0, 1, 2}},
                 weight);
}

Value SoftmaxSteps::rows() {
  return tensor::EmptyOp::create(
      rewriter, location,
      ArrayRef<OpFoldResult>{batch, queryHeads, queryLength},
      rewriter.getF32Type());
}

/// Returns value - max, with 0 for -inf: -inf - -inf would be NaN.
Value SoftmaxSteps::difference(OpBuilder &builder, Location location,
                               Value value, Value max) {
  Value empty = arith::CmpFOp::create(
      builder, location, arith::CmpFPredicate::OEQ, max, minusInfinity);
  Value safe = arith::SelectOp::create(builder, location, empty, zero, max);
  return arith::SubFOp::create(builder, location, value, safe);
}

Value SoftmaxSteps::rowMaxima(Value scores, Value init) {
  auto maximum = [](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
    return arith::MaximumFOp::create(builder, location, elements[0],
                                     elements[1]);
  };
  return generic(3, 1, {{scores, {0, 1, 2, 3}}}, {init, {0, 1, 2}}, maximum);
}

/// Returns exp(s - max), times the number of times that a list of blocks names
/// the key. A row that sees no key has max = -inf; subtracting 0
/// instead keeps its weights at exp(-inf) = 0, where -inf - -inf would be NaN.
Value SoftmaxSteps::exponentials(Value scores, Value maxima) {
  auto exponential = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    Value weight = math::ExpOp::create(
        builder, location,
        difference(builder, location, elements[1], elements[0]));
    if (!source.timesListed)
      return weight;
    Value times = arith::SIToFPOp::create(
        builder, location, builder.getF32Type(),
        timesListed(builder, location, index(builder, 3)));
    return arith::MulFOp::create(builder, location, weight, times);
  };
  return generic(4, 0, {{maxima, {0, 1, 2}}}, {scores, {0, 1, 2, 3}},
                 exponential);
}

Value SoftmaxSteps::rowSums(Value weights, Value init) {
  auto add = [](OpBuilder &builder, Location location,
                ValueRange elements) -> Value {
    return arith::AddFOp::create(builder, location, elements[1], elements[0]);
  };
  return generic(3, 1, {{weights, {0, 1, 2, 3}}}, {init, {0, 1, 2}}, add);
}

/// o[b, h, m, d] = init + sum_n weights[b, h, m, n] * values[b, h, n, d].
Value Decomposition::weightedSums(Value weights, Value values, Value init) {
  if (topk)
    return weightedSumsOfLists(weights, values, init);
  if (isVarlen)
    return weightedSumsOfSequences(weights, values, init);
  auto multiplyAdd = [](OpBuilder &builder, Location location,
                        ValueRange elements) -> Value {
    Value product =
        arith::MulFOp::create(builder, location, elements[0], elements[1]);
    return arith::AddFOp::create(builder, location, elements[2], product);
  };
  return generic(4, 1, {{weights, {0, 1, 2, 4}}, {values, {0, 1, 4, 3}}},
                 {init, {0, 1, 2, 3}}, multiplyAdd);
}

/// output[b, m, h, d] = weighted / sum, or weighted as it is, rounded; 0 where
/// the row saw no key. The largest weight of any other row is 1, so its sum is
/// at least 1.
Value Decomposition::output(Value weighted, Value sums) {
  Value destination = asTensor(op.getOutput());
  auto divide = [&](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
    Value empty = arith::CmpFOp::create(
        builder, location, arith::CmpFPredicate::OEQ, elements[1], zero);
    Value result = elements[0];
    if (!op.getUnnormalised())
      result = arith::DivFOp::create(builder, location, result, elements[1]);
    result = arith::SelectOp::create(builder, location, empty, zero, result);
    Type type = elements[2].getType();
    if (!type.isF32())
      result = arith::TruncFOp::create(builder, location, type, result);
    return kept(builder, location, index(builder, 1), result, elements[2]);
  };
  return generic(4, 0, {{weighted, {0, 2, 1, 3}}, {sums, {0, 2, 1}}},
                 {destination, {0, 1, 2, 3}}, divide);
}

/// max + log(sum); -inf where the row saw no key, as log(0) is -inf.
Value Decomposition::logSumExp(Value maxima, Value sums) {
  Value destination = asTensor(op.getLse());
  auto combine = [&](OpBuilder &builder, Location location,
                     ValueRange elements) -> Value {
    Value logarithm = math::LogOp::create(builder, location, elements[1]);
    Value result =
        arith::AddFOp::create(builder, location, elements[0], logarithm);
    return kept(builder, location, index(builder, 2), result, elements[2]);
  };
  return generic(3, 0, {{maxima, {0, 1, 2}}, {sums, {0, 1, 2}}},
                 {destination, {0, 1, 2}}, combine);
}

/// Returns `rows`, in which rows outside all sequences have the values of
/// `destination`.
Value Decomposition::keptRows(Value rows, Value destination) {
  auto keep = [&](OpBuilder &builder, Location location, ValueRange elements) {
    return kept(builder, location, index(builder, 2), elements[0], elements[1]);
  };
  return generic(3, 0, {{rows, {0, 1, 2}}}, {asTensor(destination), {0, 1, 2}},
                 keep);
}

void Decomposition::replace(ValueRange results) {
  if (op.hasPureTensorSemantics()) {
    rewriter.replaceOp(op, results);
    return;
  }
  for (auto [result, destination] : llvm::zip_equal(results, op.getDpsInits()))
    bufferization::MaterializeInDestinationOp::create(
        rewriter, location, TypeRange(), result, destination, /*restrict=*/true,
        /*writable=*/true);
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void fmha::decomposeToLinalg(RewriterBase &rewriter, AttentionOp op) {
  Decomposition(rewriter, op).run();
}

/// fmha.transpose -> linalg.transpose into a tensor.empty
static void decomposeToLinalg(RewriterBase &rewriter, TransposeOp op) {
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> sizes = applyPermutation(
      tensor::getMixedSizes(rewriter, op.getLoc(), op.getSource()),
      op.getPermutation());
  Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes,
                                        op.getType().getElementType());
  auto made = linalg::TransposeOp::create(rewriter, op.getLoc(), op.getSource(),
                                          empty, op.getPermutation());
  rewriter.replaceOp(op, made.getResult());
}

namespace {
struct DecomposeToLinalg
    : fmha::impl::FMHADecomposeToLinalgBase<DecomposeToLinalg> {
  void runOnOperation() override {
    WalkResult walked = getOperation()->walk([](AttentionOp op) -> WalkResult {
      if (!op.getKeyNew())
        return WalkResult::advance();
      return op.emitError() << "expected no key_new to decompose, got one; "
                               "append by fmha.append, which this pass takes";
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    getOperation()->walk(
        [&](AttentionOp op) { decomposeToLinalg(rewriter, op); });
    getOperation()->walk([&](AppendOp op) { decomposeToLinalg(rewriter, op); });
    getOperation()->walk([&](MergeOp op) { decomposeToLinalg(rewriter, op); });
    getOperation()->walk(
        [&](TransposeOp op) { decomposeToLinalg(rewriter, op); });
  }
};
} // namespace

//===- DecomposeToLinalg.cpp - The meaning of fmha.attention --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of the definition, one linalg.generic each. Index letters: b batch,
// h query head, m query row, n key, d head dim; a tensor of scores is
// [b, h, m, n], a statistic of rows is [b, h, m], both f32.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include <limits>

namespace fmha {
#define GEN_PASS_DEF_FMHADECOMPOSETOLINALG
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {
using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// Positions of loops, as a map from a generic's loops to an operand's indices.
using Indices = SmallVector<unsigned, 5>;

/// What a query row may attend to where sequences have lengths of their own:
/// keys [first, end) of a batch of K, and the key that the row sits at. A row
/// that no sequence has sees none.
struct RowKeys {
  Value exists, batch, first, end, place;
};

class Decomposition {
public:
  Decomposition(RewriterBase &rewriter, AttentionOp op);
  void run();

private:
  Value index(OpBuilder &builder, unsigned loop) {
    return linalg::IndexOp::create(builder, location, loop);
  }
  Value constant(double value) {
    return arith::ConstantOp::create(rewriter, location,
                                     rewriter.getF32FloatAttr(value));
  }
  Value size(Value tensor, unsigned dimension) {
    return tensor::DimOp::create(rewriter, location, tensor, dimension);
  }
  Value filled(Value element, ArrayRef<OpFoldResult> sizes);
  Value generic(unsigned parallelLoops, unsigned reductionLoops,
                ArrayRef<std::pair<Value, Indices>> inputs,
                std::pair<Value, Indices> destination, Body body);

  Value asTensor(Value operand);
  Value repeatHeads(Value keysOrValues);
  Value scores(Value keys);
  Value scoresOfSequences(Value keys, Value init);
  Value rowShift();
  Value sequenceOfRows();
  Value entry(OpBuilder &builder, Location location, Value list, Value number);
  RowKeys keysOfRow(OpBuilder &builder, Location location, Value batch,
                    Value row);
  Value isVisible(OpBuilder &builder, Location location, RowKeys keys,
                  Value key);
  Value masked(OpBuilder &builder, Location location, Value score, Value shift);
  Value scaleAndMask(Value scores);
  Value rowMaxima(Value scores);
  Value exponentials(Value scores, Value maxima);
  Value rowSums(Value weights);
  Value weightedSums(Value weights, Value values);
  Value weightedSumsOfSequences(Value weights, Value values, Value init);
  Value kept(OpBuilder &builder, Location location, Value row, Value result,
             Value old);
  Value normalise(Value weighted, Value sums);
  Value logSumExp(Value maxima, Value sums);
  void replace(ValueRange results);

  RewriterBase &rewriter;
  AttentionOp op;
  Location location;
  Value query, key, value;
  /// Null where the op has none; the last is, for each packed query row, the
  /// sequence that has it, or the number of sequences.
  Value kvLens, startsQ, startsK, sequences;
  bool hasLists = false;
  Value zero, minusInfinity;
  OpFoldResult batch, queryHeads, queryLength, keyLength;
};
} // namespace

Decomposition::Decomposition(RewriterBase &rewriter, AttentionOp op)
    : rewriter(rewriter), op(op), location(op.getLoc()) {
  rewriter.setInsertionPoint(op);
  query = asTensor(op.getQuery());
  key = asTensor(op.getKey());
  value = asTensor(op.getValue());
  kvLens = asTensor(op.getKvLens());
  startsQ = asTensor(op.getCuSeqlensQ());
  startsK = asTensor(op.getCuSeqlensK());
  hasLists = kvLens || startsQ || startsK;
  zero = constant(0.0);
  minusInfinity = constant(-std::numeric_limits<double>::infinity());
  SmallVector<OpFoldResult> querySizes =
      tensor::getMixedSizes(rewriter, location, query);
  batch = querySizes[AttentionOp::Batch];
  queryHeads = querySizes[AttentionOp::Heads];
  queryLength = querySizes[AttentionOp::Length];
  keyLength =
      tensor::getMixedSizes(rewriter, location, key)[AttentionOp::Length];
}

void Decomposition::run() {
  if (startsQ)
    sequences = sequenceOfRows();
  Value keys = repeatHeads(key);
  Value values = repeatHeads(value);
  Value masked = scaleAndMask(scores(keys));
  Value maxima = rowMaxima(masked);
  Value weights = exponentials(masked, maxima);
  Value sums = rowSums(weights);
  SmallVector<Value> results{normalise(weightedSums(weights, values), sums)};
  if (op.getLse())
    results.push_back(logSumExp(maxima, sums));
  replace(results);
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

Value Decomposition::filled(Value element, ArrayRef<OpFoldResult> sizes) {
  Value empty =
      tensor::EmptyOp::create(rewriter, location, sizes, element.getType());
  return linalg::FillOp::create(rewriter, location, element, empty)
      .getResult(0);
}

/// A linalg.generic over `parallelLoops`, then `reductionLoops`.
Value Decomposition::generic(unsigned parallelLoops, unsigned reductionLoops,
                             ArrayRef<std::pair<Value, Indices>> inputs,
                             std::pair<Value, Indices> destination, Body body) {
  unsigned loops = parallelLoops + reductionLoops;
  SmallVector<Value> inputValues;
  SmallVector<AffineMap> maps;
  auto addMap = [&](const Indices &indices) {
    maps.push_back(
        AffineMap::getMultiDimMapWithTargets(loops, indices, op.getContext()));
  };
  for (const auto &[input, indices] : inputs) {
    inputValues.push_back(input);
    addMap(indices);
  }
  addMap(destination.second);
  SmallVector<utils::IteratorType> iterators(parallelLoops,
                                             utils::IteratorType::parallel);
  iterators.append(reductionLoops, utils::IteratorType::reduction);
  auto build = [&](OpBuilder &builder, Location location, ValueRange elements) {
    linalg::YieldOp::create(builder, location,
                            body(builder, location, elements));
  };
  return linalg::GenericOp::create(rewriter, location,
                                   destination.first.getType(), inputValues,
                                   destination.first, maps, iterators, build)
      .getResult(0);
}

static Value extend(OpBuilder &builder, Location location, Value element) {
  return arith::ExtFOp::create(builder, location, builder.getF32Type(),
                               element);
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

Value Decomposition::asTensor(Value operand) {
  if (!operand)
    return operand;
  auto memref = dyn_cast<MemRefType>(operand.getType());
  if (!memref)
    return operand;
  Type type = memref::getTensorTypeFromMemRefType(memref);
  return bufferization::ToTensorOp::create(rewriter, location, type, operand,
                                           /*restrict=*/true);
}

/// [b, n, g, d] -> [b, h, n, d] in f32, where query head h reads KV head
/// h * kv_heads / q_heads.
Value Decomposition::repeatHeads(Value keysOrValues) {
  Value keyValueHeads = size(keysOrValues, AttentionOp::Heads);
  Value heads = size(query, AttentionOp::Heads);
  OpFoldResult headDim = tensor::getMixedSizes(
      rewriter, location, keysOrValues)[AttentionOp::HeadDim];
  OpFoldResult batch = tensor::getMixedSizes(rewriter, location,
                                             keysOrValues)[AttentionOp::Batch];
  Value empty = tensor::EmptyOp::create(rewriter, location,
                                        {batch, queryHeads, keyLength, headDim},
                                        rewriter.getF32Type());
  auto gather = [&](OpBuilder &builder, Location location, ValueRange) {
    Value scaled = arith::MulIOp::create(builder, location, index(builder, 1),
                                         keyValueHeads);
    Value head = arith::DivUIOp::create(builder, location, scaled, heads);
    Value element = tensor::ExtractOp::create(
        builder, location, keysOrValues,
        ValueRange{index(builder, 0), index(builder, 2), head,
                   index(builder, 3)});
    return extend(builder, location, element);
  };
  return generic(4, 0, {}, {empty, {0, 1, 2, 3}}, gather);
}

/// s[b, h, m, n] = sum_d query[b, m, h, d] * keys[b, h, n, d].
Value Decomposition::scores(Value keys) {
  Value init = filled(zero, {batch, queryHeads, queryLength, keyLength});
  if (hasLists)
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

//===----------------------------------------------------------------------===//
// Sequences of their own lengths
//===----------------------------------------------------------------------===//

/// [m] -> how many sequences end at or before row m.
Value Decomposition::sequenceOfRows() {
  Value one = arith::ConstantIndexOp::create(rewriter, location, 1);
  Value none = arith::ConstantIndexOp::create(rewriter, location, 0);
  Value count =
      arith::SubIOp::create(rewriter, location, size(startsQ, 0), one);
  Value ends = tensor::ExtractSliceOp::create(
      rewriter, location, startsQ, ArrayRef<OpFoldResult>{one},
      ArrayRef<OpFoldResult>{count},
      ArrayRef<OpFoldResult>{rewriter.getIndexAttr(1)});
  auto add = [&](OpBuilder &builder, Location location,
                 ValueRange elements) -> Value {
    Value end = arith::IndexCastOp::create(builder, location,
                                           builder.getIndexType(), elements[0]);
    Value behind = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::sle, end, index(builder, 0));
    Value more = arith::SelectOp::create(builder, location, behind, one, none);
    return arith::AddIOp::create(builder, location, elements[1], more);
  };
  return generic(1, 1, {{ends, {1}}}, {filled(none, {queryLength}), {0}}, add);
}

Value Decomposition::entry(OpBuilder &builder, Location location, Value list,
                           Value number) {
  Value element = tensor::ExtractOp::create(builder, location, list, number);
  return arith::IndexCastOp::create(builder, location, builder.getIndexType(),
                                    element);
}

RowKeys Decomposition::keysOfRow(OpBuilder &builder, Location location,
                                 Value batch, Value row) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, location, value);
  };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, location, a, b);
  };
  auto subtract = [&](Value a, Value b) -> Value {
    return arith::SubIOp::create(builder, location, a, b);
  };
  RowKeys keys;
  Value sequence = batch, queries = size(query, AttentionOp::Length);
  Value firstQuery = index(0);
  keys.exists =
      arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
  if (startsQ) {
    Value count = subtract(tensor::DimOp::create(builder, location, startsQ, 0),
                           index(1));
    sequence = tensor::ExtractOp::create(builder, location, sequences, row);
    keys.exists = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::slt, sequence, count);
    // A row of none takes the first entry, whose keys it does not see.
    sequence = arith::SelectOp::create(builder, location, keys.exists, sequence,
                                       index(0));
    firstQuery = entry(builder, location, startsQ, sequence);
    queries = subtract(
        entry(builder, location, startsQ, add(sequence, index(1))), firstQuery);
  }
  keys.batch = startsK ? index(0) : sequence;
  keys.first = index(0);
  keys.end = size(key, AttentionOp::Length);
  if (startsK) {
    keys.first = entry(builder, location, startsK, sequence);
    keys.end = entry(builder, location, startsK, add(sequence, index(1)));
  }
  if (kvLens)
    keys.end = add(keys.first, entry(builder, location, kvLens, sequence));
  keys.place = add(keys.first, subtract(row, firstQuery));
  if (!op.getMask().isTopLeft())
    keys.place =
        add(keys.place, subtract(subtract(keys.end, keys.first), queries));
  return keys;
}

Value Decomposition::isVisible(OpBuilder &builder, Location location,
                               RowKeys keys, Value key) {
  auto both = [&](Value seen, arith::CmpIPredicate how, Value bound) -> Value {
    Value inside = arith::CmpIOp::create(builder, location, how, key, bound);
    return arith::AndIOp::create(builder, location, seen, inside);
  };
  Value seen = both(keys.exists, arith::CmpIPredicate::sge, keys.first);
  seen = both(seen, arith::CmpIPredicate::slt, keys.end);
  auto bound = [&](int64_t distance) -> Value {
    return arith::AddIOp::create(
        builder, location, keys.place,
        arith::ConstantIndexOp::create(builder, location, distance));
  };
  if (std::optional<unsigned> right = op.getMask().rightBound())
    seen = both(seen, arith::CmpIPredicate::sle, bound(*right));
  if (op.getMask().left)
    seen = both(seen, arith::CmpIPredicate::sge,
                bound(-int64_t(*op.getMask().left)));
  return seen;
}

/// As scores(), from the batch of K that the row's sequence has.
Value Decomposition::scoresOfSequences(Value keys, Value init) {
  OpFoldResult headDim = rewriter.getIndexAttr(op.getHeadDim());
  Value shape = tensor::EmptyOp::create(
      rewriter, location, {keyLength, headDim}, rewriter.getF32Type());
  auto multiplyAdd = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    RowKeys row =
        keysOfRow(builder, location, index(builder, 0), index(builder, 2));
    Value element = tensor::ExtractOp::create(
        builder, location, keys,
        ValueRange{row.batch, index(builder, 1), index(builder, 3),
                   index(builder, 4)});
    Value product = arith::MulFOp::create(
        builder, location, extend(builder, location, elements[0]), element);
    return arith::AddFOp::create(builder, location, elements[2], product);
  };
  return generic(4, 1, {{query, {0, 2, 1, 4}}, {shape, {3, 4}}},
                 {init, {0, 1, 2, 3}}, multiplyAdd);
}

/// As weightedSums(); what a row does not see does not matter, be it NaN.
Value Decomposition::weightedSumsOfSequences(Value weights, Value values,
                                             Value init) {
  auto multiplyAdd = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    RowKeys row =
        keysOfRow(builder, location, index(builder, 0), index(builder, 2));
    Value key = index(builder, 4);
    Value element = tensor::ExtractOp::create(
        builder, location, values,
        ValueRange{row.batch, index(builder, 1), key, index(builder, 3)});
    Value product =
        arith::MulFOp::create(builder, location, elements[0], element);
    Value seen = isVisible(builder, location, row, key);
    product = arith::SelectOp::create(builder, location, seen, product, zero);
    return arith::AddFOp::create(builder, location, elements[1], product);
  };
  return generic(4, 1, {{weights, {0, 1, 2, 4}}}, {init, {0, 1, 2, 3}},
                 multiplyAdd);
}

/// `old` where no sequence has the row.
Value Decomposition::kept(OpBuilder &builder, Location location, Value row,
                          Value result, Value old) {
  if (!startsQ)
    return result;
  Value exists = keysOfRow(builder, location, row, row).exists;
  return arith::SelectOp::create(builder, location, exists, result, old);
}

//===----------------------------------------------------------------------===//
// The steps, continued
//===----------------------------------------------------------------------===//

/// The key that row 0 sits at.
Value Decomposition::rowShift() {
  if (op.getMask().isTopLeft())
    return arith::ConstantIndexOp::create(rewriter, location, 0);
  return arith::SubIOp::create(rewriter, location,
                               size(key, AttentionOp::Length),
                               size(query, AttentionOp::Length));
}

/// `score` where p - left <= n <= p + right, -inf elsewhere; p = m + shift.
Value Decomposition::masked(OpBuilder &builder, Location location, Value score,
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
  if (std::optional<unsigned> right = op.getMask().rightBound())
    hide(arith::CmpIPredicate::sle, *right);
  if (op.getMask().left)
    hide(arith::CmpIPredicate::sge, -int64_t(*op.getMask().left));
  return score;
}

/// scale * s where the mask lets row m see key n, -inf elsewhere.
Value Decomposition::scaleAndMask(Value scores) {
  Value scale = constant(op.getScaleOrDefault());
  Value shift = hasLists ? Value() : rowShift();
  auto apply = [&](OpBuilder &builder, Location location,
                   ValueRange elements) -> Value {
    Value scaled = arith::MulFOp::create(builder, location, elements[0], scale);
    if (hasLists) {
      RowKeys row =
          keysOfRow(builder, location, index(builder, 0), index(builder, 2));
      Value seen = isVisible(builder, location, row, index(builder, 3));
      return arith::SelectOp::create(builder, location, seen, scaled,
                                     minusInfinity);
    }
    if (op.getMask().isFull())
      return scaled;
    return masked(builder, location, scaled, shift);
  };
  return generic(4, 0, {}, {scores, {0, 1, 2, 3}}, apply);
}

Value Decomposition::rowMaxima(Value scores) {
  Value init = filled(minusInfinity, {batch, queryHeads, queryLength});
  auto maximum = [](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
    return arith::MaximumFOp::create(builder, location, elements[0],
                                     elements[1]);
  };
  return generic(3, 1, {{scores, {0, 1, 2, 3}}}, {init, {0, 1, 2}}, maximum);
}

/// exp(s - max). A row that sees no key has max = -inf; subtracting 0 instead
/// keeps its weights at exp(-inf) = 0, where -inf - -inf would be NaN.
Value Decomposition::exponentials(Value scores, Value maxima) {
  auto exponential = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    Value empty =
        arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ,
                              elements[0], minusInfinity);
    Value maximum =
        arith::SelectOp::create(builder, location, empty, zero, elements[0]);
    Value difference =
        arith::SubFOp::create(builder, location, elements[1], maximum);
    return math::ExpOp::create(builder, location, difference);
  };
  return generic(4, 0, {{maxima, {0, 1, 2}}}, {scores, {0, 1, 2, 3}},
                 exponential);
}

Value Decomposition::rowSums(Value weights) {
  Value init = filled(zero, {batch, queryHeads, queryLength});
  auto add = [](OpBuilder &builder, Location location,
                ValueRange elements) -> Value {
    return arith::AddFOp::create(builder, location, elements[1], elements[0]);
  };
  return generic(3, 1, {{weights, {0, 1, 2, 3}}}, {init, {0, 1, 2}}, add);
}

/// o[b, h, m, d] = sum_n weights[b, h, m, n] * values[b, h, n, d].
Value Decomposition::weightedSums(Value weights, Value values) {
  OpFoldResult headDim = rewriter.getIndexAttr(op.getHeadDimV());
  Value init = filled(zero, {batch, queryHeads, queryLength, headDim});
  if (hasLists)
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

/// output[b, m, h, d] = weighted / sum, rounded; 0 where the row saw no key.
/// The largest weight of any other row is 1, so its sum is at least 1.
Value Decomposition::normalise(Value weighted, Value sums) {
  Value destination = asTensor(op.getOutput());
  auto divide = [&](OpBuilder &builder, Location location,
                    ValueRange elements) -> Value {
    Value empty = arith::CmpFOp::create(
        builder, location, arith::CmpFPredicate::OEQ, elements[1], zero);
    Value quotient =
        arith::DivFOp::create(builder, location, elements[0], elements[1]);
    Value result =
        arith::SelectOp::create(builder, location, empty, zero, quotient);
    Value rounded =
        arith::TruncFOp::create(builder, location, op.getElementType(), result);
    return kept(builder, location, index(builder, 1), rounded, elements[2]);
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

namespace {
struct DecomposeToLinalg
    : fmha::impl::FMHADecomposeToLinalgBase<DecomposeToLinalg> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk(
        [&](AttentionOp op) { decomposeToLinalg(rewriter, op); });
  }
};
} // namespace

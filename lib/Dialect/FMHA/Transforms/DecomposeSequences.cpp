//===- DecomposeSequences.cpp - Lengths and lists of sequences ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fmha;

/// [m] -> the number of sequences that end at or before row m.
Value SequenceSteps::sequenceOfRows() {
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
    Value ended = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::sle, end, index(builder, 0));
    Value more = arith::SelectOp::create(builder, location, ended, one, none);
    return arith::AddIOp::create(builder, location, elements[1], more);
  };
  return generic(1, 1, {{ends, {1}}}, {filled(none, {queryLength}), {0}}, add);
}

Value SequenceSteps::entry(OpBuilder &builder, Location location, Value list,
                           Value number) {
  Value element = tensor::ExtractOp::create(builder, location, list, number);
  return arith::IndexCastOp::create(builder, location, builder.getIndexType(),
                                    element);
}

/// Returns the keys of a row. Rows outside all sequences read no metadata.
RowKeys SequenceSteps::keysOfRow(OpBuilder &builder, Location location,
                                 Value batch, Value row) {
  if (!startsQ)
    return keysOfSequence(builder, location, batch, row);
  Value one = arith::ConstantIndexOp::create(builder, location, 1);
  Value count = arith::SubIOp::create(
      builder, location, tensor::DimOp::create(builder, location, startsQ, 0),
      one);
  Value sequence = tensor::ExtractOp::create(builder, location, sequences, row);
  Value exists = arith::CmpIOp::create(
      builder, location, arith::CmpIPredicate::slt, sequence, count);
  auto found = scf::IfOp::create(
      builder, location, exists,
      [&](OpBuilder &inner, Location location) {
        RowKeys own = keysOfSequence(inner, location, sequence, row);
        scf::YieldOp::create(inner, location, own.numbers());
      },
      [&](OpBuilder &inner, Location location) {
        Value zero = arith::ConstantIndexOp::create(inner, location, 0);
        SmallVector<Value> none(RowKeys().numbers().size(), zero);
        scf::YieldOp::create(inner, location, none);
      });
  RowKeys keys = RowKeys::of(found.getResults());
  keys.exists = exists;
  return keys;
}

RowKeys SequenceSteps::keysOfSequence(OpBuilder &builder, Location location,
                                      Value sequence, Value row) {
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
  keys.exists =
      arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
  keys.sequence = sequence;
  keys.queries = size(query, AttentionOp::Length);
  keys.row = row;
  Value next = add(sequence, index(1));
  if (startsQ) {
    Value first = entry(builder, location, startsQ, sequence);
    keys.queries = subtract(entry(builder, location, startsQ, next), first);
    keys.row = subtract(row, first);
  }
  keys.batch = source.starts ? index(0) : sequence;
  keys.first = index(0);
  keys.end = size(source.key, AttentionOp::Length);
  if (source.starts) {
    keys.first = entry(builder, location, source.starts, sequence);
    keys.end = entry(builder, location, source.starts, next);
  }
  if (source.lengths)
    keys.end =
        add(keys.first, entry(builder, location, source.lengths, sequence));
  keys.place = add(keys.first, keys.row);
  if (!source.mask.isTopLeft())
    keys.place =
        add(keys.place, subtract(subtract(keys.end, keys.first), keys.queries));
  return keys;
}

Value SequenceSteps::isVisible(OpBuilder &builder, Location location,
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
  if (std::optional<unsigned> right = source.mask.rightBound())
    seen = both(seen, arith::CmpIPredicate::sle, bound(*right));
  if (source.mask.left)
    seen = both(seen, arith::CmpIPredicate::sge,
                bound(-int64_t(*source.mask.left)));
  if (!source.timesListed)
    return seen;
  Value times = timesListed(builder, location, key);
  Value never = arith::ConstantIntOp::create(builder, location, 0, 32);
  Value isListed = arith::CmpIOp::create(
      builder, location, arith::CmpIPredicate::ne, times, never);
  return arith::AndIOp::create(builder, location, seen, isListed);
}

/// Returns the score, -inf if the row does not see the key. The op's region
/// runs only for visible keys; others may belong to no sequence.
Value ScoreSteps::scoreOfSequences(OpBuilder &builder, Location location,
                                   Value scaled) {
  RowKeys row =
      keysOfRow(builder, location, index(builder, 0), index(builder, 2));
  Value seen = isVisible(builder, location, row, index(builder, 3));
  if (!op.getScore())
    return arith::SelectOp::create(builder, location, seen, scaled,
                                   minusInfinity);
  Value batch = index(builder, 0), head = index(builder, 1);
  Value key = index(builder, 3);
  auto found = scf::IfOp::create(
      builder, location, seen,
      [&](OpBuilder &inner, Location location) {
        auto subtract = [&](Value a, Value b) -> Value {
          return arith::SubIOp::create(inner, location, a, b);
        };
        const Value place[] = {startsQ ? row.sequence : batch,
                               head,
                               row.row,
                               subtract(key, row.first),
                               row.queries,
                               subtract(row.end, row.first)};
        scf::YieldOp::create(inner, location,
                             modifiedAt(inner, location, scaled, place));
      },
      [&](OpBuilder &inner, Location location) {
        scf::YieldOp::create(inner, location, minusInfinity);
      });
  return found.getResult(0);
}

/// Returns an element, 0 for a row outside all sequences: K may have no batch.
Value SequenceSteps::elementOf(OpBuilder &builder, Location location,
                               const RowKeys &row, Value tensor,
                               ArrayRef<Value> indices) {
  auto extract = [&](OpBuilder &inner, Location location) -> Value {
    return tensor::ExtractOp::create(inner, location, tensor, indices);
  };
  if (!startsQ || source.starts)
    return extract(builder, location);
  auto found = scf::IfOp::create(
      builder, location, row.exists,
      [&](OpBuilder &inner, Location location) {
        scf::YieldOp::create(inner, location, extract(inner, location));
      },
      [&](OpBuilder &inner, Location location) {
        scf::YieldOp::create(inner, location, zero);
      });
  return found.getResult(0);
}

/// As scores(), with the batch of K of the row's sequence.
Value ScoreSteps::scoresOfSequences(Value keys, Value init) {
  OpFoldResult headDim = rewriter.getIndexAttr(op.getHeadDim());
  Value shape = tensor::EmptyOp::create(
      rewriter, location, {source.length, headDim}, rewriter.getF32Type());
  auto multiplyAdd = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    RowKeys row =
        keysOfRow(builder, location, index(builder, 0), index(builder, 2));
    Value element = elementOf(
        builder, location, row, keys,
        {row.batch, index(builder, 1), index(builder, 3), index(builder, 4)});
    Value product = arith::MulFOp::create(
        builder, location, extend(builder, location, elements[0]), element);
    return arith::AddFOp::create(builder, location, elements[2], product);
  };
  return generic(4, 1, {{query, {0, 2, 1, 4}}, {shape, {3, 4}}},
                 {init, {0, 1, 2, 3}}, multiplyAdd);
}

/// As weightedSums(); hidden values do not matter, even NaN.
Value Decomposition::weightedSumsOfSequences(Value weights, Value values,
                                             Value init) {
  auto multiplyAdd = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    RowKeys row =
        keysOfRow(builder, location, index(builder, 0), index(builder, 2));
    Value key = index(builder, 4);
    Value element =
        elementOf(builder, location, row, values,
                  {row.batch, index(builder, 1), key, index(builder, 3)});
    Value product =
        arith::MulFOp::create(builder, location, elements[0], element);
    Value seen = isVisible(builder, location, row, key);
    product = arith::SelectOp::create(builder, location, seen, product, zero);
    return arith::AddFOp::create(builder, location, elements[1], product);
  };
  return generic(4, 1, {{weights, {0, 1, 2, 4}}}, {init, {0, 1, 2, 3}},
                 multiplyAdd);
}

/// Returns `old` for rows outside all sequences.
Value SequenceSteps::kept(OpBuilder &builder, Location location, Value row,
                          Value result, Value old) {
  if (!startsQ)
    return result;
  Value exists = keysOfRow(builder, location, row, row).exists;
  return arith::SelectOp::create(builder, location, exists, result, old);
}

//===----------------------------------------------------------------------===//
// Keys that a list of each query names: scores and weights have one column per
// entry of a list instead of one per key, [b, h, m, n], where n counts the
// entries of the list of query m.
//===----------------------------------------------------------------------===//

/// [b, m] -> the number of entries before the first negative one.
Value ListSteps::listLengths() {
  Value all = size(topk, 2);
  auto least = [&](OpBuilder &builder, Location location,
                   ValueRange elements) -> Value {
    Value zero = arith::ConstantOp::create(
        builder, location, builder.getZeroAttr(elements[0].getType()));
    Value ends = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::slt, elements[0], zero);
    Value here = arith::SelectOp::create(builder, location, ends,
                                         index(builder, 2), elements[1]);
    return arith::MinUIOp::create(builder, location, elements[1], here);
  };
  return generic(2, 1, {{topk, {0, 1, 2}}},
                 {filled(all, {batch, queryLength}), {0, 1}}, least);
}

/// Returns what `then` makes of the position that an entry names, or
/// `otherwise` if entry `number` lies after the end of its list.
Value ListSteps::ifListed(
    OpBuilder &builder, Location location, Value entry, Value number,
    Value count, Value otherwise,
    function_ref<Value(OpBuilder &, Location, Value position)> then) {
  Value exists = arith::CmpIOp::create(
      builder, location, arith::CmpIPredicate::ult, number, count);
  auto found = scf::IfOp::create(
      builder, location, exists,
      [&](OpBuilder &inner, Location location) {
        Value position = arith::IndexCastOp::create(
            inner, location, inner.getIndexType(), entry);
        scf::YieldOp::create(inner, location, then(inner, location, position));
      },
      [&](OpBuilder &inner, Location location) {
        scf::YieldOp::create(inner, location, otherwise);
      });
  return found.getResult(0);
}

/// Returns rows[b, h, entry, d], or zero if the entry lies after the end of its
/// list. Dimensions 0 and 1 of the enclosing linalg.generic count b and h,
/// `number` counts the entries and `column` counts d.
Value ListSteps::listedElement(OpBuilder &builder, Location location,
                               Value rows, unsigned number, unsigned column,
                               Value entry, Value count) {
  Value at[] = {index(builder, 0), index(builder, 1), index(builder, column)};
  auto extract = [&](OpBuilder &inner, Location location, Value position) {
    return tensor::ExtractOp::create(inner, location, rows,
                                     ValueRange{at[0], at[1], position, at[2]})
        .getResult();
  };
  return ifListed(builder, location, entry, index(builder, number), count, zero,
                  extract);
}

/// s[b, h, m, n] = sum_d query[b, m, h, d] * keys[b, h, topk[b, m, n], d].
Value ScoreSteps::scoresOfLists(Value keys) {
  OpFoldResult entries = tensor::getMixedSizes(rewriter, location, topk)[2];
  Value init = filled(zero, {batch, queryHeads, queryLength, entries});
  auto multiplyAdd = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    Value element = listedElement(builder, location, keys, /*number=*/3,
                                  /*column=*/4, elements[1], elements[2]);
    Value product = arith::MulFOp::create(
        builder, location, extend(builder, location, elements[0]), element);
    return arith::AddFOp::create(builder, location, elements[3], product);
  };
  return generic(
      4, 1, {{query, {0, 2, 1, 4}}, {topk, {0, 2, 3}}, {listLength, {0, 2}}},
      {init, {0, 1, 2, 3}}, multiplyAdd);
}

/// Returns scale * s, modified by the op's region, -inf after the end of a
/// list.
Value ScoreSteps::scaleListed(Value scores, Value scale) {
  Value allKeys = size(source.key, AttentionOp::Length);
  Value queries = size(query, AttentionOp::Length);
  auto apply = [&](OpBuilder &builder, Location location,
                   ValueRange elements) -> Value {
    Value score = arith::MulFOp::create(builder, location, elements[2], scale);
    Value at[] = {index(builder, 0), index(builder, 1), index(builder, 2)};
    auto modify = [&](OpBuilder &inner, Location location, Value position) {
      if (!op.getScore())
        return score;
      Value keys = allKeys;
      if (source.lengths)
        keys = arith::IndexCastOp::create(
            inner, location, inner.getIndexType(),
            tensor::ExtractOp::create(inner, location, source.lengths, at[0]));
      const Value place[] = {at[0], at[1], at[2], position, queries, keys};
      return modifiedAt(inner, location, score, place);
    };
    return ifListed(builder, location, elements[0], index(builder, 3),
                    elements[1], minusInfinity, modify);
  };
  return generic(4, 0, {{topk, {0, 2, 3}}, {listLength, {0, 2}}},
                 {scores, {0, 1, 2, 3}}, apply);
}

/// o[b, h, m, d] = init + sum_n weights[b, h, m, n] *
/// values[b, h, topk[b, m, n], d].
Value Decomposition::weightedSumsOfLists(Value weights, Value values,
                                         Value init) {
  auto multiplyAdd = [&](OpBuilder &builder, Location location,
                         ValueRange elements) -> Value {
    Value element = listedElement(builder, location, values, /*number=*/4,
                                  /*column=*/3, elements[1], elements[2]);
    Value product =
        arith::MulFOp::create(builder, location, elements[0], element);
    return arith::AddFOp::create(builder, location, elements[3], product);
  };
  return generic(
      4, 1, {{weights, {0, 1, 2, 4}}, {topk, {0, 2, 4}}, {listLength, {0, 2}}},
      {init, {0, 1, 2, 3}}, multiplyAdd);
}

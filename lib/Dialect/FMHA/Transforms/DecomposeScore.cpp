//===- DecomposeScore.cpp - Code on scores --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fmha;

/// The element of `source` at `indices`, the last one where an index is beyond.
static Value read(OpBuilder &builder, Location location, Value source,
                  ValueRange indices) {
  Value one = arith::ConstantIndexOp::create(builder, location, 1);
  SmallVector<Value> inside;
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    Value size = tensor::DimOp::create(builder, location, source, dimension);
    Value last = arith::SubIOp::create(builder, location, size, one);
    inside.push_back(arith::MinUIOp::create(builder, location, index, last));
  }
  return tensor::ExtractOp::create(builder, location, source, inside);
}

/// b, h, i, j, q_len and kv_len of the element that loops are at.
SmallVector<Value> Decomposition::placeOfScore(OpBuilder &builder,
                                               Location location) {
  Value batch = index(builder, 0), head = index(builder, 1);
  Value row = index(builder, 2), key = index(builder, 3);
  if (!hasLists)
    return {batch,
            head,
            row,
            key,
            size(query, AttentionOp::Length),
            size(this->key, AttentionOp::Length)};
  RowKeys own = keysOfRow(builder, location, batch, row);
  auto subtract = [&](Value a, Value b) -> Value {
    return arith::SubIOp::create(builder, location, a, b);
  };
  return {own.sequence, head,
          own.row,      subtract(key, own.first),
          own.queries,  subtract(own.end, own.first)};
}

/// What the op's region makes of a scaled score.
Value Decomposition::modified(OpBuilder &builder, Location location,
                              Value score) {
  if (op.getScore().empty())
    return score;
  IRMapping mapping;
  SmallVector<Value> arguments = placeOfScore(builder, location);
  arguments.insert(arguments.begin(), score);
  mapping.map(op.getScore().getArguments(), arguments);
  for (Operation &inner : op.getScore().front().without_terminator()) {
    auto reads = dyn_cast<ReadOp>(inner);
    if (!reads) {
      builder.clone(inner, mapping);
      continue;
    }
    SmallVector<Value> indices;
    for (Value value : reads.getIndices())
      indices.push_back(mapping.lookupOrDefault(value));
    mapping.map(
        reads.getResult(),
        read(builder, location, captures.lookup(reads.getSource()), indices));
  }
  return mapping.lookupOrDefault(
      op.getScore().front().getTerminator()->getOperand(0));
}

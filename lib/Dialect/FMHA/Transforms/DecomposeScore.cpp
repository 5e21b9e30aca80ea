//===- DecomposeScore.cpp - The score region in the definition ------------===//
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

Value DecompositionSteps::clampedElement(OpBuilder &builder, Location location,
                                         Value source, ValueRange indices) {
  Value one = arith::ConstantIndexOp::create(builder, location, 1);
  SmallVector<Value> inside;
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    Value size = tensor::DimOp::create(builder, location, source, dimension);
    Value last = arith::SubIOp::create(builder, location, size, one);
    inside.push_back(arith::MinUIOp::create(builder, location, index, last));
  }
  return tensor::ExtractOp::create(builder, location, source, inside);
}

/// Returns the op's region applied to a scaled score, if all rows of a batch
/// attend to all of its keys.
Value ScoreSteps::modified(OpBuilder &builder, Location location, Value score) {
  if (!op.getScore())
    return score;
  const Value place[] = {index(builder, 0),
                         index(builder, 1),
                         index(builder, 2),
                         index(builder, 3),
                         size(query, AttentionOp::Length),
                         size(source.key, AttentionOp::Length)};
  return modifiedAt(builder, location, score, place);
}

/// `place` is b, h, i, j, q_len and kv_len.
Value ScoreSteps::modifiedAt(OpBuilder &builder, Location location, Value score,
                             ArrayRef<Value> place) {
  IRMapping mapping;
  SmallVector<Value> arguments = {score};
  llvm::append_range(arguments, place);
  if (op.getKey2())
    arguments.push_back(
        arith::ConstantIndexOp::create(builder, location, source.number));
  if (op.getKvNumBlocks())
    arguments.push_back(arith::ConstantOp::create(
        builder, location, builder.getBoolAttr(source.isFull)));
  mapping.map(op.getScore()->getArguments(), arguments);
  for (Operation &inner : op.getScore()->front().without_terminator()) {
    auto reads = dyn_cast<ReadOp>(inner);
    if (!reads) {
      builder.clone(inner, mapping);
      continue;
    }
    SmallVector<Value> indices;
    for (Value value : reads.getIndices())
      indices.push_back(mapping.lookupOrDefault(value));
    mapping.map(reads.getResult(),
                clampedElement(builder, location,
                               captures.lookup(reads.getSource()), indices));
  }
  return mapping.lookupOrDefault(
      op.getScore()->front().getTerminator()->getOperand(0));
}

//===- KernelOperands.cpp - Operands of kernel ops, in messages -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOperands.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

using namespace mlir;
using namespace fmha;

using NamedValues = SmallVector<std::pair<StringLiteral, Value>>;

static NamedValues namesOf(AttentionOp op) {
  return {{"'query'", op.getQuery()},
          {"'key'", op.getKey()},
          {"'value'", op.getValue()},
          {"'key2'", op.getKey2()},
          {"'value2'", op.getValue2()},
          {"'kv_lens'", op.getKvLens()},
          {"'cu_seqlens_q'", op.getCuSeqlensQ()},
          {"'cu_seqlens_k'", op.getCuSeqlensK()},
          {"'source2_lens'", op.getSource2Lens()},
          {"'block_tables'", op.getBlockTables()},
          {"'topk'", op.getTopk()},
          {"'kv_num_blocks'", op.getKvNumBlocks()},
          {"'kv_indices'", op.getKvIndices()},
          {"'full_kv_num_blocks'", op.getFullKvNumBlocks()},
          {"'full_kv_indices'", op.getFullKvIndices()},
          {"'k_scale'", op.getKScale()},
          {"'v_scale'", op.getVScale()},
          {"'q_scale'", op.getQScale()},
          {"'key_new'", op.getKeyNew()},
          {"'value_new'", op.getValueNew()},
          {"'cos'", op.getCos()},
          {"'sin'", op.getSin()},
          {"'sink'", op.getSink()},
          {"'output'", op.getOutput()},
          {"'lse'", op.getLse()},
          {"'row_max'", op.getRowMax()},
          {"'row_sum'", op.getRowSum()}};
}

static NamedValues namesOf(MergeOp op) {
  return {{"'parts'", op.getParts()},    {"'maxima'", op.getMaxima()},
          {"'sums'", op.getSums()},      {"'sink'", op.getSink()},
          {"'output'", op.getOutput()},  {"'lse'", op.getLse()},
          {"'row_max'", op.getRowMax()}, {"'row_sum'", op.getRowSum()}};
}

static NamedValues namesOf(AppendOp op) {
  return {{"'key_new'", op.getKeyNew()},
          {"'value_new'", op.getValueNew()},
          {"'kv_lens'", op.getKvLens()},
          {"'block_tables'", op.getBlockTables()},
          {"'cos'", op.getCos()},
          {"'sin'", op.getSin()},
          {"'query'", op.getQuery()},
          {"'key_cache'", op.getKeyCache()},
          {"'value_cache'", op.getValueCache()},
          {"'query_out'", op.getQueryOut()}};
}

static NamedValues namesOf(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return namesOf(attention);
  if (auto append = dyn_cast<AppendOp>(op))
    return namesOf(append);
  return namesOf(cast<MergeOp>(op));
}

StringRef fmha::operandName(Operation *op, Value operand) {
  for (const auto &[name, value] : namesOf(op))
    if (value == operand)
      return name;
  return "a tensor that the region `score` reads";
}

LogicalResult fmha::expectMemrefs(Operation *op, StringRef pass) {
  WalkResult result = op->walk([&](Operation *inner) {
    if (inner != op && !isa<ReadOp>(inner))
      return WalkResult::advance();
    for (Value operand : inner->getOperands())
      if (isa<TensorType>(operand.getType())) {
        op->emitError() << "expected " << operandName(op, operand)
                        << " to be a memref, got " << operand.getType()
                        << "; run one-shot-bufferize before " << pass
                        << ", or the pipeline fmha-program-to-llvm";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===- AttentionTopk.cpp - Verify the keys of each query ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTopk.h"
#include "OperandRules.h"

using namespace mlir;
using namespace fmha;

static InFlightDiagnostic errorOf(AttentionOp op) {
  return op.emitError() << "attention.C34: ";
}

/// Checks that the op has nothing else that selects keys.
static LogicalResult verifyAlone(AttentionOp op) {
  const Excluded others[] = {
      {"mask", !op.getMask().isFull(),
       "leave the keys that it hides out of the lists"},
      {"cu_seqlens_q", bool(op.getCuSeqlensQ()),
       "leave it out, since each query has a list of its own"},
      {"cu_seqlens_k", bool(op.getCuSeqlensK()),
       "leave it out, and list rows of the packed keys"},
      {"source2", bool(op.getKey2()),
       "attend to each segment alone and combine them with fmha.merge"},
      {"append", bool(op.getKeyNew()),
       "append by fmha.append, or write the caches by other ops"}};
  return verifyWithout("topk", others, [&] { return errorOf(op); });
}

LogicalResult fmha::verifyTopk(AttentionOp op) {
  if (!op.getTopk())
    return success();
  if (failed(verifyAlone(op)))
    return failure();
  auto lists = cast<ShapedType>(op.getTopk().getType());
  if (lists.getRank() != 3 || !lists.getElementType().isSignlessInteger(32))
    return errorOf(op) << "expected topk to be [batch, q_len, n] of i32, got "
                       << lists;
  ShapedType query = op.getQuery().getType();
  for (auto [name, dimension] : {std::pair("batch", AttentionOp::Batch),
                                 {"length", AttentionOp::Length}}) {
    // attention.C2 reports queries of another rank.
    if (query.getRank() != 4)
      break;
    int64_t wanted = query.getDimSize(dimension);
    int64_t got = lists.getDimSize(dimension);
    if (!ShapedType::isDynamic(wanted) && !ShapedType::isDynamic(got) &&
        wanted != got)
      return errorOf(op) << "expected topk to have the " << name
                         << " of query, " << wanted << ", got " << got;
  }
  if (isDense(lists))
    return success();
  return errorOf(op) << "expected topk to be contiguous, got " << lists
                     << "; copy it to a dense tensor";
}

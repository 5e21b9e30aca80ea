//===- AttentionBlocks.cpp - Verify the lists of blocks -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"
#include "OperandRules.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

namespace {
/// One operand of `blocks`, and its rank.
struct ListOperand {
  StringRef name;
  Value value;
  int64_t rank;
  ShapedType type() const { return cast<ShapedType>(value.getType()); }
};
} // namespace

static InFlightDiagnostic errorOf(AttentionOp op) {
  return op.emitError() << "attention.C36: ";
}

static SmallVector<ListOperand> operandsOf(AttentionOp op) {
  return {{"kv_num_blocks", op.getKvNumBlocks(), 3},
          {"kv_indices", op.getKvIndices(), 4},
          {"full_kv_num_blocks", op.getFullKvNumBlocks(), 3},
          {"full_kv_indices", op.getFullKvIndices(), 4}};
}

/// Checks which operands and attributes come together.
static LogicalResult verifyPresence(AttentionOp op) {
  SmallVector<ListOperand> all = operandsOf(op);
  for (auto [counts, lists] : {std::pair(all[0], all[1]), {all[2], all[3]}})
    if (bool(counts.value) != bool(lists.value))
      return errorOf(op) << "expected both " << counts.name << " and "
                         << lists.name << ", or neither, got one of them";
  if (all[2].value && !all[0].value)
    return errorOf(op) << "expected kv_num_blocks and kv_indices with "
                          "full_kv_num_blocks, got none; pass counts of 0";
  bool hasBlocks = bool(all[0].value);
  for (auto [name, size] : {std::pair("block_rows", op.getBlockRows()),
                            {"block_keys", op.getBlockKeys()}}) {
    constexpr uint32_t most = 1u << 28;
    if (hasBlocks && !size)
      return errorOf(op) << "expected " << name
                         << " with lists of blocks, got none";
    if (size && !hasBlocks)
      return errorOf(op) << "expected no " << name
                         << " without lists of blocks, got " << *size
                         << "; remove it";
    if (size && (*size < 1 || *size > most))
      return errorOf(op) << "expected " << name << " to be from 1 to 2^28, got "
                         << int32_t(*size);
  }
  return success();
}

/// Checks that the op has no operand that excludes lists of blocks.
static LogicalResult verifyAlone(AttentionOp op) {
  const Excluded others[] = {
      {"cu_seqlens_q", bool(op.getCuSeqlensQ()),
       "mask sequences of one batch by blocks and the region score"},
      {"cu_seqlens_k", bool(op.getCuSeqlensK()),
       "mask sequences of one batch by blocks and the region score"},
      {"source2", bool(op.getKey2()),
       "attend to each segment alone and combine them with fmha.merge"},
      {"block_tables", bool(op.getBlockTables()),
       "gather the pages, or list keys by topk"},
      {"topk", bool(op.getTopk()), "leave one of them out"},
      {"append", bool(op.getKeyNew()),
       "append by fmha.append, or write the caches by other ops"}};
  return verifyWithout("blocks", others, [&] { return errorOf(op); });
}

static bool areEqual(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

static LogicalResult verifyType(AttentionOp op, const ListOperand &operand) {
  ShapedType type = operand.type();
  if (type.getRank() != operand.rank ||
      !type.getElementType().isSignlessInteger(32))
    return errorOf(op) << "expected " << operand.name
                       << " to be [batch or 1, q_heads or 1, row blocks"
                       << (operand.rank == 4 ? ", n] of i32, got "
                                             : "] of i32, got ")
                       << type;
  if (isDense(type))
    return success();
  return errorOf(op) << "expected " << operand.name << " to be contiguous, got "
                     << type << "; copy it to a dense tensor";
}

/// Checks the first three extents against those of the query and of the other
/// operands.
static LogicalResult verifyExtents(AttentionOp op, const ListOperand &first,
                                   const ListOperand &operand) {
  ShapedType query = op.getQuery().getType(), type = operand.type();
  // attention.C2 reports queries of another rank.
  if (query.getRank() != 4)
    return success();
  for (auto [name, own, ofQuery] : {std::tuple("batch", 0, AttentionOp::Batch),
                                    {"heads", 1, AttentionOp::Heads}})
    if (type.getDimSize(own) != 1 &&
        !areEqual(type.getDimSize(own), query.getDimSize(ofQuery)))
      return errorOf(op) << "expected " << operand.name << " to have the "
                         << name << " of query, " << query.getDimSize(ofQuery)
                         << ", or 1, got " << type.getDimSize(own);
  int64_t rows = query.getDimSize(AttentionOp::Length);
  if (!ShapedType::isDynamic(rows)) {
    int64_t blocks = llvm::divideCeil(rows, int64_t(*op.getBlockRows()));
    if (!areEqual(type.getDimSize(2), blocks))
      return errorOf(op) << "expected " << operand.name << " to have " << blocks
                         << " blocks of rows for " << rows << " queries, got "
                         << type.getDimSize(2);
  }
  for (int64_t n = 0; n < 3; ++n)
    if (!areEqual(type.getDimSize(n), first.type().getDimSize(n)))
      return errorOf(op) << "expected " << operand.name << " and " << first.name
                         << " to have the same extent in "
                         << "dimension " << n << ", got " << type << " and "
                         << first.type();
  return success();
}

LogicalResult fmha::verifyBlocks(AttentionOp op) {
  if (failed(verifyPresence(op)))
    return failure();
  if (!op.getKvNumBlocks())
    return success();
  if (failed(verifyAlone(op)))
    return failure();
  SmallVector<ListOperand> all = operandsOf(op);
  for (const ListOperand &operand : all)
    if (operand.value && (failed(verifyType(op, operand)) ||
                          failed(verifyExtents(op, all.front(), operand))))
      return failure();
  return success();
}

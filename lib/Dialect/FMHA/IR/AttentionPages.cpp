//===- AttentionPages.cpp - Verify paged KV caches ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionPages.h"
#include "OperandRules.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fmha;

bool fmha::isDense(ShapedType type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  // attention.C15 reports layouts that are not strided.
  if (!memref || failed(memref.getStridesAndOffset(strides, offset)))
    return true;
  int64_t wanted = 1;
  for (auto [size, stride] :
       llvm::reverse(llvm::zip_equal(memref.getShape(), strides))) {
    if (size == 1)
      continue;
    if (!ShapedType::isDynamic(stride) && !ShapedType::isDynamic(wanted) &&
        stride != wanted)
      return false;
    bool isUnknown = ShapedType::isDynamic(size) ||
                     ShapedType::isDynamic(wanted) ||
                     llvm::MulOverflow(wanted, size, wanted);
    wanted = isUnknown ? ShapedType::kDynamic : wanted;
  }
  return true;
}

/// Checks `block_tables` and the operands that it requires or excludes.
LogicalResult fmha::verifyPages(AttentionOp op) {
  if (!op.getBlockTables())
    return success();
  auto error = [&] { return op.emitError() << "attention.C30: "; };
  auto tables = cast<ShapedType>(op.getBlockTables().getType());
  if (tables.getRank() != 2 || !tables.getElementType().isSignlessInteger(32))
    return error() << "expected block_tables to be a matrix of i32, "
                      "[sequences, max_pages], got "
                   << tables;
  if (!op.getKvLens())
    return error() << "expected kv_lens with block_tables, the keys of each "
                      "sequence, got none";
  for (auto [name, value] : {std::pair("cu_seqlens_k", op.getCuSeqlensK()),
                             std::pair("source2", op.getKey2())})
    if (value)
      return error() << "expected block_tables without " << name
                     << ", got both; gather the pages into a dense tensor";
  constexpr int64_t largestPage = 256;
  for (auto [name, cache] :
       {std::pair(StringRef("key"), op.getKey()), {"value", op.getValue()}}) {
    auto type = cast<ShapedType>(cache.getType());
    if (type.getRank() < 4)
      continue;
    int64_t rows = type.getDimSize(AttentionOp::Length);
    if (ShapedType::isDynamic(rows) || rows > largestPage ||
        !llvm::isPowerOf2_64(uint64_t(rows)))
      return error() << "expected pages of a static number of keys, a power "
                        "of two of at most 256, in dimension 1 of "
                     << name << ", got " << type;
  }
  if (isDense(tables))
    return success();
  return error() << "expected block_tables to be contiguous, got " << tables
                 << "; copy it to a dense matrix";
}

LogicalResult fmha::verifyKeyVectors(AttentionOp op) {
  if (!op.hasKeyVectors())
    return success();
  auto error = [&] { return op.emitError() << "attention.C31: "; };
  ShapedType key = op.getKey().getType();
  if (op.getKey2())
    return error() << "expected a key of rank 4 with source2, got " << key
                   << "; attend to each segment alone and combine them with "
                      "fmha.merge";
  constexpr int64_t vectorBits = 128;
  int64_t wanted = vectorBits / key.getElementTypeBitWidth();
  if (key.getDimSize(4) != wanted)
    return error() << "expected vectors of 16 bytes, " << wanted
                   << " elements, in dimension 4 of key, got " << key;
  int64_t vectors = key.getDimSize(AttentionOp::HeadDim);
  int64_t dim = op.getHeadDim();
  if (vectors == dim / wanted && dim % wanted == 0)
    return success();
  return error() << "expected dimensions 3 and 4 of key to be the head dim of "
                    "query, "
                 << dim << ", in vectors of " << wanted << ", got " << key;
}

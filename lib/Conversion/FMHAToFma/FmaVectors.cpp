//===- FmaVectors.cpp - Vectors in registers of an fma kernel -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FmaVectors.h"

#include "fmha/Schedule/Model/FmaThreads.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace fmha;

Type FmaVectors::storageOf(Type element) {
  return isa<Float8E4M3FNType>(element) ? Type(b.getI8Type()) : element;
}

Value FmaVectors::loadVector(Value row, Value offset, Type element) {
  constexpr unsigned bytes = schedule::FmaThreads::vectorBytes;
  Type stored = storageOf(element);
  unsigned count = bytes * 8 / stored.getIntOrFloatBitWidth();
  return LLVM::LoadOp::create(b, vectorOf(stored, count),
                              elementAt(row, offset, stored), bytes);
}

Value FmaVectors::slice(Value vector, unsigned first, unsigned count) {
  if (cast<VectorType>(vector.getType()).getNumElements() == count)
    return vector;
  auto places = llvm::to_vector(llvm::seq<int64_t>(first, first + count));
  return vector::ShuffleOp::create(b, vector, vector, places);
}

/// Concatenates vectors of one size, a power of two of them.
static Value concatenate(ImplicitLocOpBuilder &b, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t n = 0; n < parts.size(); n += 2) {
      int64_t size = cast<VectorType>(parts[n].getType()).getNumElements();
      auto places = llvm::to_vector(llvm::seq<int64_t>(0, 2 * size));
      pairs.push_back(
          vector::ShuffleOp::create(b, parts[n], parts[n + 1], places));
    }
    parts = std::move(pairs);
  }
  return parts.front();
}

/// Emits cvt.rn.f16x2.e4m3x2, which is exact, for each pair of a vector.
static Value widenPairs(ImplicitLocOpBuilder &b, Value bytes) {
  auto of = [](int64_t count, Type type) {
    return VectorType::get({count}, type);
  };
  int64_t pairs = cast<VectorType>(bytes.getType()).getNumElements() / 2;
  Value words = LLVM::BitcastOp::create(b, of(pairs, b.getI16Type()), bytes);
  auto stored = TypeAttr::get(Float8E4M3FNType::get(b.getContext()));
  SmallVector<Value> parts;
  for (int64_t n = 0; n < pairs; ++n) {
    Value pair = LLVM::BitcastOp::create(
        b, of(2, b.getI8Type()), Value(vector::ExtractOp::create(b, words, n)));
    Value halves = NVVM::ConvertF8x2ToF16x2Op::create(
        b, of(2, b.getF16Type()), pair, b.getBoolAttr(false), stored);
    parts.push_back(arith::ExtFOp::create(b, of(2, b.getF32Type()), halves));
  }
  return concatenate(b, std::move(parts));
}

Value FmaVectors::widen(Value vector, Type element) {
  if (element.isF32())
    return vector;
  if (isa<Float8E4M3FNType>(element))
    return widenPairs(b, vector);
  unsigned count = cast<VectorType>(vector.getType()).getNumElements();
  return arith::ExtFOp::create(b, vectorOf(b.getF32Type(), count), vector);
}

Value FmaVectors::broadcast(Value number, unsigned count) {
  return vector::BroadcastOp::create(b, vectorOf(b.getF32Type(), count),
                                     number);
}

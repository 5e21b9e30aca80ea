//===- HostOps.cpp - Operations of the host program -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fmha;

Type TensorMapOp::getTensorMapType(Builder &builder) {
  return LLVM::LLVMArrayType::get(builder.getI64Type(), 16);
}

bool TensorMapOp::isTensorMapType(Type type) {
  Builder builder(type.getContext());
  return type == getTensorMapType(builder);
}

LogicalResult TensorMapOp::verify() {
  size_t rank = getSizes().size();
  if (rank < 1 || rank > maxRank || getStrides().size() != rank - 1 ||
      getBox().size() != rank)
    return emitError("tensor_map.E1: expected 1 to ")
           << maxRank
           << " sizes, one stride fewer and as many box extents, got " << rank
           << " sizes, " << getStrides().size() << " strides and "
           << getBox().size() << " box extents";
  for (int32_t extent : getBox())
    if (extent < 1 || extent > 256)
      return emitError(
                 "tensor_map.E2: expected box extents from 1 to 256, got ")
             << extent;
  Type element = getElement();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return emitError("tensor_map.E3: expected elements f16, bf16 or f32, got ")
           << element;
  if (getSwizzle() > 3)
    return emitError("tensor_map.E4: expected a swizzle from 0 to 3, got ")
           << getSwizzle();
  return success();
}

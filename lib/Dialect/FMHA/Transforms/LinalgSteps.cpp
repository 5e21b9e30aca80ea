//===- LinalgSteps.cpp - Building blocks of decompositions ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgSteps.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fmha;

Value fmha::tensorOf(OpBuilder &b, Location location, Value operand) {
  if (!operand || !isa<MemRefType>(operand.getType()))
    return operand;
  Type type = memref::getTensorTypeFromMemRefType(operand.getType());
  return bufferization::ToTensorOp::create(b, location, type, operand,
                                           /*restrict=*/true);
}

Value fmha::filledTensor(OpBuilder &b, Location location, Value element,
                         ArrayRef<OpFoldResult> sizes) {
  Value empty = tensor::EmptyOp::create(b, location, sizes, element.getType());
  return linalg::FillOp::create(b, location, element, empty).getResult(0);
}

Value fmha::genericOver(OpBuilder &b, Location location, unsigned parallelLoops,
                        unsigned reductionLoops, ArrayRef<Access> inputs,
                        const Access &destination, Body body) {
  unsigned loops = parallelLoops + reductionLoops;
  SmallVector<Value> inputValues;
  SmallVector<AffineMap> maps;
  auto addMap = [&](const Indices &indices) {
    maps.push_back(
        AffineMap::getMultiDimMapWithTargets(loops, indices, b.getContext()));
  };
  for (const auto &[input, indices] : inputs) {
    inputValues.push_back(input);
    addMap(indices);
  }
  addMap(destination.second);
  SmallVector<utils::IteratorType> iterators(parallelLoops,
                                             utils::IteratorType::parallel);
  iterators.append(reductionLoops, utils::IteratorType::reduction);
  auto build = [&](OpBuilder &builder, Location at, ValueRange elements) {
    linalg::YieldOp::create(builder, at, body(builder, at, elements));
  };
  return linalg::GenericOp::create(b, location, destination.first.getType(),
                                   inputValues, destination.first, maps,
                                   iterators, build)
      .getResult(0);
}

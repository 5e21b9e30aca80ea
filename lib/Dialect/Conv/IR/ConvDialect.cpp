//===- ConvDialect.cpp - The conv dialect -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Conv/IR/Conv.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace fmha::conv;

#include "fmha/Dialect/Conv/IR/ConvDialect.cpp.inc"

#define GET_OP_CLASSES
#include "fmha/Dialect/Conv/IR/ConvOps.cpp.inc"

void ConvDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "fmha/Dialect/Conv/IR/ConvOps.cpp.inc"
      >();
}

ConvPlan ShiftReuseOp::getPlan() {
  MemRefType input = getInput().getType(), filter = getFilter().getType();
  ConvPlan plan;
  plan.n = input.getDimSize(0);
  plan.h = input.getDimSize(1);
  plan.w = input.getDimSize(2);
  plan.c = input.getDimSize(3);
  plan.k = filter.getDimSize(0);
  plan.r = filter.getDimSize(1);
  plan.s = filter.getDimSize(2);
  plan.strideH = getStrides()[0];
  plan.strideW = getStrides()[1];
  plan.dilationH = getDilations()[0];
  plan.dilationW = getDilations()[1];
  plan.padH = getPads()[0];
  plan.padW = getPads()[1];
  plan.elementBytes = input.getElementTypeBitWidth() / 8;
  plan.reuse = getReuse();
  plan.ashift = getAshift();
  return plan;
}

static bool isDense(MemRefType type) {
  return type.hasStaticShape() && type.getNumElements() > 0 &&
         type.getLayout().isIdentity();
}

LogicalResult ShiftReuseOp::verify() {
  MemRefType input = getInput().getType(), filter = getFilter().getType(),
             output = getOutput().getType();
  for (MemRefType type : {input, filter, output})
    if (!isDense(type))
      return emitOpError() << "expected memrefs of static extents of 1 or more "
                              "without a layout, got "
                           << type;
  if (input.getElementType() != filter.getElementType())
    return emitOpError() << "expected one element type of input and filter, "
                            "got "
                         << input.getElementType() << " and "
                         << filter.getElementType();
  if (input.getDimSize(3) != filter.getDimSize(3))
    return emitOpError() << "expected as many channels in the filter as in the "
                            "input, "
                         << input.getDimSize(3) << ", got "
                         << filter.getDimSize(3);
  for (ArrayRef<int64_t> pair : {getStrides(), getDilations(), getPads()})
    if (pair.size() != 2)
      return emitOpError() << "expected two strides, dilations and pads, of "
                              "height and width, got "
                           << pair.size();
  ConvPlan plan = getPlan();
  if (std::optional<std::string> error = plan.check())
    return emitOpError() << *error;
  int64_t expected[] = {plan.n, plan.p(), plan.q(), plan.k};
  if (output.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "expected an output of " << plan.n << " x "
                         << plan.p() << " x " << plan.q() << " x " << plan.k
                         << ", got " << output;
  return success();
}

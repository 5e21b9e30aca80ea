//===- DecomposeTypes.cpp - Elements in f32, and scales -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

using namespace mlir;
using namespace fmha;

/// Returns a number of f8E4M3FN in f32 by its bits, since upstream lowers
/// arith.extf of this type for no CPU. As bits of f32, seven bits of magnitude
/// at the top of the mantissa are 2^-120 times the number, subnormal or not:
///
///   m = bits & 0x7f; m == 0x7f ? NaN : bitcast((bits & 0x80) << 24 | m << 20)
///                                      * 2^120
static Value extendE4M3(ImplicitLocOpBuilder &b, Value element) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  };
  auto real = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  };
  Value byte = arith::BitcastOp::create(b, b.getI8Type(), element);
  Value bits = arith::ExtUIOp::create(b, b.getI32Type(), byte);
  Value magnitude = arith::AndIOp::create(b, bits, number(0x7f));
  Value sign = arith::ShLIOp::create(
      b, arith::AndIOp::create(b, bits, number(0x80)), number(24));
  Value all = arith::OrIOp::create(
      b, sign, arith::ShLIOp::create(b, magnitude, number(20)));
  Value small = arith::BitcastOp::create(b, b.getF32Type(), all);
  Value finite = arith::MulFOp::create(b, small, real(0x1p120));
  Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude,
                                      number(0x7f));
  Value nan = real(std::numeric_limits<double>::quiet_NaN());
  return arith::SelectOp::create(b, isNan, nan, finite);
}

Value DecompositionSteps::extend(OpBuilder &builder, Location location,
                                 Value element) {
  if (element.getType().isF32())
    return element;
  if (isa<Float8E4M3FNType>(element.getType())) {
    ImplicitLocOpBuilder b(location, builder);
    return extendE4M3(b, element);
  }
  return arith::ExtFOp::create(builder, location, builder.getF32Type(),
                               element);
}

Value DecompositionSteps::scaled(OpBuilder &builder, Location location,
                                 Value value, Value scales, Value place) {
  Value scale = tensor::ExtractOp::create(builder, location, scales, place);
  return arith::MulFOp::create(builder, location, value, scale);
}

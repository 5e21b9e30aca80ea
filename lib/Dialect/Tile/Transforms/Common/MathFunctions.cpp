//===- MathFunctions.cpp - Functions in terms of others -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using Is = arith::CmpFPredicate;

static constexpr float infinity = std::numeric_limits<float>::infinity();

namespace {

/// Builds the f32 arithmetic of functions.
class FloatBuilder {
public:
  explicit FloatBuilder(Operation *op) : b(op->getLoc(), op) {}

  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  Value no() { return arith::ConstantOp::create(b, b.getBoolAttr(false)); }
  Value whole(Type type, int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }
  Value fromWhole(Value x) {
    return arith::SIToFPOp::create(b, b.getF32Type(), x);
  }
  /// Creates an op of the dialects arith and math whose result has the type of
  /// its operands.
  template <typename OpTy> Value make(Value x) { return OpTy::create(b, x); }
  template <typename OpTy> Value make(Value x, Value y) {
    return OpTy::create(b, x, y);
  }
  /// Returns x·y + z, rounded once.
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value absolute(Value x) { return make<math::AbsFOp>(x); }
  Value withSign(Value x, Value sign) {
    return make<math::CopySignOp>(x, sign);
  }
  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value multiply(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value divide(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  Value between(Value x, Value least, Value most) {
    return make<arith::MaximumFOp>(make<arith::MinimumFOp>(x, most), least);
  }
  Value compare(Is how, Value x, Value y) {
    return arith::CmpFOp::create(b, how, x, y);
  }
  Value differs(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, y);
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

private:
  ImplicitLocOpBuilder b;
};

} // namespace

//===----------------------------------------------------------------------===//
// Angles, logarithms and roots
//===----------------------------------------------------------------------===//

/// Returns the function of the argument without whole turns. Upstream subtracts
/// these in one step; here 2π is a sum of three f32, whose products with n an
/// FMA does not round. Above 2^48 the remainder is not an angle any more.
///   sin x -> sin(x - n·2π), n = round(x / 2π)
template <typename FunctionOp> static Value turned(FloatBuilder &b, Value x) {
  constexpr double turn = 2 * llvm::numbers::pi;
  Value turns = b.make<math::RoundEvenOp>(b.multiply(x, b.number(1 / turn)));
  double left = turn;
  for (unsigned step = 0; step < 3; ++step) {
    x = b.fma(turns, b.number(-float(left)), x);
    left -= float(left);
  }
  return b.between(b.make<FunctionOp>(x), b.number(-1), b.number(1));
}

/// sin x / cos x
static Value tangent(FloatBuilder &b, Value x) {
  return b.divide(turned<math::SinOp>(b, x), turned<math::CosOp>(b, x));
}

/// log2(x)·log10 2
static Value logarithm10(FloatBuilder &b, Value x) {
  constexpr double log10Of2 = llvm::numbers::ln2 / llvm::numbers::ln10;
  return b.multiply(b.make<math::Log2Op>(x), b.number(log10Of2));
}

/// sign(x)·log(|x| + sqrt(x² + 1)): upstream's log(x + ...) cancels for
/// negative x, and its square overflows for large x.
static Value inverseSinh(FloatBuilder &b, Value x) {
  constexpr double oneIsLost = 1 << 13;
  Value size = b.absolute(x);
  Value root = b.make<math::SqrtOp>(b.fma(size, size, b.number(1)));
  root = b.choose(b.compare(Is::OGT, size, b.number(oneIsLost)), size, root);
  Value log = b.make<math::LogOp>(b.add(size, root));
  return b.withSign(log, x);
}

/// log(x + sqrt(x - 1)·sqrt(x + 1)): NaN below 1, and without a square, which
/// would overflow.
static Value inverseCosh(FloatBuilder &b, Value x) {
  Value below = b.make<math::SqrtOp>(b.add(x, b.number(-1)));
  Value above = b.make<math::SqrtOp>(b.add(x, b.number(1)));
  return b.make<math::LogOp>(b.fma(below, above, x));
}

/// atan(|y| / |x|) or π minus that, with the sign of y, also for two zeros and
/// two infinities, whose quotient is NaN.
static Value angle(FloatBuilder &b, Value y, Value x) {
  Value rise = b.absolute(y), run = b.absolute(x), one = b.number(1);
  Value ofEqual =
      b.choose(b.compare(Is::OEQ, rise, b.number(0)), b.number(0), one);
  Value slope =
      b.choose(b.compare(Is::OEQ, rise, run), ofEqual, b.divide(rise, run));
  Value right = b.make<math::AtanOp>(slope);
  Value left = b.make<arith::SubFOp>(b.number(llvm::numbers::pi), right);
  Value isLeft = b.compare(Is::OLT, b.withSign(one, x), b.number(0));
  return b.withSign(b.choose(isLeft, left, right), y);
}

/// Upstream's expansion divides infinity by infinity.
static Value cubeRoot(FloatBuilder &b, Value x) {
  Value isInfinite = b.compare(Is::OEQ, b.absolute(x), b.number(infinity));
  return b.choose(isInfinite, x, b.make<math::CbrtOp>(x));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// With more factors the error of a product exceeds that of logarithms.
static constexpr float mostFactors = 64;

/// x·x·..., or its reciprocal: upstream's expansion computes 1 / 0 for minus
/// infinity.
static Value product(FloatBuilder &b, Value x, int factors) {
  Type i32 = IntegerType::get(x.getContext(), 32);
  Value count = b.whole(i32, std::abs(factors));
  Value result = b.make<math::FPowIOp>(x, count);
  return factors < 0 ? b.divide(b.number(1), result) : result;
}

/// |x|^y, which is 1 if |x| = 1 or y = 0, whatever the other one is.
static Value powerOfSize(FloatBuilder &b, Value x, Value y) {
  Value size = b.absolute(x), one = b.number(1);
  Value isOne = b.make<arith::OrIOp>(b.compare(Is::OEQ, size, one),
                                     b.compare(Is::OEQ, y, b.number(0)));
  return b.choose(isOne, one, b.make<math::PowFOp>(size, y));
}

static Value isEqualToFloor(FloatBuilder &b, Value x) {
  return b.compare(Is::OEQ, b.make<math::FloorOp>(x), x);
}

/// |x|^y, with the sign of x if y is odd, and NaN if x is negative and y is not
/// an integer.
static Value powerOfAny(FloatBuilder &b, Value x, Value y) {
  Value result = powerOfSize(b, x, y);
  Value half = b.multiply(y, b.number(0.5)), isWhole = isEqualToFloor(b, y);
  Value isEven = isEqualToFloor(b, half);
  result = b.choose(isEven, result,
                    b.choose(isWhole, b.withSign(result, x), result));
  Value isNegative = b.make<arith::AndIOp>(
      b.compare(Is::OLT, x, b.number(0)),
      b.compare(Is::ONE, b.absolute(x), b.number(infinity)));
  Value isNone = b.choose(isWhole, b.no(), isNegative);
  return b.choose(isNone, b.number(std::numeric_limits<float>::quiet_NaN()),
                  result);
}

/// Upstream's expansion is exp(y·log x), which is NaN for negative x.
static Value power(FloatBuilder &b, Value x, Value y) {
  APFloat known(0.0f);
  if (!matchPattern(y, m_ConstantFloat(&known)))
    return powerOfAny(b, x, y);
  float value = known.convertToFloat();
  bool isWhole = value == std::nearbyint(value);
  if (isWhole && std::abs(value) <= mostFactors)
    return product(b, x, int(value));
  if (std::abs(value) == 0.5f)
    return {};
  return powerOfAny(b, x, y);
}

static Value wholePower(FloatBuilder &b, Value x, Value y) {
  APInt known;
  bool isKnown = matchPattern(y, m_ConstantInt(&known));
  if (isKnown && known.abs().ule(uint64_t(mostFactors)))
    return product(b, x, int(known.getSExtValue()));
  Value exponent = b.fromWhole(y);
  // Every f32 above 2^24 is even, so the parity comes from the integer.
  Value bit = b.make<arith::AndIOp>(y, b.whole(y.getType(), 1));
  Value isOdd = b.differs(bit, b.whole(y.getType(), 0));
  Value result = powerOfSize(b, x, exponent);
  return b.choose(isOdd, b.withSign(result, x), result);
}

//===----------------------------------------------------------------------===//
// Kinds of numbers
//===----------------------------------------------------------------------===//

static Value isNaN(FloatBuilder &b, Value x) {
  return b.compare(Is::UNO, x, x);
}

static Value isInfinite(FloatBuilder &b, Value x) {
  return b.compare(Is::OEQ, b.absolute(x), b.number(infinity));
}

static Value isFinite(FloatBuilder &b, Value x) {
  return b.compare(Is::OLT, b.absolute(x), b.number(infinity));
}

static Value isNormal(FloatBuilder &b, Value x) {
  Value size = b.absolute(x);
  return b.make<arith::AndIOp>(
      b.compare(Is::OGE, size, b.number(std::numeric_limits<float>::min())),
      b.compare(Is::OLT, size, b.number(infinity)));
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

/// Returns the value that replaces an op; null if the op may stay.
using Emitter = Value (*)(FloatBuilder &b, Operation *op);

template <Value (*emit)(FloatBuilder &, Value)>
static Value ofOne(FloatBuilder &b, Operation *op) {
  return emit(b, op->getOperand(0));
}

template <Value (*emit)(FloatBuilder &, Value, Value)>
static Value ofTwo(FloatBuilder &b, Operation *op) {
  return emit(b, op->getOperand(0), op->getOperand(1));
}

static Value clamped(FloatBuilder &b, Operation *op) {
  auto clamp = cast<math::ClampFOp>(op);
  return b.between(clamp.getValue(), clamp.getMin(), clamp.getMax());
}

namespace {
struct Function {
  StringLiteral name;
  Emitter emit;
};
} // namespace

static constexpr Function functions[] = {
    {math::SinOp::getOperationName(), ofOne<turned<math::SinOp>>},
    {math::CosOp::getOperationName(), ofOne<turned<math::CosOp>>},
    {math::TanOp::getOperationName(), ofOne<tangent>},
    {math::Log10Op::getOperationName(), ofOne<logarithm10>},
    {math::AsinhOp::getOperationName(), ofOne<inverseSinh>},
    {math::AcoshOp::getOperationName(), ofOne<inverseCosh>},
    {math::Atan2Op::getOperationName(), ofTwo<angle>},
    {math::CbrtOp::getOperationName(), ofOne<cubeRoot>},
    {math::PowFOp::getOperationName(), ofTwo<power>},
    {math::FPowIOp::getOperationName(), ofTwo<wholePower>},
    {math::ClampFOp::getOperationName(), clamped},
    {math::IsNaNOp::getOperationName(), ofOne<isNaN>},
    {math::IsInfOp::getOperationName(), ofOne<isInfinite>},
    {math::IsFiniteOp::getOperationName(), ofOne<isFinite>},
    {math::IsNormalOp::getOperationName(), ofOne<isNormal>},
};

Value fmha::tile::rewriteFunction(Operation *op) {
  StringRef name = op->getName().getStringRef();
  const auto *found = llvm::find_if(
      functions, [&](const Function &one) { return one.name == name; });
  if (found == std::end(functions))
    return {};
  FloatBuilder b(op);
  return found->emit(b, op);
}

//===- ExpandMath.cpp - Functions that PTX lacks --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is first made of others, where upstream's way fails for some
// arguments, and what is left becomes upstream's polynomials. Logarithms inside
// of those are polynomials, too: they are divided by or multiplied with large
// numbers, and lg2.approx has no relative accuracy near 1. Logarithms of the
// region itself stay.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace fmha::tile {
#define GEN_PASS_DEF_TILEEXPANDMATH
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha::tile;

/// What upstream makes of other functions, and by polynomials.
static constexpr StringLiteral expanded[] = {"atanh", "cosh", "fpowi", "powf",
                                             "sinh"};
static constexpr StringLiteral approximated[] = {
    "math.acos", "math.asin", "math.atan",  "math.cbrt",  "math.cos",
    "math.erf",  "math.erfc", "math.expm1", "math.log1p", "math.sin"};

/// LLVM makes sin.approx and cos.approx of those that may be approximate.
static bool isApproximate(Operation *op) {
  auto function = dyn_cast<arith::ArithFastMathInterface>(op);
  return isa<math::SinOp, math::CosOp>(op) &&
         bitEnumContainsAny(function.getFastMathFlagsAttr().getValue(),
                            arith::FastMathFlags::afn);
}

static bool isUpstreams(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return !isApproximate(op) &&
         (llvm::is_contained(approximated, name) ||
          llvm::is_contained(expanded, op->getName().stripDialect()));
}

namespace {

/// Writes functions of f32 numbers in terms of others.
class Functions {
public:
  explicit Functions(Operation *op) : b(op->getLoc(), op) {}

  /// What stands for `op`, or nothing where it may stay.
  Value rewrite(Operation *op) {
    if (isApproximate(op))
      return {};
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case(
            [&](math::SinOp f) { return turned<math::SinOp>(f.getOperand()); })
        .Case(
            [&](math::CosOp f) { return turned<math::CosOp>(f.getOperand()); })
        .Case([&](math::TanOp f) { return tangent(f.getOperand()); })
        .Case([&](math::Log10Op f) { return logarithm10(f.getOperand()); })
        .Case([&](math::AsinhOp f) { return inverseSinh(f.getOperand()); })
        .Case([&](math::AcoshOp f) { return inverseCosh(f.getOperand()); })
        .Case([&](math::Atan2Op f) { return angle(f.getLhs(), f.getRhs()); })
        .Case([&](math::CbrtOp f) { return cubeRoot(f.getOperand()); })
        .Case([&](math::PowFOp f) { return power(f.getLhs(), f.getRhs()); })
        .Case([&](math::FPowIOp f) { return wholePower(f); })
        .Case([&](math::ClampFOp f) {
          return between(f.getValue(), f.getMin(), f.getMax());
        })
        .Case([&](math::IsNaNOp f) { return isNaN(f.getOperand()); })
        .Case([&](math::IsInfOp f) {
          return compare(Is::OEQ, absolute(f.getOperand()), number(infinity));
        })
        .Case([&](math::IsFiniteOp f) {
          return compare(Is::OLT, absolute(f.getOperand()), number(infinity));
        })
        .Case([&](math::IsNormalOp f) { return isNormal(f.getOperand()); })
        .Default(Value());
  }

private:
  using Is = arith::CmpFPredicate;
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  /// Those of the argument without whole turns, which upstream would take off
  /// in one step: n·2π as a sum of three f32, whose products with n an FMA does
  /// not round. Beyond 2^48 what is left is no angle any more.
  ///   sin x -> sin(x - n·2π), n = round(x / 2π)
  template <typename FunctionOp> Value turned(Value x) {
    constexpr double turn = 2 * llvm::numbers::pi;
    Value turns = math::RoundEvenOp::create(b, multiply(x, number(1 / turn)));
    double left = turn;
    for (unsigned step = 0; step < 3; ++step) {
      x = math::FmaOp::create(b, turns, number(-float(left)), x);
      left -= float(left);
    }
    return between(FunctionOp::create(b, x), number(-1), number(1));
  }

  /// sin x / cos x
  Value tangent(Value x) {
    return divide(turned<math::SinOp>(x), turned<math::CosOp>(x));
  }

  /// log2(x)·log10 2
  Value logarithm10(Value x) {
    constexpr double log10Of2 = llvm::numbers::ln2 / llvm::numbers::ln10;
    return multiply(math::Log2Op::create(b, x), number(log10Of2));
  }

  /// sign(x)·log(|x| + sqrt(x² + 1)): upstream's log(x + ...) has no digits for
  /// negative x, and its square is infinite for large ones.
  Value inverseSinh(Value x) {
    constexpr double oneIsLost = 1 << 13;
    Value size = absolute(x);
    Value root =
        math::SqrtOp::create(b, math::FmaOp::create(b, size, size, number(1)));
    root = choose(compare(Is::OGT, size, number(oneIsLost)), size, root);
    Value log = math::LogOp::create(b, add(size, root));
    return withSign(log, x);
  }

  /// log(x + sqrt(x - 1)·sqrt(x + 1)): no number below 1, and no square.
  Value inverseCosh(Value x) {
    Value below = math::SqrtOp::create(b, add(x, number(-1)));
    Value above = math::SqrtOp::create(b, add(x, number(1)));
    return math::LogOp::create(b, math::FmaOp::create(b, below, above, x));
  }

  /// atan(|y| / |x|) or π minus that, with the sign of y: of two zeros and of
  /// two infinities, whose quotient is none, as well.
  Value angle(Value y, Value x) {
    Value rise = absolute(y), run = absolute(x), one = number(1);
    Value ofEqual = choose(compare(Is::OEQ, rise, number(0)), number(0), one);
    Value slope =
        choose(compare(Is::OEQ, rise, run), ofEqual, divide(rise, run));
    Value right = math::AtanOp::create(b, slope);
    Value left = arith::SubFOp::create(b, number(llvm::numbers::pi), right);
    Value isLeft = compare(Is::OLT, withSign(one, x), number(0));
    return withSign(choose(isLeft, left, right), y);
  }

  /// Upstream divides two infinities.
  Value cubeRoot(Value x) {
    Value isInfinite = compare(Is::OEQ, absolute(x), number(infinity));
    return choose(isInfinite, x, math::CbrtOp::create(b, x));
  }

  //===--------------------------------------------------------------------===//
  // Powers
  //===--------------------------------------------------------------------===//

  /// Above this many factors the errors of products exceed those of logarithms.
  static constexpr float mostFactors = 64;

  /// Upstream's way is exp(y·log x), which is no number for negative x.
  Value power(Value x, Value y) {
    APFloat known(0.0f);
    if (!matchPattern(y, m_ConstantFloat(&known)))
      return powerOfAny(x, y);
    float value = known.convertToFloat();
    bool isWhole = value == std::nearbyint(value);
    if (isWhole && std::abs(value) <= mostFactors)
      return product(x, int(value));
    if (std::abs(value) == 0.5f)
      return {};
    return powerOfAny(x, y);
  }

  /// x·x·..., or one over that: upstream takes 1 / 0 for minus infinity.
  Value product(Value x, int factors) {
    Value count =
        arith::ConstantOp::create(b, b.getI32IntegerAttr(std::abs(factors)));
    Value result = math::FPowIOp::create(b, x, count);
    return factors < 0 ? divide(number(1), result) : result;
  }

  Value wholePower(math::FPowIOp op) {
    APInt known;
    bool isKnown = matchPattern(op.getRhs(), m_ConstantInt(&known));
    if (isKnown && known.abs().ule(uint64_t(mostFactors)))
      return product(op.getLhs(), int(known.getSExtValue()));
    Value exponent = arith::SIToFPOp::create(b, b.getF32Type(), op.getRhs());
    // Beyond 2^24 an f32 no longer tells odd from even.
    Type type = op.getRhs().getType();
    auto whole = [&](int64_t value) {
      return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
    };
    Value bit = arith::AndIOp::create(b, op.getRhs(), whole(1));
    Value isOdd =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, whole(0));
    Value result = powerOfSize(op.getLhs(), exponent);
    return choose(isOdd, withSign(result, op.getLhs()), result);
  }

  /// |x|^y; 1 of |x| = 1 and y = 0, whatever the other is.
  Value powerOfSize(Value x, Value y) {
    Value size = absolute(x), one = number(1);
    Value isOne =
        either(compare(Is::OEQ, size, one), compare(Is::OEQ, y, number(0)));
    return choose(isOne, one, math::PowFOp::create(b, size, y));
  }

  /// |x|^y, with the sign of x where y is odd, and no number for negative x
  /// where y is not whole.
  Value powerOfAny(Value x, Value y) {
    Value result = powerOfSize(x, y);
    Value half = multiply(y, number(0.5)), isWhole = isEqualToFloor(y);
    Value isEven = isEqualToFloor(half);
    result =
        choose(isEven, result, choose(isWhole, withSign(result, x), result));
    Value isNegative = both(compare(Is::OLT, x, number(0)),
                            compare(Is::ONE, absolute(x), number(infinity)));
    Value isNone = choose(isWhole, no(), isNegative);
    return choose(isNone, number(std::numeric_limits<float>::quiet_NaN()),
                  result);
  }

  Value isEqualToFloor(Value x) {
    return compare(Is::OEQ, math::FloorOp::create(b, x), x);
  }

  //===--------------------------------------------------------------------===//
  // Kinds of numbers
  //===--------------------------------------------------------------------===//

  Value isNaN(Value x) { return compare(Is::UNO, x, x); }

  Value isNormal(Value x) {
    Value size = absolute(x);
    return both(
        compare(Is::OGE, size, number(std::numeric_limits<float>::min())),
        compare(Is::OLT, size, number(infinity)));
  }

  //===--------------------------------------------------------------------===//
  // Words
  //===--------------------------------------------------------------------===//

  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  Value no() { return arith::ConstantOp::create(b, b.getBoolAttr(false)); }
  Value absolute(Value x) { return math::AbsFOp::create(b, x); }
  Value withSign(Value x, Value sign) {
    return math::CopySignOp::create(b, x, sign);
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value divide(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value between(Value x, Value least, Value most) {
    return arith::MaximumFOp::create(b, arith::MinimumFOp::create(b, x, most),
                                     least);
  }
  Value compare(Is how, Value x, Value y) {
    return arith::CmpFOp::create(b, how, x, y);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

  ImplicitLocOpBuilder b;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// math.sin %x : f16  ->  extf; math.sin : f32; truncf
static Operation *widen(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type result = op->getResult(0).getType();
  OperationState state(op->getLoc(), op->getName(), ValueRange(),
                       isNarrow(result) ? b.getF32Type() : result,
                       op->getAttrs());
  for (Value operand : op->getOperands())
    state.operands.push_back(
        isNarrow(operand.getType())
            ? Value(arith::ExtFOp::create(b, b.getF32Type(), operand))
            : operand);
  Operation *wide = b.create(state);
  Value made = wide->getResult(0);
  if (isNarrow(result))
    made = arith::TruncFOp::create(b, result, made);
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
  return wide;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct TileExpandMathPass
    : public fmha::tile::impl::TileExpandMathBase<TileExpandMathPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    SmallVector<StringRef> names(std::begin(expanded), std::end(expanded));
    math::populateExpansionPatterns(set, names);
    populateMathPolynomialApproximationPatterns(set, [](StringRef name) {
      return name == "math.log" || llvm::is_contained(approximated, name);
    });
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](ModifyOp op) {
      return failed(check(op)) || failed(expand(op)) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  static SmallVector<Operation *> functionsOf(ModifyOp op) {
    SmallVector<Operation *> functions;
    for (Operation &inner : op.getBody().front())
      if (isa_and_nonnull<math::MathDialect>(inner.getDialect()))
        functions.push_back(&inner);
    return functions;
  }

  LogicalResult check(ModifyOp op);
  LogicalResult expand(ModifyOp op);
  LogicalResult applyUpstream(ModifyOp op);

  FrozenRewritePatternSet patterns;
};

} // namespace

static bool isExpandable(Type type) {
  return type.isF32() || isNarrow(type) || isa<IntegerType>(type);
}

/// Before anything is written.
LogicalResult TileExpandMathPass::check(ModifyOp op) {
  for (Operation *inner : functionsOf(op)) {
    auto other = llvm::find_if_not(inner->getOperandTypes(), isExpandable);
    if (other != inner->getOperandTypes().end())
      return inner->emitError()
             << "expected functions of f32, f16, bf16 or integers, got "
             << inner->getName() << " of " << *other
             << "; convert its arguments to one of those";
    if (isa<math::IPowIOp>(inner))
      return inner->emitError()
             << "expected functions that targets compute, got "
             << inner->getName() << "; write a power of integers as products";
  }
  return success();
}

LogicalResult TileExpandMathPass::expand(ModifyOp op) {
  for (Operation *inner : functionsOf(op)) {
    if (llvm::any_of(inner->getOperandTypes(), isNarrow))
      inner = widen(inner);
    if (Value made = Functions(inner).rewrite(inner)) {
      inner->getResult(0).replaceAllUsesWith(made);
      inner->erase();
    }
  }
  return applyUpstream(op);
}

/// Quotients inside of upstream's functions become those of the reciprocal
/// unit, two ulp off: exact ones have a way of their own for rare factors,
/// which takes registers, and no factor here is one, but for those of log1p
/// beyond 2^126.
LogicalResult TileExpandMathPass::applyUpstream(ModifyOp op) {
  Block &body = op.getBody().front();
  auto quotients = llvm::to_vector(body.getOps<arith::DivFOp>());
  DenseSet<Operation *> exact(quotients.begin(), quotients.end());
  SmallVector<Operation *> left =
      llvm::to_vector(llvm::make_filter_range(functionsOf(op), isUpstreams));
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  if (failed(applyOpPatternsGreedily(left, patterns, config)))
    return failure();
  for (auto quotient : body.getOps<arith::DivFOp>())
    if (!exact.contains(quotient))
      quotient.setFastmath(arith::FastMathFlags::afn);
  return success();
}

//===- ExpandMath.cpp - Expand functions that PTX does not have -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is first expressed by others if upstream's expansion fails for
// some arguments; then the remaining functions become upstream's polynomials.
// Logarithms inside of those are polynomials, too, because they are divisors or
// factors of large numbers, and lg2.approx has no relative accuracy near 1.
// Logarithms of the region itself are kept.
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"
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
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEEXPANDMATH
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha::tile;

/// Functions that upstream expresses by others, and those that it approximates
/// by polynomials.
static constexpr StringLiteral expanded[] = {"atanh", "cosh", "fpowi", "powf",
                                             "sinh"};
static constexpr StringLiteral approximated[] = {
    "math.acos", "math.asin", "math.atan",  "math.cbrt",  "math.cos",
    "math.erf",  "math.erfc", "math.expm1", "math.log1p", "math.sin"};

/// Whether LLVM lowers `op` to sin.approx or cos.approx.
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

/// Checks the functions of `op` before any of them is rewritten.
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
    if (isApproximate(inner))
      continue;
    if (Value made = rewriteFunction(inner)) {
      inner->getResult(0).replaceAllUsesWith(made);
      inner->erase();
    }
  }
  return applyUpstream(op);
}

/// Quotients inside of upstream's functions become approximate ones, with an
/// error of 2 ulp. An exact division has a slow path for rare divisors, which
/// takes registers; none of the divisors here needs it, except in log1p of more
/// than 2^126.
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

//===- MathToLibm.cpp - Functions of math on the CPU ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Transforms/Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fmha {
#define GEN_PASS_DEF_FMHAMATHTOLIBM
#include "fmha/Dialect/FMHA/Transforms/Passes.h.inc"
} // namespace fmha

using namespace mlir;

/// Returns |x|, and a constant of x's type.
static Value sizeOf(PatternRewriter &rewriter, Location location, Value x) {
  return math::AbsFOp::create(rewriter, location, x);
}
static Value numberLike(PatternRewriter &rewriter, Location location, Value x,
                        bool infinite) {
  auto type = cast<FloatType>(x.getType());
  const llvm::fltSemantics &kind = type.getFloatSemantics();
  return arith::ConstantOp::create(
      rewriter, location,
      FloatAttr::get(type, infinite ? APFloat::getInf(kind)
                                    : APFloat::getSmallestNormalized(kind)));
}

/// isinf x -> |x| == inf
static LogicalResult expandIsInf(math::IsInfOp op, PatternRewriter &rewriter) {
  Value x = op.getOperand();
  if (!isa<FloatType>(x.getType()))
    return failure();
  rewriter.replaceOpWithNewOp<arith::CmpFOp>(
      op, arith::CmpFPredicate::OEQ, sizeOf(rewriter, op.getLoc(), x),
      numberLike(rewriter, op.getLoc(), x, /*infinite=*/true));
  return success();
}

/// isnormal x -> least <= |x| and |x| < inf
static LogicalResult expandIsNormal(math::IsNormalOp op,
                                    PatternRewriter &rewriter) {
  Value x = op.getOperand();
  Location location = op.getLoc();
  if (!isa<FloatType>(x.getType()))
    return failure();
  Value size = sizeOf(rewriter, location, x);
  Value large = arith::CmpFOp::create(
      rewriter, location, arith::CmpFPredicate::OGE, size,
      numberLike(rewriter, location, x, /*infinite=*/false));
  Value finite = arith::CmpFOp::create(
      rewriter, location, arith::CmpFPredicate::OLT, size,
      numberLike(rewriter, location, x, /*infinite=*/true));
  rewriter.replaceOpWithNewOp<arith::AndIOp>(op, large, finite);
  return success();
}

/// clampf x to [a, b] -> maximumf(minimumf(x, b), a); upstream's expansion
/// swaps the bounds.
static LogicalResult expandClamp(math::ClampFOp op, PatternRewriter &rewriter) {
  Value below = arith::MinimumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                          op.getMax());
  rewriter.replaceOpWithNewOp<arith::MaximumFOp>(op, below, op.getMin());
  return success();
}

namespace {

struct FMHAMathToLibmPass
    : public fmha::impl::FMHAMathToLibmBase<FMHAMathToLibmPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet own(context), calls(context);
    own.add(expandIsInf);
    own.add(expandIsNormal);
    own.add(expandClamp);
    math::populateExpansionPatterns(own, {"rsqrt"});
    expansions = std::move(own);
    populateMathToLibmConversionPatterns(calls);
    libraryCalls = std::move(calls);
    return success();
  }

  void runOnOperation() override {
    if (failed(applyPatternsGreedily(getOperation(), expansions)) ||
        failed(applyPatternsGreedily(getOperation(), libraryCalls)))
      signalPassFailure();
  }

private:
  FrozenRewritePatternSet expansions, libraryCalls;
};

} // namespace

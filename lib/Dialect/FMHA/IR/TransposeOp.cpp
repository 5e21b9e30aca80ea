//===- TransposeOp.cpp - A tensor seen with permuted dimensions -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fmha;

/// Returns whether `permutation` has each of `rank` dimensions once.
static bool permutes(ArrayRef<int64_t> permutation, int64_t rank) {
  return int64_t(permutation.size()) == rank &&
         isPermutationVector(permutation);
}

LogicalResult
TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                              Adaptor adaptor,
                              SmallVectorImpl<Type> &inferredReturnTypes) {
  auto type = cast<RankedTensorType>(adaptor.getSource().getType());
  if (!permutes(adaptor.getPermutation(), type.getRank()))
    return emitOptionalError(location, "transpose.T1: expected each of ",
                             type.getRank(),
                             " dimensions once in the permutation, got [",
                             adaptor.getPermutation(), "]");
  inferredReturnTypes.push_back(RankedTensorType::get(
      applyPermutation(type.getShape(), adaptor.getPermutation()),
      type.getElementType(), type.getEncoding()));
  return success();
}

LogicalResult TransposeOp::reifyResultShapes(
    OpBuilder &builder, ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  reifiedReturnShapes.push_back(applyPermutation(
      tensor::getMixedSizes(builder, getLoc(), getSource()), getPermutation()));
  return success();
}

/// transpose(x, [0, 1, ...]) -> x
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (isIdentityPermutation(getPermutation()))
    return getSource();
  return {};
}

namespace {
/// transpose(transpose(x, a), b) -> transpose(x, a[b])
struct ComposeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getSource().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "the source is no transpose");
    rewriter.replaceOpWithNewOp<TransposeOp>(
        op, inner.getSource(),
        applyPermutation(inner.getPermutation(), op.getPermutation()));
    return success();
  }
};

/// transpose(cast(x)) -> cast(transpose(x)), if the cast makes extents dynamic.
struct TransposeOfCast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto cast = op.getSource().getDefiningOp<tensor::CastOp>();
    if (!cast || !tensor::canFoldIntoConsumerOp(cast))
      return rewriter.notifyMatchFailure(op, "the source is no such cast");
    Value exact = TransposeOp::create(rewriter, op.getLoc(), cast.getSource(),
                                      op.getPermutation());
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, op.getType(), exact);
    return success();
  }
};
} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<ComposeTransposes, TransposeOfCast>(context);
}

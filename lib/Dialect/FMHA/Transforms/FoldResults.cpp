//===- FoldResults.cpp - What consumes results of fmha.attention ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fold.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace fmha;

/// Whether the elements of the destination of `result` end up in the result.
static bool keepsDestination(AttentionOp op, OpResult result) {
  Value destination = op.getTiedOpOperand(result)->get();
  return op.getCuSeqlensQ() && !destination.getDefiningOp<tensor::EmptyOp>();
}

/// Whether the op can do `step` on a result itself.
static bool canDo(AttentionOp op, OpResult result,
                  const ElementwiseStep &step) {
  bool isOutput = result.getResultNumber() == 0;
  if (step.permutes() && isOutput && !step.keepsLast())
    return false;
  if (step.kind == ElementwiseStep::Copy)
    return step.permutes();
  Value destination = op.getTiedOpOperand(result)->get();
  return step.kind == ElementwiseStep::Truncate && isOutput &&
         getElementTypeOrSelf(destination).isF32();
}

namespace {
/// %o = fmha.attention ... outs(%d) -> tensor<2x?x8x64xf32>
/// %r = linalg.generic {transpose, truncf} ins(%o) outs(%e)
/// ->
/// %d = fmha.transpose %e [0, 2, 1, 3]
/// %o = fmha.attention ... outs(%d) -> tensor<2x?x8x64xf16>
/// %r = fmha.transpose %o [0, 2, 1, 3]
///
/// so that the kernel writes where, how and in the type that is wanted. Both
/// steps may stand alone. The rows of `lse` and its like may be transposed.
struct FoldResult : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    for (OpResult result : op->getResults())
      if (succeeded(fold(op, result, rewriter)))
        return success();
    return rewriter.notifyMatchFailure(op,
                                       "no result is transposed or rounded");
  }

private:
  static LogicalResult fold(AttentionOp op, OpResult result,
                            PatternRewriter &rewriter) {
    if (!result.hasOneUse() || keepsDestination(op, result))
      return failure();
    Operation *user = *result.user_begin();
    std::optional<ElementwiseStep> step = matchStep(user);
    if (!step || step->input != result || !canDo(op, result, *step))
      return failure();
    Type element = getElementTypeOrSelf(user->getResult(0));
    if (step->kind == ElementwiseStep::Truncate &&
        element != op.getElementType())
      return failure();
    bool isNew = !step->destination ||
                 step->destination.getDefiningOp<tensor::EmptyOp>();
    if (!isNew && !DominanceInfo().properlyDominates(step->destination, op))
      return failure();
    rewriter.setInsertionPoint(op);
    Value destination = isNew ? emptyFor(rewriter, op, result, *step, element)
                              : step->destination;
    replace(rewriter, op, result, user, step->permutation, destination);
    return success();
  }

  /// A tensor.empty of the shape that the consumer of `result` gives it.
  static Value emptyFor(PatternRewriter &rewriter, AttentionOp op,
                        OpResult result, const ElementwiseStep &step,
                        Type element) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(
        rewriter, op.getLoc(), op.getTiedOpOperand(result)->get());
    return tensor::EmptyOp::create(rewriter, op.getLoc(),
                                   applyPermutation(sizes, step.permutation),
                                   element);
  }

  static void replace(PatternRewriter &rewriter, AttentionOp op,
                      OpResult result, Operation *user,
                      ArrayRef<int64_t> permutation, Value destination) {
    Location location = user->getLoc();
    bool permutes = !isIdentityPermutation(permutation);
    if (permutes)
      destination = TransposeOp::create(rewriter, location, destination,
                                        invertPermutationVector(permutation));
    rewriter.modifyOpInPlace(op, [&] {
      op.getTiedOpOperand(result)->set(destination);
      result.setType(destination.getType());
    });
    rewriter.setInsertionPoint(user);
    Value made = result;
    if (permutes)
      made = TransposeOp::create(rewriter, location, made, permutation);
    Type type = user->getResult(0).getType();
    if (made.getType() != type)
      made = tensor::CastOp::create(rewriter, location, type, made);
    rewriter.replaceOp(user, made);
  }
};
} // namespace

void fmha::populateFoldResultPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldResult>(patterns.getContext());
}

//===- FoldResults.cpp - Fold consumers of results of fmha.attention ------===//
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
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fmha;

/// Returns whether `value` has no contents yet.
static bool isEmpty(Value value) {
  while (auto transpose = value.getDefiningOp<TransposeOp>())
    value = transpose.getSource();
  return bool(value.getDefiningOp<tensor::EmptyOp>());
}

/// Returns the extents of `value`, from the operands of its producer if that
/// may then become unused.
static SmallVector<OpFoldResult> sizesOf(OpBuilder &b, Value value) {
  if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  if (auto transpose = value.getDefiningOp<TransposeOp>())
    return applyPermutation(sizesOf(b, transpose.getSource()),
                            transpose.getPermutation());
  return tensor::getMixedSizes(b, value.getLoc(), value);
}

namespace {
/// The only consumer of a result, possibly through a transpose of an earlier
/// fold.
struct Consumer {
  TransposeOp view;
  Operation *op = nullptr;
  /// The step from the result to the result of the consumer.
  ElementwiseStep step;
};
} // namespace

static std::optional<Consumer> consumerOf(OpResult result) {
  if (!result.hasOneUse())
    return std::nullopt;
  Consumer found;
  Value value = result;
  found.op = *result.user_begin();
  if (auto view = dyn_cast<TransposeOp>(found.op)) {
    if (!view->hasOneUse())
      return std::nullopt;
    found.view = view;
    value = view.getResult();
    found.op = *view->user_begin();
  }
  std::optional<ElementwiseStep> step = matchStep(found.op);
  if (!step || step->input != value)
    return std::nullopt;
  found.step = *step;
  if (found.view)
    found.step.permutation =
        applyPermutation(found.view.getPermutation(), step->permutation);
  return found;
}

/// Returns whether the op can perform the consumer's step itself.
static bool canDo(AttentionOp op, OpResult result, const Consumer &consumer) {
  const ElementwiseStep &step = consumer.step;
  bool isOutput = result.getResultNumber() == 0;
  if (step.permutes() && isOutput && !step.keepsLast())
    return false;
  Value destination = op.getTiedOpOperand(result)->get();
  if (op.getCuSeqlensQ() && !isEmpty(destination))
    return false;
  if (step.kind == ElementwiseStep::Copy)
    return step.permutes() || consumer.view;
  return step.kind == ElementwiseStep::Truncate && isOutput &&
         getElementTypeOrSelf(destination).isF32() &&
         getElementTypeOrSelf(consumer.op->getResult(0)) == op.getElementType();
}

namespace {
/// %o = fmha.attention ... outs(%d) -> tensor<2x?x8x64xf32>
/// %r = linalg.generic {transpose, truncf} ins(%o) outs(%e)
/// ->
/// %d = fmha.transpose %e [0, 2, 1, 3]
/// %o = fmha.attention ... outs(%d) -> tensor<2x?x8x64xf16>
/// %r = fmha.transpose %o [0, 2, 1, 3]
///
/// so that the kernel writes the final tensor directly, in its order and type.
/// Either step may occur alone. `lse`, `row_max` and `row_sum` may be
/// transposed.
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
    std::optional<Consumer> consumer = consumerOf(result);
    if (!consumer || !canDo(op, result, *consumer))
      return failure();
    Value destination = consumer->step.destination;
    bool isNew = !destination || destination.getDefiningOp<tensor::EmptyOp>();
    if (!isNew && !DominanceInfo().properlyDominates(destination, op))
      return failure();
    rewriter.setInsertionPoint(op);
    if (isNew)
      destination = tensor::EmptyOp::create(
          rewriter, op.getLoc(),
          applyPermutation(
              sizesOf(rewriter, op.getTiedOpOperand(result)->get()),
              consumer->step.permutation),
          getElementTypeOrSelf(consumer->op->getResult(0)));
    replace(rewriter, op, result, *consumer, destination);
    return success();
  }

  static void replace(PatternRewriter &rewriter, AttentionOp op,
                      OpResult result, const Consumer &consumer,
                      Value destination) {
    ArrayRef<int64_t> permutation = consumer.step.permutation;
    Location location = consumer.op->getLoc();
    bool permutes = !isIdentityPermutation(permutation);
    if (permutes)
      destination = TransposeOp::create(rewriter, location, destination,
                                        invertPermutationVector(permutation));
    rewriter.modifyOpInPlace(op, [&] {
      op.getTiedOpOperand(result)->set(destination);
      result.setType(destination.getType());
    });
    rewriter.setInsertionPoint(consumer.op);
    Value made = result;
    if (permutes)
      made = TransposeOp::create(rewriter, location, made, permutation);
    Type type = consumer.op->getResult(0).getType();
    if (made.getType() != type)
      made = tensor::CastOp::create(rewriter, location, type, made);
    rewriter.replaceOp(consumer.op, made);
    if (consumer.view)
      rewriter.eraseOp(consumer.view);
  }
};
} // namespace

void fmha::populateFoldResultPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldResult>(patterns.getContext());
}

//===- FoldOperands.cpp - Fold producers of query, key and value ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fold.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fmha;

/// Returns whether `op` bufferizes to a view of its source.
static bool isView(Operation *op) {
  return isa_and_nonnull<TransposeOp, tensor::CastOp, tensor::ExtractSliceOp>(
      op);
}

/// Collects the operands of fmha.attention that `value` reaches, also through
/// views. Returns false if anything else needs its elements.
static bool collectUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto attention = dyn_cast<AttentionOp>(user);
    if (attention && !attention.isDpsInit(&use))
      uses.push_back(&use);
    else if (isView(user)) {
      if (!collectUses(user->getResult(0), uses))
        return false;
    } else if (!isa<tensor::DimOp>(user))
      return false;
  }
  return true;
}

/// Returns query, key, value and those of a second KV segment.
static SmallVector<OpOperand *> copiedOperands(AttentionOp op) {
  SmallVector<OpOperand *> operands = {
      &op.getQueryMutable(), &op.getKeyMutable(), &op.getValueMutable()};
  for (MutableOperandRange second :
       {op.getKey2Mutable(), op.getValue2Mutable()})
    for (OpOperand &operand : second)
      operands.push_back(&operand);
  return operands;
}

/// Returns the op that computes the elements of `value`, looking through views.
static Operation *producerOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isView(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Replaces `op` by a transposed view of its input.
static void replaceByInput(PatternRewriter &rewriter, Operation *op,
                           const ElementwiseStep &step) {
  rewriter.setInsertionPoint(op);
  Value made = step.input;
  if (step.permutes())
    made = TransposeOp::create(rewriter, op->getLoc(), made, step.permutation);
  Type type = op->getResult(0).getType();
  if (made.getType() != type)
    made = tensor::CastOp::create(rewriter, op->getLoc(), type, made);
  rewriter.replaceOp(op, made);
}

namespace {
/// %t = linalg.transpose ins(%q) outs(%e) permutation = [0, 2, 1, 3]
/// fmha.attention ins(%t, ...)
/// ->
/// %t = fmha.transpose %q [0, 2, 1, 3]
/// fmha.attention ins(%t, ...)
///
/// if %t has no other users; it then needs no memory.
struct FoldTransposedOperand : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "buffers have strides already");
    for (OpOperand *operand : copiedOperands(op)) {
      Operation *producer = producerOf(operand->get());
      std::optional<ElementwiseStep> step = matchStep(producer);
      SmallVector<OpOperand *> uses;
      if (!step || step->kind != ElementwiseStep::Copy || !step->permutes() ||
          !step->keepsLast() || !collectUses(producer->getResult(0), uses))
        continue;
      replaceByInput(rewriter, producer, *step);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand is a transpose");
  }
};

/// %s = arith.mulf %q, dense<0.5>
/// fmha.attention ins(%s, ...) {scale = 0.25}
/// ->
/// fmha.attention ins(%q, ...) {scale = 0.125}
struct FoldFactor : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "buffers are written elsewhere");
    SmallVector<OpOperand *> factors = {&op.getQueryMutable()};
    // The factor does not apply to the keys of a second segment.
    if (!op.getKey2())
      factors.push_back(&op.getKeyMutable());
    for (OpOperand *operand : factors)
      if (succeeded(fold(op, *operand, rewriter)))
        return success();
    return rewriter.notifyMatchFailure(op, "no operand has a factor");
  }

private:
  static LogicalResult fold(AttentionOp op, OpOperand &operand,
                            PatternRewriter &rewriter) {
    Operation *producer = producerOf(operand.get());
    std::optional<ElementwiseStep> step = matchStep(producer);
    if (!step || step->kind != ElementwiseStep::Scale ||
        (step->permutes() && !step->keepsLast()) ||
        getElementTypeOrSelf(step->input) != op.getElementType())
      return failure();
    SmallVector<OpOperand *> uses;
    bool isAlone = collectUses(producer->getResult(0), uses) &&
                   uses == ArrayRef<OpOperand *>(&operand);
    double scale = op.getScaleOrDefault() * step->factor;
    if (!isAlone || !(std::abs(scale) <= AttentionOp::maxScale))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.setScale(APFloat(scale)); });
    replaceByInput(rewriter, producer, *step);
    return success();
  }
};
} // namespace

void fmha::populateFoldOperandPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldTransposedOperand, FoldFactor>(patterns.getContext());
}

//===- RaiseLinalg.cpp - Raise attention in linalg ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Recognize.h"

#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fmha {
#define GEN_PASS_DEF_RAISELINALG
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

/// Erases `op` and what only it used. Adds them to `erased`.
static void eraseDead(Operation *op, DenseSet<Operation *> &erased) {
  SetVector<Operation *> dead;
  dead.insert(op);
  while (!dead.empty()) {
    Operation *last = dead.pop_back_val();
    if (!isOpTriviallyDead(last))
      continue;
    SmallVector<Operation *> producers;
    for (Value operand : last->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        producers.push_back(producer);
    erased.insert(last);
    last->erase();
    dead.insert(producers.begin(), producers.end());
  }
}

/// Replaces the second product of an attention by views and fmha.attention.
static void rewrite(linalg::LinalgOp op, LinalgForm &form, Compute compute,
                    DenseSet<Operation *> &erased) {
  OpBuilder b(op.getOperation());
  Location location = op.getLoc();
  AttentionForm &attention = form.attention;
  form.query.prepare(b, location, attention.query);
  form.key.prepare(b, location, attention.key);
  form.value.prepare(b, location, attention.value);
  attention.score = form.score.prepare(b, location);
  RaisedAttention raised = buildAttention(b, location, attention, compute);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, location, op.getDpsInitOperand(0)->get());
  op->getResult(0).replaceAllUsesWith(
      form.output.restore(b, location, raised.output, sizes));
  eraseDead(op, erased);
}

namespace {
struct RaiseLinalgPass : fmha::impl::RaiseLinalgBase<RaiseLinalgPass> {
  using RaiseLinalgBase::RaiseLinalgBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (!computeOf(compute))
      return emitError(UnknownLoc::get(context))
             << "expected compute=f16, bf16 or keep, got " << compute;
    return success();
  }

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isProduct(op))
        products.push_back(op);
    });
    DenseSet<Operation *> erased;
    for (linalg::LinalgOp op : products)
      if (!erased.contains(op))
        raise(op, erased);
  }

private:
  void raise(linalg::LinalgOp op, DenseSet<Operation *> &erased) const {
    Compute type = *computeOf(compute);
    Recognized recognized = recognize(op, type);
    if (auto *refusal = std::get_if<Refusal>(&recognized))
      reportMissed(op, *refusal);
    else if (auto *form = std::get_if<LinalgForm>(&recognized))
      rewrite(op, *form, type, erased);
  }
};
} // namespace

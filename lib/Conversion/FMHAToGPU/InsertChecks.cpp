//===- InsertChecks.cpp - Assert the constraints of attention ops ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOperands.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/FMHA/Transforms/LaunchChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha {
#define GEN_PASS_DEF_INSERTCHECKS
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct InsertChecksPass
    : public fmha::impl::InsertChecksBase<InsertChecksPass> {
  using InsertChecksBase::InsertChecksBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp, AppendOp, MergeOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (failed(expectMemrefs(op, "fmha-insert-checks")))
        return signalPassFailure();
      OpBuilder b(op);
      if (rules == CheckedRules::All)
        generateLaunchChecks(b, op, ListContents::Readable);
      else
        generateListChecks(b, op);
    }
  }
};

} // namespace

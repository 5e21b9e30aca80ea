//===- VerifyInput.cpp - Reject attention ops on tensors ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferUses.h"
#include "KernelOperands.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {
#define GEN_PASS_DEF_VERIFYINPUT
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct VerifyInputPass : public fmha::impl::VerifyInputBase<VerifyInputPass> {
  using VerifyInputBase::VerifyInputBase;

  void runOnOperation() override {
    bool isValid = true;
    getOperation()->walk([&](Operation *op) {
      if (isKernelOp(op))
        isValid &= succeeded(expectMemrefs(op, "fmha-to-gpu"));
    });
    if (!isValid)
      signalPassFailure();
  }
};

} // namespace

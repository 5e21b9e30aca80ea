//===- VerifyInput.cpp - Ops that cannot become launches are errors -------===//
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
        isValid &= succeeded(verify(op));
    });
    if (!isValid)
      signalPassFailure();
  }

private:
  LogicalResult verify(Operation *op) const;
};

/// Fails with an error at `op` for an attribute that is neither the op's nor a
/// dialect's: kernels would not do what it asks for.
LogicalResult verifyAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    if (attribute.getName().strref().contains('.'))
      continue;
    InFlightDiagnostic error = op->emitError() << "expected attributes among ";
    for (StringAttr name : op->getName().getAttributeNames())
      if (name != "operandSegmentSizes")
        error << "'" << name.getValue() << "', ";
    return error << "or with the prefix of a dialect, got '"
                 << attribute.getName().getValue()
                 << "', which no kernel implements; remove it";
  }
  return success();
}

LogicalResult VerifyInputPass::verify(Operation *op) const {
  if (failed(verifyAttributes(op)))
    return failure();
  return tensors ? success() : expectMemrefs(op, "fmha-to-gpu");
}

} // namespace

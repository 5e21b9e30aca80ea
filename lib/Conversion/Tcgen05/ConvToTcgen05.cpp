//===- ConvToTcgen05.cpp - A kernel for each convolution ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvKernel.h"
#include "fmha/Conversion/Tcgen05/Passes.h"
#include "fmha/Dialect/Conv/IR/Conv.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fmha {
#define GEN_PASS_DEF_CONVERTCONVTOTCGEN05
#include "fmha/Conversion/Tcgen05/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

/// Returns the name of a type in a manifest.
static StringRef manifestType(Type element) {
  if (element.isF16())
    return "f16";
  return element.isBF16() ? "bf16" : "tf32";
}

static NVVM::NVVMTargetAttr targetOf(MLIRContext *context) {
  const target::Target *target = target::findTarget("sm_100a");
  return NVVM::NVVMTargetAttr::get(context, /*optLevel=*/2,
                                   "nvptx64-nvidia-cuda", "sm_100a",
                                   target->features, DictionaryAttr());
}

namespace {

struct ConvertConvToTcgen05Pass
    : public fmha::impl::ConvertConvToTcgen05Base<ConvertConvToTcgen05Pass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<conv::ShiftReuseOp> ops;
    getOperation().walk([&](conv::ShiftReuseOp op) {
      if (!op.getKernel())
        ops.push_back(op);
    });
    for (conv::ShiftReuseOp op : ops)
      convert(op, symbols);
  }

private:
  void convert(conv::ShiftReuseOp op, SymbolTable &symbols) {
    OpBuilder b(&getContext());
    auto module = gpu::GPUModuleOp::create(b, op.getLoc(), "conv_kernel");
    module.setTargetsAttr(b.getArrayAttr({targetOf(&getContext())}));
    StringAttr name = symbols.insert(module);
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                            b.getUnitAttr());
    conv::ConvPlan plan = op.getPlan();
    Type element = op.getInput().getType().getElementType();
    b.setInsertionPointToEnd(module.getBody());
    buildConvKernel(b, op.getLoc(), name, plan, element);
    op.setKernelAttr(SymbolRefAttr::get(name, {FlatSymbolRefAttr::get(name)}));
    op.setManifest(plan.manifest(name.str(), manifestType(element).str()));
  }
};

} // namespace

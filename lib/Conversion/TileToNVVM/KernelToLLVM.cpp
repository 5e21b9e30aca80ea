//===- KernelToLLVM.cpp - What is left of a kernel becomes LLVM -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace fmha {
#define GEN_PASS_DEF_CONVERTKERNELTOLLVM
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;

namespace {

/// Lengths and block counts fit 32 bits, and 64-bit index arithmetic would cost
/// registers in every role.
constexpr unsigned indexBits = 32;

struct ConvertKernelToLLVMPass
    : public fmha::impl::ConvertKernelToLLVMBase<ConvertKernelToLLVMPass> {
  void runOnOperation() override {
    FailureOr<bool> ours = isOurs();
    if (failed(ours))
      return signalPassFailure();
    if (!*ours)
      return;
    if (failed(convert()) || failed(tidy()))
      signalPassFailure();
  }

private:
  /// Another module's index may need its 64 bits, so a module is converted if
  /// all its functions are ours, and left alone if none is.
  FailureOr<bool> isOurs() {
    FunctionOpInterface own, foreign;
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (func->hasAttr("fmha.schedule") || func->hasAttr("fmha.merge")) {
        if (!isa<LLVM::LLVMFuncOp>(func))
          return func.emitError()
                 << "convert-kernel-to-llvm expects kernels as llvm.func, got "
                 << func->getName() << "; run convert-tile-to-nvvm first";
        own = func;
      } else if (!func.isExternal()) {
        foreign = func;
      }
    if (own && foreign)
      return foreign.emitError()
             << "stands in one module with the kernel @" << own.getName()
             << ", whose indices become 32 bits wide; give it a gpu.module of "
                "its own";
    return bool(own);
  }

  LogicalResult convert() {
    LowerToLLVMOptions options(&getContext());
    options.overrideIndexBitwidth(indexBits);
    LLVMTypeConverter converter(&getContext(), options);
    RewritePatternSet patterns(&getContext());
    // ceildivui has no LLVM counterpart. The pass arith-expand would take
    // minima and maxima apart as well, which are one instruction here.
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateSCFToControlFlowConversionPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect,
                             math::MathDialect, scf::SCFDialect,
                             vector::VectorDialect>();
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  LogicalResult tidy() {
    OpPassManager pm(gpu::GPUModuleOp::getOperationName());
    pm.addPass(createReconcileUnrealizedCastsPass());
    // Loops and branches come from scf: no block is dead or stands there twice.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    pm.addPass(createCanonicalizerPass(config));
    pm.addPass(createCSEPass());
    return runPipeline(pm, getOperation());
  }
};

} // namespace

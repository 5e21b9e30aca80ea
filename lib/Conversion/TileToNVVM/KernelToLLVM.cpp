//===- KernelToLLVM.cpp - Lower the rest of a kernel to LLVM ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Passes.h"

#include "fmha/Kernel/KernelInfo.h"
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
#include "mlir/Dialect/Utils/StaticValueUtils.h"
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

/// Returns element `n` of `vector`, followed through insertions and shuffles,
/// or null if another op defines it.
///   %1 = insertelement %0, %a, 3; %2 = shufflevector %1, %1, [3, ...]
///   extractelement %2, 0  ->  %a
static Value elementOf(Value vector, int64_t n) {
  while (Operation *op = vector.getDefiningOp()) {
    if (auto insert = dyn_cast<LLVM::InsertElementOp>(op)) {
      std::optional<int64_t> place = getConstantIntValue(insert.getPosition());
      if (!place)
        return {};
      if (*place == n)
        return insert.getValue();
      vector = insert.getVector();
    } else if (auto shuffle = dyn_cast<LLVM::ShuffleVectorOp>(op)) {
      int64_t size = cast<VectorType>(shuffle.getV1().getType()).getDimSize(0);
      n = shuffle.getMask()[n];
      if (n < 0)
        return {};
      vector = n < size ? shuffle.getV1() : shuffle.getV2();
      n = n < size ? n : n - size;
    } else {
      return {};
    }
  }
  return {};
}

/// Replaces extracted elements by the scalars that a vector is made of. wgmma
/// statements exchange registers as vectors, 64 elements in and 64 out of each.
/// LLVM finds that they are equal as well, but takes a sixth of a kernel's
/// compile time for it (head dim 128, three consumers).
static void forwardElements(Operation *module) {
  module->walk([](LLVM::ExtractElementOp op) {
    std::optional<int64_t> place = getConstantIntValue(op.getPosition());
    if (Value element = place ? elementOf(op.getVector(), *place) : Value())
      op.replaceAllUsesWith(element);
  });
}

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
  /// Returns whether all functions of the module are fmha kernels; an error if
  /// only some are, since another function's index may need 64 bits.
  FailureOr<bool> isOurs() {
    FunctionOpInterface own, foreign;
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (fmha::tile::isTiledKernel(func) || func->hasAttr("fmha.merge") ||
          func->hasAttr("fmha.append")) {
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
    // ceildivui has no LLVM counterpart. The pass arith-expand would also
    // expand minima and maxima, which are single instructions here.
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
    OpPassManager casts(gpu::GPUModuleOp::getOperationName());
    casts.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(casts, getOperation())))
      return failure();
    forwardElements(getOperation());
    OpPassManager pm(gpu::GPUModuleOp::getOperationName());
    // Loops and branches come from scf: no block is dead or duplicated.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    pm.addPass(createCanonicalizerPass(config));
    pm.addPass(createCSEPass());
    return runPipeline(pm, getOperation());
  }
};

} // namespace

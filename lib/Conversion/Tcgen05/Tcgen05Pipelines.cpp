//===- Tcgen05Pipelines.cpp - From tcgen05 ops to PTX ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Tcgen05/Passes.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void buildToPtx(OpPassManager &pm) {
  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  module.addPass(fmha::createConvertTcgen05ToNVVM());
  module.addPass(createSCFToControlFlowPass());
  module.addPass(createConvertToLLVMPass());
  module.addPass(createReconcileUnrealizedCastsPass());
  module.addPass(createCanonicalizerPass());
  module.addPass(createCSEPass());
  GpuModuleToBinaryPassOptions options;
  options.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(options));
}

void fmha::registerTcgen05Pipelines() {
  PassPipelineRegistration<>(
      "tcgen05-to-ptx",
      "From modules of llvm.func with tcgen05 ops, which have an nvvm.target, "
      "to a gpu.binary with PTX",
      buildToPtx);
  PassPipelineRegistration<>(
      "conv-to-ptx",
      "From convolutions to a gpu.binary with PTX for each; the ops have their "
      "launches",
      [](OpPassManager &pm) {
        pm.addPass(createConvertConvToTcgen05());
        buildToPtx(pm);
      });
}

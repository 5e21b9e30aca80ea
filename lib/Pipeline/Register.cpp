//===- Register.cpp - Register all dialects and passes ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Register.h"
#include "KernelPipelineOptions.h"
#include "fmha/Conversion/HostProgram.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Conversion/Tcgen05/Passes.h"
#include "fmha/Dialect/Conv/IR/Conv.h"
#include "fmha/Dialect/FMHA/Transforms/ModulePipeline.h"
#include "fmha/Dialect/FMHA/Transforms/Registration.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"
#include "fmha/Dialect/Tile/IR/SyncOpInterfaceImpl.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Pipeline/Passes.h"
#include "fmha/Pipeline/Pipelines.h"
#include "fmha/Pipeline/ProgramPipelines.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fmha;

void fmha::registerAllFmha(DialectRegistry &registry) {
  registerFMHADialect(registry);
  registry
      .insert<conv::ConvDialect, tcgen05::Tcgen05Dialect, tile::TileDialect>();
  tile::registerSyncOpInterfaceExternalModels(registry);
  registerConvertFMHAHostToLLVMInterface(registry);
  // gpu-module-to-binary queries the target attribute for a serializer, which
  // translates these dialects.
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerTcgen05DialectTranslation(registry);
}

namespace {

struct ToPtxOptions : KernelPipelineOptions<ToPtxOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("GPU, for example sm_100a"),
                             llvm::cl::init("sm_100a")};
};

/// Adds the passes for gpu.func, or for an op that contains such functions.
void addWarpSpecialize(OpPassManager &pm) {
  StringRef on = pm.getOpAnchorName();
  if (on == ModuleOp::getOperationName())
    return buildWarpSpecializePipeline(
        pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>());
  if (on == gpu::GPUModuleOp::getOperationName())
    return buildWarpSpecializePipeline(pm.nest<gpu::GPUFuncOp>());
  buildWarpSpecializePipeline(pm);
}

/// Runs a pass under its old name, or under that of a pass for one target that
/// it replaces. Skips kernels that it has been run on.
struct RenamedPass
    : public PassWrapper<RenamedPass, OperationPass<gpu::GPUFuncOp>> {
  RenamedPass(tile::KernelStage expected, std::unique_ptr<Pass> (*create)())
      : expected(expected), create(create) {}
  void runOnOperation() override {
    if (!tile::isTiledKernel(getOperation()) ||
        tile::stageOf(getOperation()) > expected)
      return;
    OpPassManager pm(gpu::GPUFuncOp::getOperationName());
    pm.addPass(create());
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    create()->getDependentDialects(registry);
  }
  tile::KernelStage expected;
  std::unique_ptr<Pass> (*create)();
};

struct Renaming {
  StringLiteral old, name;
  tile::KernelStage expected;
  std::unique_ptr<Pass> (*create)();
};
constexpr Renaming renamings[] = {
    {"tile-place", "tile-assign-memory", tile::KernelStage::Tiled,
     tile::createTileAssignMemory},
    {"tile-wgmma-place", "tile-assign-memory", tile::KernelStage::Tiled,
     tile::createTileAssignMemory},
    {"tile-wgmma-distribute", "tile-distribute",
     tile::KernelStage::Synchronized, tile::createTileDistribute}};

void registerRenamedPasses() {
  for (const Renaming &one : renamings)
    registerPassPipeline(
        one.old, ("The old name of " + one.name).str(),
        [&one](OpPassManager &pm, StringRef,
               function_ref<LogicalResult(const Twine &)>) {
          llvm::errs() << "note: " << one.old << " is now called " << one.name
                       << "\n";
          pm.addPass(std::make_unique<RenamedPass>(one.expected, one.create));
          return success();
        },
        [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}

/// Registers the pipeline of warp specialization, also under its old name.
void registerWarpSpecialize() {
  PassPipelineRegistration<> registration(
      "tile-warp-specialize",
      "Cut placed kernels into roles joined by channels", addWarpSpecialize);
  PassPipelineRegistration<> old("tile-specialise",
                                 "The old name of tile-warp-specialize",
                                 [](OpPassManager &pm) {
                                   llvm::errs()
                                       << "note: tile-specialise is now called "
                                          "tile-warp-specialize\n";
                                   buildWarpSpecializePipeline(pm);
                                 });
}

} // namespace

void fmha::registerAllFmhaPasses() {
  registerFMHATransforms();
  registerFmhaConversionPasses();
  registerFmhaTcgen05Passes();
  registerTcgen05Pipelines();
  tile::registerFmhaTilePasses();
  registerFmhaPipelinePasses();
  registerWarpSpecialize();
  registerRenamedPasses();
  PassPipelineRegistration<>(
      "tile-to-ptx",
      "From kernels of tile ops with tile.kernel to a gpu.binary with PTX",
      [](OpPassManager &pm) { buildToPtxPipeline(pm, PipelineOptions()); });
  registerModulePipeline<ToPtxOptions>(
      "fmha-to-ptx", "From fmha.attention to a gpu.binary that holds PTX",
      [](OpPassManager &pm, const ToPtxOptions &options) {
        PipelineOptions kernels = options.get();
        kernels.target = options.target;
        buildToPtxPipeline(pm, kernels);
      });
  registerProgramPipelines();
}

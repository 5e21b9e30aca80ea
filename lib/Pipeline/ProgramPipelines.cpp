//===- ProgramPipelines.cpp - Pipelines for whole programs ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/ProgramPipelines.h"
#include "KernelPipelineOptions.h"
#include "fmha/Dialect/FMHA/Transforms/ModulePipeline.h"
#include "fmha/Dialect/FMHA/Transforms/Passes.h"
#include "fmha/Pipeline/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fmha;

/// Adds passes that compile kernels for one target, or for several and the
/// choice between them.
static void addKernels(OpPassManager &pm, const ProgramOptions &options) {
  PipelineOptions kernels = options.kernels;
  kernels.target = options.targets.front();
  if (options.targets.size() > 1) {
    DispatchTargetsOptions dispatch;
    dispatch.targets.assign(options.targets.begin(), options.targets.end());
    pm.addPass(createDispatchTargets(dispatch));
  }
  buildToPtxPipeline(pm, kernels);
}

static void addLaunches(OpPassManager &pm, Switch checks) {
  LaunchKernelsOptions launch;
  launch.checks = checks;
  pm.addPass(createLaunchKernels(launch));
}

void fmha::buildToGpuPipeline(OpPassManager &pm,
                              const ProgramOptions &options) {
  pm.addPass(createVerifyInput());
  addKernels(pm, options);
  addLaunches(pm, options.checks);
}

/// Checks only varlen metadata; the launches check the buffers that kernels
/// get. Shape queries that no check needs are removed, since they would count
/// as uses of a buffer.
static void addListChecks(OpPassManager &pm) {
  InsertChecksOptions lists;
  lists.rules = CheckedRules::Lists;
  pm.addNestedPass<func::FuncOp>(createInsertChecks(lists));
  pm.addPass(createCanonicalizerPass());
}

/// Upstream's buffer deallocation pipeline, for programs that may free buffers
/// themselves. It comes after buffers are placed: the run-time checks of
/// ownership that it inserts use the addresses of buffers.
static void addDeallocation(OpPassManager &pm) {
  pm.addPass(memref::createExpandReallocPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createDeallocateBuffers());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createConvertBufferizationToMemRefPass());
}

/// Adds all passes for the functions of one module.
static void addProgram(OpPassManager &pm, const ProgramOptions &options) {
  pm.addPass(createFMHAFold());
  addBufferization(pm);
  pm.addPass(createCanonicalizerPass());
  // The host reads varlen metadata, so check it before buffers are placed.
  if (options.checks == Switch::On)
    addListChecks(pm);
  PlaceBuffersOptions place;
  place.memory = options.memory;
  pm.addPass(createPlaceBuffers(place));
  addDeallocation(pm);
  addKernels(pm, options);
  addLaunches(pm, options.checks);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createGpuAsyncRegionPass());
  pm.addNestedPass<func::FuncOp>(createSynchronizeManaged());
  addHostToControlFlow(pm);
  pm.addPass(createReportAsserts());
  pm.addPass(createGpuToLLVMConversionPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createFMHAVerifyLowered());
}

void fmha::buildProgramToLLVMPipeline(OpPassManager &pm,
                                      const ProgramOptions &options) {
  // Passes on functions are nested in pm, so they apply to one module only.
  pm.addPass(createNestedModules(
      [&](OpPassManager &nested) { addProgram(nested, options); }));
  addProgram(pm, options);
}

namespace {

/// The options of pipelines that create launches.
template <typename OptionsT>
struct LaunchOptions : KernelPipelineOptions<OptionsT> {
  using Base = PassPipelineOptions<OptionsT>;

  typename Base::template ListOption<std::string> targets{
      *this, "target",
      llvm::cl::desc("GPUs, for example sm_90a,sm_100a; default sm_100a")};
  typename Base::template Option<Switch> checks{
      *this, "checks",
      llvm::cl::desc("Assert the constraints that depend on run-time values"),
      llvm::cl::init(Switch::On),
      llvm::cl::values(clEnumValN(Switch::On, "on", "assert them"),
                       clEnumValN(Switch::Off, "off", "leave them out"))};

  ProgramOptions getProgram() const {
    ProgramOptions program;
    program.kernels = this->get();
    if (!targets.empty())
      program.targets.assign(targets.begin(), targets.end());
    program.checks = checks;
    return program;
  }
};

struct ToGpuOptions : LaunchOptions<ToGpuOptions> {};

struct ProgramToLLVMOptions : LaunchOptions<ProgramToLLVMOptions> {
  Option<Memory> memory{
      *this, "memory", llvm::cl::desc("Memory of the copies"),
      llvm::cl::init(Memory::Device),
      llvm::cl::values(
          clEnumValN(Memory::Device, "device", "device memory"),
          clEnumValN(Memory::Managed, "managed", "managed memory"))};
};

} // namespace

void fmha::registerProgramPipelines() {
  registerModulePipeline<ToGpuOptions>(
      "fmha-to-gpu",
      "From fmha.attention on memrefs to a gpu.binary and gpu.launch_func",
      [](OpPassManager &pm, const ToGpuOptions &options) {
        buildToGpuPipeline(pm, options.getProgram());
      });
  registerModulePipeline<ProgramToLLVMOptions>(
      "fmha-program-to-llvm",
      "From a program with fmha.attention to the LLVM dialect, kernels "
      "launched through libfmha_mgpu.so",
      [](OpPassManager &pm, const ProgramToLLVMOptions &options) {
        ProgramOptions program = options.getProgram();
        program.memory = options.memory;
        buildProgramToLLVMPipeline(pm, program);
      });
}

//===- Pipelines.cpp - The phases, as one flat list -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Pipelines.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Conversion/Tcgen05/Passes.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Pipeline/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fmha;

static OpPassManager &kernels(OpPassManager &pm) {
  return pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
}

static void addTiled(OpPassManager &pm, const PipelineOptions &options) {
  PlanScheduleOptions plan;
  plan.target = options.target;
  plan.pPlacement = schedule::stringify(options.overrides.pPlacement);
  pm.addPass(createPlanSchedule(plan, options.overrides, options.hints,
                                options.onPlan));
  pm.addPass(createConvertFMHAToTile());
}

/// Adds verifiers after each level with memory spaces, so that the pass that
/// broke something is the last one that ran.
static void addVerifiers(OpPassManager &kernel,
                         const PipelineOptions &options) {
  if (!options.verifyKernels)
    return;
  kernel.addPass(tile::createTileVerifyResources());
  kernel.addPass(tile::createTileVerifySync());
}

static void addPlaced(OpPassManager &pm, const PipelineOptions &options) {
  OpPassManager &kernel = kernels(pm);
  kernel.addPass(tile::createTileAssignMemory());
  addVerifiers(kernel, options);
}

void fmha::buildWarpSpecializePipeline(OpPassManager &kernel) {
  kernel.addPass(tile::createTileTcgen05SplitOutputs());
  kernel.addPass(tile::createTileAssignPartitions());
  kernel.addPass(tile::createTileElideZeroFills());
  kernel.addPass(tile::createTileGuardLoops());
  kernel.addPass(tile::createTileInsertChannels());
  kernel.addPass(tile::createTileSlicePartitions());
  kernel.addPass(tile::createTileSkipHiddenBlocks());
  kernel.addPass(tile::createTileRotateLoops());
  kernel.addPass(tile::createTileWgmmaAwaitProducts());
  kernel.addPass(tile::createTileLoopTiles());
  kernel.addPass(tile::createTileMmaSyncStageCopies());
}

static void addSpecialized(OpPassManager &pm, const PipelineOptions &options) {
  OpPassManager &kernel = kernels(pm);
  if (options.pipeline == PipelineSource::Derived)
    kernel.addPass(tile::createTileApplyPipeline());
  buildWarpSpecializePipeline(kernel);
  addVerifiers(kernel, options);
}

static void addMachine(OpPassManager &pm, const PipelineOptions &options) {
  OpPassManager &kernel = kernels(pm);
  kernel.addPass(tile::createTileExpandMath());
  kernel.addPass(tile::createTileLowerChannels());
  kernel.addPass(tile::createTileDistribute());
  // Roles repeat constants and addresses; nothing else is simplified here.
  kernel.addPass(createCSEPass());
  kernel.addPass(tile::createTileRotateWaits());
  addVerifiers(kernel, options);
}

static void addNVVM(OpPassManager &pm) {
  // After the verifiers of the previous level, which require commits, an MMA
  // role in each CTA, one branch around it, separate consumers, and loads of
  // the tile dialect.
  kernels(pm).addPass(tile::createTileTcgen05OrderProducts());
  kernels(pm).addPass(tile::createTileTcgen05PairCtas());
  kernels(pm).addPass(tile::createTileTcgen05WidenRoles());
  kernels(pm).addPass(tile::createTileTcgen05ReduceLoads());
  kernels(pm).addPass(tile::createTileShareConsumers());
  kernels(pm).addPass(tile::createTileCarryStages());
  kernels(pm).addPass(tile::createTileTcgen05SeparateMasks());
  kernels(pm).addPass(tile::createTileTcgen05UnrollRows());
  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  module.addPass(createConvertTcgen05ToNVVM());
  module.addPass(createConvertTileToNVVM());
  module.addPass(createConvertKernelToLLVM());
}

void fmha::addPhase(OpPassManager &pm, Level level,
                    const PipelineOptions &options) {
  switch (level) {
  case Level::Attention:
    return;
  case Level::Tiled:
    return addTiled(pm, options);
  case Level::Placed:
    return addPlaced(pm, options);
  case Level::Specialized:
    return addSpecialized(pm, options);
  case Level::Machine:
    return addMachine(pm, options);
  case Level::NVVM:
    return addNVVM(pm);
  }
}

void fmha::addPtxPhase(OpPassManager &pm, PipelineSource pipeline) {
  SerializeKernelsOptions serialize;
  serialize.pipeline = pipeline;
  pm.addPass(createSerializeKernels(serialize));
}

static void addAllPhases(OpPassManager &pm, const PipelineOptions &options) {
  for (Level level : {Level::Tiled, Level::Placed, Level::Specialized,
                      Level::Machine, Level::NVVM})
    addPhase(pm, level, options);
  addPtxPhase(pm, options.pipeline);
}

void fmha::buildToPtxPipeline(OpPassManager &pm,
                              const PipelineOptions &options) {
  // Passes on kernels are nested in pm, so they apply to one module only.
  pm.addPass(createNestedModules(
      [&](OpPassManager &nested) { addAllPhases(nested, options); }));
  addAllPhases(pm, options);
}

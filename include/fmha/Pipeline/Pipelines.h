//===- Pipelines.h - The phases, as one flat list ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_PIPELINES_H
#define FMHA_PIPELINE_PIPELINES_H

#include "fmha/Pipeline/Compiler.h"

namespace mlir {
class OpPassManager;
}

namespace fmha {

struct PipelineOptions {
  std::string target = "sm_100a";
  schedule::Overrides overrides;
  /// Verify capacities and synchronization after each level with memory spaces.
  bool verifyKernels = true;
  schedule::Hints hints = {};
  schedule::PlanListener onPlan = {};
  PipelineSource pipeline = PipelineSource::Table;
};

/// Appends the passes of tile-warp-specialize, which partition kernels into
/// roles. The pass manager is one for gpu.func.
void buildWarpSpecializePipeline(mlir::OpPassManager &kernel);

/// Appends the passes from the level before `level` to `level`. The pass
/// manager is one for builtin.module.
void addPhase(mlir::OpPassManager &pm, Level level,
              const PipelineOptions &options);

/// Appends the passes from the NVVM level to a `gpu.binary` with a manifest.
/// The comment in the PTX says that the kernel's loops came from `pipeline`.
void addPtxPhase(mlir::OpPassManager &pm, PipelineSource pipeline);

/// Appends the pipeline `fmha-to-ptx`: all phases from fmha.attention to PTX,
/// also in nested modules.
void buildToPtxPipeline(mlir::OpPassManager &pm,
                        const PipelineOptions &options);

} // namespace fmha

#endif // FMHA_PIPELINE_PIPELINES_H

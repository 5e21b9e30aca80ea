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
  /// Verify capacities and synchronisation behind each level that has places.
  bool verifyKernels = true;
  schedule::Hints hints = {};
};

/// Cuts placed kernels into roles: the passes of tile-warp-specialize, on
/// gpu.func.
void buildWarpSpecializePipeline(mlir::OpPassManager &kernel);

/// Adds the passes that lead from the level before `level` to `level`. The
/// pass manager is one for builtin.module.
void addPhase(mlir::OpPassManager &pm, Level level,
              const PipelineOptions &options);

/// From the NVVM level to a `gpu.binary` that holds PTX and launch manifest.
void addPtxPhase(mlir::OpPassManager &pm);

/// All phases from fmha.attention to PTX, in nested modules too: the pipeline
/// `fmha-to-ptx`.
void buildToPtxPipeline(mlir::OpPassManager &pm,
                        const PipelineOptions &options);

} // namespace fmha

#endif // FMHA_PIPELINE_PIPELINES_H

//===- ProgramPipelines.h - Pipelines for whole programs --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_PROGRAMPIPELINES_H
#define FMHA_PIPELINE_PROGRAMPIPELINES_H

#include "fmha/Conversion/Passes.h"
#include "fmha/Pipeline/Pipelines.h"

namespace fmha {

struct ProgramOptions {
  /// One GPU or more; `kernels.target` is set to each of them.
  std::vector<std::string> targets = {"sm_100a"};
  PipelineOptions kernels = {};
  Switch checks = Switch::On;
  Memory memory = Memory::Device;
};

/// Appends the pipeline `fmha-to-gpu`: kernels and their launches, in a program
/// on memrefs that the device can access.
void buildToGpuPipeline(mlir::OpPassManager &pm, const ProgramOptions &options);

/// Appends the pipeline `fmha-program-to-llvm`: from a program of func, linalg,
/// tensor, memref, scf, arith, math and fmha, on tensors or on memrefs in host
/// memory, to the LLVM dialect with calls of libfmha_mgpu.so.
void buildProgramToLLVMPipeline(mlir::OpPassManager &pm,
                                const ProgramOptions &options);

/// Registers both.
void registerProgramPipelines();

} // namespace fmha

#endif // FMHA_PIPELINE_PROGRAMPIPELINES_H

//===- KernelPipelineOptions.h - Options of kernel pipelines ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_KERNELPIPELINEOPTIONS_H
#define FMHA_LIB_PIPELINE_KERNELPIPELINEOPTIONS_H

#include "fmha/Conversion/FieldOption.h"
#include "fmha/Pipeline/Pipelines.h"

#include "mlir/Pass/PassOptions.h"

namespace fmha {

/// The options, except the target, of every pipeline that compiles kernels;
/// they are those of fmha-plan-schedule.
template <typename OptionsT>
struct KernelPipelineOptions : mlir::PassPipelineOptions<OptionsT> {
  using Base = mlir::PassPipelineOptions<OptionsT>;

  // An enumeration, so that the option parser rejects an unknown value: later
  // code could not report it.
  typename Base::template Option<schedule::PPlacement> pPlacement{
      *this, "p-placement",
      llvm::cl::desc("Memory that holds P for the second product"),
      llvm::cl::init(schedule::PPlacement::Auto),
      llvm::cl::values(
          clEnumValN(schedule::PPlacement::Auto, "auto", "planner's choice"),
          clEnumValN(schedule::PPlacement::Tmem, "tmem", "tensor memory"),
          clEnumValN(schedule::PPlacement::Smem, "smem", "shared memory"),
          clEnumValN(schedule::PPlacement::Registers, "registers",
                     "registers, on sm_90a"))};
  typename Base::template Option<bool> verifyKernels{
      *this, "verify-kernels",
      llvm::cl::desc("Run tile-verify-resources and tile-verify-sync after "
                     "each level with memory spaces"),
      llvm::cl::init(true)};
  typename Base::template Option<PipelineSource> pipeline{
      *this, "pipeline",
      llvm::cl::desc("Where roles, stages and orders of loops come from"),
      llvm::cl::init(PipelineSource::Table),
      llvm::cl::values(
          clEnumValN(PipelineSource::Table, "table",
                     "the table of the kernel family"),
          clEnumValN(PipelineSource::Derived, "derived",
                     "the results of a solver (tile-apply-pipeline)"))};
  HintOptions<typename Base::template Option<unsigned>> hints{*this};
  FieldOptions<typename Base::template Option<FieldChoice>> fields{*this};

  /// Returns the options, with the default target.
  PipelineOptions get() const {
    PipelineOptions result;
    result.overrides.pPlacement = pPlacement;
    result.verifyKernels = verifyKernels;
    result.pipeline = pipeline;
    result.hints = hints.get();
    fields.fix(result.overrides);
    return result;
  }
};

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_KERNELPIPELINEOPTIONS_H

//===- Register.cpp - Everything that this project registers ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Register.h"
#include "fmha/Conversion/HostProgram.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/Transforms/Registration.h"
#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Pipeline/Passes.h"
#include "fmha/Pipeline/Pipelines.h"
#include "fmha/Schedule/Overrides.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace fmha;

void fmha::registerAllFmha(DialectRegistry &registry) {
  registerFMHADialect(registry);
  registry.insert<tile::TileDialect>();
  registerConvertFMHAHostToLLVMInterface(registry);
  // gpu-module-to-binary asks the target attribute for a serializer, and that
  // one translates these dialects.
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

namespace {

/// Options of `fmha-to-ptx`, as fmha-plan-schedule takes them.
struct ToPtxOptions : public PassPipelineOptions<ToPtxOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("GPU, for example sm_100a"),
                             llvm::cl::init("sm_100a")};
  // An enumeration, so that the option parser refuses an unknown word: nothing
  // behind it could say so.
  Option<schedule::PPlacement> pPlacement{
      *this, "p-placement", llvm::cl::desc("Where P waits"),
      llvm::cl::init(schedule::PPlacement::Auto),
      llvm::cl::values(
          clEnumValN(schedule::PPlacement::Auto, "auto", "planner's choice"),
          clEnumValN(schedule::PPlacement::Tmem, "tmem", "tensor memory"),
          clEnumValN(schedule::PPlacement::Smem, "smem", "shared memory"),
          clEnumValN(schedule::PPlacement::Registers, "registers",
                     "registers, which no GPU of today can have"))};
  Option<bool> verifyKernels{
      *this, "verify-kernels",
      llvm::cl::desc("Run tile-verify-resources and tile-verify-sync behind "
                     "each level that has places"),
      llvm::cl::init(true)};
  Option<unsigned> batch{*this, "batch", llvm::cl::desc("Batch to plan for"),
                         llvm::cl::init(0)};
  Option<unsigned> qHeads{*this, "q-heads",
                          llvm::cl::desc("Query heads to plan for"),
                          llvm::cl::init(0)};
  Option<unsigned> kvHeads{*this, "kv-heads",
                           llvm::cl::desc("KV heads to plan for"),
                           llvm::cl::init(0)};
  Option<unsigned> qLen{*this, "q-len",
                        llvm::cl::desc("Query length to plan for"),
                        llvm::cl::init(0)};
  Option<unsigned> kvLen{*this, "kv-len",
                         llvm::cl::desc("Key length to plan for"),
                         llvm::cl::init(0)};
  /// One option per field that may be fixed.
  std::vector<std::unique_ptr<Option<FieldChoice>>> fields;

  ToPtxOptions() {
    for (const schedule::ScheduleField &field : schedule::scheduleFields())
      fields.push_back(std::make_unique<Option<FieldChoice>>(
          *this, field.flag, llvm::cl::desc(field.help)));
  }
};

} // namespace

static PipelineOptions fromText(const ToPtxOptions &options) {
  PipelineOptions result;
  result.target = options.target;
  result.overrides.pPlacement = options.pPlacement;
  result.verifyKernels = options.verifyKernels;
  result.hints = {options.batch, options.qHeads, options.kvHeads, options.qLen,
                  options.kvLen};
  for (auto [field, option] :
       llvm::zip_equal(schedule::scheduleFields(), options.fields))
    result.overrides.*field.wanted = option->wanted;
  return result;
}

void fmha::registerAllFmhaPasses() {
  registerFMHATransforms();
  registerFmhaConversionPasses();
  tile::registerFmhaTilePasses();
  registerFmhaPipelinePasses();
  PassPipelineRegistration<ToPtxOptions>(
      "fmha-to-ptx", "From fmha.attention to a gpu.binary that holds PTX",
      [](OpPassManager &pm, const ToPtxOptions &options) {
        buildToPtxPipeline(pm, fromText(options));
      });
}

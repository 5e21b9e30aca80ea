//===- KernelSerializer.cpp - LLVM dialect to PTX -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSerializer.h"

#include "mlir/Target/LLVM/ModuleToObject.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"

using namespace mlir;

namespace {

/// Upstream's path from a gpu.module to PTX, with other LLVM passes and without
/// libdevice, which kernels do not call.
class KernelSerializer : public LLVM::ModuleToObject {
public:
  using ModuleToObject::ModuleToObject;

private:
  LogicalResult optimizeModule(llvm::Module &module, int level) override;
  FailureOr<SmallVector<char, 0>> moduleToObject(llvm::Module &module) override;
};

} // namespace

static void optimize(llvm::Module &module, llvm::TargetMachine *machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::DivRemPairsPass());
  llvm::createModuleToFunctionPassAdaptor(std::move(passes))
      .run(module, modules);
}

/// InstCombine compares numbers of bf16 as such where they were extended
/// before. NVPTX writes that as setp.ftz.bf16, which PTX does not have:
///   %c = fcmp ogt bfloat %x, 0xRBE40
/// ->
///   %w = fpext bfloat %x to float
///   %c = fcmp ogt float %w, -0.1875
static void widenComparisons(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
      if (!compare)
        continue;
      llvm::Type *type = compare->getOperand(0)->getType();
      if (!type->getScalarType()->isBFloatTy())
        continue;
      llvm::IRBuilder<> b(compare);
      for (llvm::Use &use : compare->operands())
        use.set(b.CreateFPExt(use.get(), type->getWithNewType(b.getFloatTy())));
    }
}

/// Runs the LLVM passes. Upstream has reported a missing target machine.
LogicalResult KernelSerializer::optimizeModule(llvm::Module &module,
                                               int level) {
  FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
  if (failed(machine))
    return failure();
  (*machine)->setOptLevel(llvm::CodeGenOptLevel(level));
  if (level > 0)
    optimize(module, *machine);
  widenComparisons(module);
  return success();
}

FailureOr<SmallVector<char, 0>>
KernelSerializer::moduleToObject(llvm::Module &module) {
  FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
  if (failed(machine))
    return failure();
  auto text = translateModuleToISA(module, **machine,
                                   [&] { return getOperation().emitError(); });
  if (failed(text))
    return failure();
  return SmallVector<char, 0>(text->begin(), text->end());
}

std::optional<SmallVector<char, 0>>
fmha::serializeToPtx(gpu::GPUModuleOp module, NVVM::NVVMTargetAttr target) {
  NVVM::SerializeGPUModuleBase::init();
  return KernelSerializer(*module, target.getTriple(), target.getChip(),
                          target.getFeatures(), target.getO())
      .run();
}

//===- Tcgen05ToLLVMIR.cpp - Translate attributes to LLVM IR --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/Tcgen05/Passes.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "llvm/IR/InstrTypes.h"

using namespace mlir;
using namespace fmha::tcgen05;

namespace {

/// llvm.inline_asm cannot say that it is convergent, but its call in LLVM IR
/// can.
class Tcgen05Translation : public LLVMTranslationDialectInterface {
public:
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult amendOperation(Operation *op,
                               ArrayRef<llvm::Instruction *> instructions,
                               NamedAttribute attribute,
                               LLVM::ModuleTranslation &) const override {
    if (attribute.getName() != convergentName || !isa<LLVM::InlineAsmOp>(op))
      return op->emitError() << "expected \"" << convergentName
                             << "\" on an llvm.inline_asm, got "
                             << attribute.getName() << " on " << op->getName();
    for (llvm::Instruction *each : instructions)
      if (auto *call = dyn_cast<llvm::CallBase>(each))
        call->setConvergent();
    return success();
  }
};

} // namespace

void fmha::registerTcgen05DialectTranslation(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, Tcgen05Dialect *dialect) {
    dialect->addInterfaces<Tcgen05Translation>();
  });
}

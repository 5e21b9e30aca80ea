//===- SeparateBases.cpp - Addresses of shared memory per role ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %barrier = getelementptr @shared[64]        %barrier = ...
//   if elect.sync {                       ->    if elect.sync {
//     while ... { use %barrier[%n] }              %base = asm "mov" @shared
//   }                                             while ... {
//                                                   use (%base + 64)[%n]
//                                                 }
//                                               }
//
// ptxas 13.0 keeps a value that roles share in registers of threads if one of
// them needs it there. Addresses and descriptors of products would then be in
// registers of threads as well, and their loop would wait for R2UR. With tiles
// drawn from a counter, three consumers and blocks of 80 keys, head dim 128 and
// 8192 keys took 1.06 times as long on an H100
// (results/h100-prefill-2026-11-26.md). Only kernels for targets where this was
// measured are changed (HasOwnBases of Targets.td).
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fmha;

namespace {

/// Replaces in `region` the addresses that derive from the symbol of shared
/// memory by addresses that derive from a copy of it.
class OwnBase {
public:
  explicit OwnBase(Region &region)
      : region(region), b(region.getLoc(), region.getContext()) {
    b.setInsertionPointToStart(&region.front());
  }

  void run() {
    SmallVector<OpOperand *> uses;
    region.walk([&](Operation *op) {
      for (OpOperand &use : op->getOpOperands())
        if (isAddress(use.get()))
          uses.push_back(&use);
    });
    for (OpOperand *use : uses)
      use->set(remake(use->get()));
  }

private:
  /// Returns whether `value` is an address at a constant distance from the
  /// symbol.
  static bool isAddress(Value value) {
    if (auto symbol = value.getDefiningOp<LLVM::AddressOfOp>())
      return symbol.getGlobalName() == sharedMemorySymbol;
    auto element = value.getDefiningOp<LLVM::GEPOp>();
    return element && element.getDynamicIndices().empty() &&
           isAddress(element.getBase());
  }

  Value remake(Value value) {
    if (made.contains(value))
      return made.lookup(value);
    auto element = value.getDefiningOp<LLVM::GEPOp>();
    if (!element) {
      made.map(value, base(value));
    } else {
      made.map(element.getBase(), remake(element.getBase()));
      b.clone(*element, made);
    }
    return made.lookup(value);
  }

  Value base(Value symbol) {
    if (own)
      return own;
    Value address =
        LLVM::AddressOfOp::create(b, symbol.getType(), sharedMemorySymbol);
    return own = LLVM::InlineAsmOp::create(
                     b, symbol.getType(), address, "mov.b64 $0, $1;", "=l,l",
                     /*has_side_effects=*/true, /*is_align_stack=*/false,
                     LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                     ArrayAttr())
                     .getResult(0);
  }

  Region &region;
  ImplicitLocOpBuilder b;
  IRMapping made;
  Value own;
};

/// Returns whether one thread executes a loop in `branch`.
bool isRoleOfThread(scf::IfOp branch) {
  return branch.getCondition().getDefiningOp<NVVM::ElectSyncOp>() &&
         branch.getThenRegion()
             .walk([](scf::WhileOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

/// Returns whether loops of `kernel` get bases of their own on its target.
bool hasOwnBases(LLVM::LLVMFuncOp kernel) {
  if (!tile::isTiledKernel(kernel))
    return false;
  const target::Target *gpu =
      target::findTarget(tile::scheduleOf(kernel).target);
  return gpu && gpu->hasOwnBases;
}

} // namespace

void fmha::separateBases(Operation *root) {
  SmallVector<scf::IfOp> roles;
  root->walk([&](LLVM::LLVMFuncOp kernel) {
    if (!hasOwnBases(kernel))
      return;
    kernel.walk([&](scf::IfOp branch) {
      if (isRoleOfThread(branch))
        roles.push_back(branch);
    });
  });
  for (scf::IfOp role : roles)
    OwnBase(role.getThenRegion()).run();
}

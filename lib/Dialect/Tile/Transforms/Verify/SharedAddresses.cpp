//===- SharedAddresses.cpp - Addresses in shared memory -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedAddresses.h"

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Analysis/SliceWalk.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha::tile;

/// Returns whether values of a type are addresses in shared memory.
static bool isShared(Type type) {
  constexpr unsigned sharedSpace = 3;
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() == sharedSpace;
  auto memref = dyn_cast<BaseMemRefType>(type);
  if (!memref || !memref.getMemorySpace())
    return false;
  if (auto space = dyn_cast<gpu::AddressSpaceAttr>(memref.getMemorySpace()))
    return space.getValue() == gpu::AddressSpace::Workgroup;
  auto number = dyn_cast<IntegerAttr>(memref.getMemorySpace());
  return number && number.getInt() == sharedSpace;
}

/// Returns whether a value of a type may be made of an address. Addresses in
/// shared memory have 32 bits.
static bool canHold(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<LLVM::LLVMPointerType, LLVM::LLVMStructType, BaseMemRefType,
             IndexType>(type) ||
         (element.isIntOrIndex() &&
          (element.isIndex() || element.getIntOrFloatBitWidth() >= 32));
}

/// Returns whether results of an op may be computed from its operands. Results
/// of ops that read memory come from that memory.
static bool computes(Operation *op) {
  return isMemoryEffectFree(op) || isa<LLVM::InlineAsmOp>(op);
}

/// Returns what a value may be made of: for a result of a branch or a loop, and
/// an argument of its region, all values of that type that enter and leave it.
static SmallVector<Value> sourcesOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    op = value.getParentBlock()->getParentOp();
  if (isa<gpu::GPUFuncOp>(op))
    return {};
  if (!op->getNumRegions())
    return computes(op) ? SmallVector<Value>(op->getOperands())
                        : SmallVector<Value>();
  SmallVector<Value> all(op->getOperands());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(all, block.getTerminator()->getOperands());
  llvm::erase_if(
      all, [&](Value other) { return other.getType() != value.getType(); });
  return all;
}

SharedAddresses::SharedAddresses(gpu::GPUFuncOp func) {
  auto converts = [](Operation *op) {
    return !isa_and_nonnull<TileDialect>(op->getDialect()) && computes(op) &&
           llvm::any_of(op->getOperandTypes(), isShared) &&
           llvm::any_of(op->getResultTypes(), [](Type type) {
             return !isShared(type) && canHold(type);
           });
  };
  isConverted = func.walk([&](Operation *op) {
                      return converts(op) ? WalkResult::interrupt()
                                          : WalkResult::advance();
                    })
                    .wasInterrupted();
}

bool SharedAddresses::mayHold(Value value) const {
  if (!isConverted)
    return isShared(value.getType());
  auto step = [](Value made) -> WalkContinuation {
    if (isShared(made.getType()))
      return WalkContinuation::interrupt();
    if (!canHold(made.getType()))
      return WalkContinuation::skip();
    return WalkContinuation::advanceTo(sourcesOf(made));
  };
  return walkSlice(value, step).wasInterrupted();
}

/// Returns whether an op takes an address and its accesses are not known. That
/// an access is in shared memory must follow from its own pointer.
bool SharedAddresses::escapes(Operation *op) const {
  auto holds = [&](Value value) { return mayHold(value); };
  if (!isa<SyncOpInterface>(op))
    return (!isMemoryEffectFree(op) || isa<LLVM::InlineAsmOp>(op)) &&
           llvm::any_of(op->getOperands(), holds);
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    if (holds(store.getValue()))
      return true;
  if (!isa<LLVM::LoadOp, LLVM::StoreOp>(op))
    return false;
  SmallVector<SyncEffect> effects;
  cast<SyncOpInterface>(op).getSyncEffects(effects);
  return effects.empty() && llvm::any_of(op->getOperands(), holds);
}

LogicalResult SharedAddresses::check(Operation *op) const {
  if (!escapes(op))
    return success();
  return op->emitError() << "tile-verify-sync cannot follow this op: it takes "
                            "an address in shared memory, and its accesses are "
                            "not known; use llvm.load, llvm.store or "
                            "nvvm.ldmatrix, or give it SyncOpInterface";
}

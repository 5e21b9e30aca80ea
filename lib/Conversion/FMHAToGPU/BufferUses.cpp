//===- BufferUses.cpp - Reads and writes of a buffer ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferUses.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace fmha;

bool fmha::isKernelOp(Operation *op) {
  return isa<AttentionOp, AppendOp, MergeOp>(op);
}

Value fmha::rootOf(Value memref) {
  Value source = viewSource(memref);
  while (source && isa<MemRefType>(source.getType())) {
    memref = source;
    source = viewSource(memref);
  }
  return memref;
}

/// Returns whether the op that defines `root` allocates it.
static bool isAllocation(Value root) {
  return root.getDefiningOp<memref::AllocOp>() ||
         root.getDefiningOp<memref::AllocaOp>();
}

bool BufferUses::haveOneName(Value root, const BufferFlow &flow) {
  if (auto argument = dyn_cast<BlockArgument>(root))
    return argument.getOwner()->isEntryBlock() &&
           isa<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto global = root.getDefiningOp<memref::GetGlobalOp>()) {
    auto symbol = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        global, global.getNameAttr());
    return symbol && symbol.getConstant();
  }
  return isAllocation(root) || flow.isNewResult(root);
}

Access &Access::operator|=(const Access &other) {
  hostReads |= other.hostReads;
  hostWrites |= other.hostWrites;
  deviceReads |= other.deviceReads;
  deviceWrites |= other.deviceWrites;
  devicePartly |= other.devicePartly;
  return *this;
}

/// Returns the effects of a kernel on the buffer `root`. A kernel overwrites
/// its destination completely, except for rows outside all packed sequences,
/// caches that it appends to, and elements outside a view.
static Access deviceAccess(Operation *kernel, OpOperand &use, Value root) {
  Access access;
  auto dps = cast<DestinationStyleOpInterface>(kernel);
  bool isOwn = use.getOwner() == kernel;
  bool isInit = isOwn && dps.isDpsInit(&use);
  bool isWritten = isOwn && hasEffect<MemoryEffects::Write>(kernel, use.get());
  auto attention = dyn_cast<AttentionOp>(kernel);
  access.deviceReads = !isInit;
  access.deviceWrites = isWritten;
  auto append = dyn_cast<AppendOp>(kernel);
  access.devicePartly =
      isWritten && (!isInit || use.get() != root ||
                    (attention && attention.getCuSeqlensQ()) ||
                    (append && use.get() != append.getQueryOut()));
  return access;
}

/// Returns the effects on the memref that the op of `use` declares, or none if
/// it declares none and may therefore create an alias.
static std::optional<Access> hostAccess(OpOperand &use,
                                        const BufferFlow &flow) {
  Operation *op = use.getOwner();
  if (isa<CallOpInterface>(op)) {
    if (flow.isKept(use))
      return std::nullopt;
    return Access{.hostReads = true, .hostWrites = flow.isWritten(use)};
  }
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return std::nullopt;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  Access access;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (effect.getValue() != use.get())
      continue;
    access.hostReads |= isa<MemoryEffects::Read>(effect.getEffect());
    access.hostWrites |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  if (!access.onHost())
    return std::nullopt;
  return access;
}

/// Returns whether `op` only reads extents or compares addresses.
static bool asksForShape(Operation *op) {
  if (isa<memref::ExtractAlignedPointerAsIndexOp>(op))
    return llvm::all_of(op->getUsers(), llvm::IsaPred<arith::CmpIOp>);
  return isa<memref::DimOp, memref::RankOp>(op);
}

/// Returns whether `op` creates memrefs, which may be views of its operands.
static bool makesMemrefs(Operation *op) {
  auto isMemref = llvm::IsaPred<BaseMemRefType>;
  return llvm::any_of(op->getResultTypes(), isMemref) ||
         llvm::any_of(op->getRegions(), [&](Region &region) {
           return llvm::any_of(region.getArgumentTypes(), isMemref);
         });
}

BufferUses::BufferUses(Value root, const BufferFlow &flow)
    : root(root), home(root.getParentBlock()) {
  owned = areOfNew() || flow.isNewResult(root);
  known = haveOneName(root, flow);
  for (Value value : flow.viewsOf(root))
    for (OpOperand &use : value.getUses())
      visit(use, flow);
  known &= !spread || home->isEntryBlock();
  known &= llvm::all_of(deallocs, [&](Operation *op) { return mayFree(op); });
}

bool BufferUses::areOfNew() const { return isAllocation(root); }

void BufferUses::visit(OpOperand &use, const BufferFlow &flow) {
  Operation *op = use.getOwner();
  Operation *top = home->getParent()->findAncestorOpInRegion(*op);
  if (!top) {
    known = false;
    return;
  }
  spread |= top->getBlock() != home;
  if (isa<memref::DeallocOp>(op))
    return deallocs.push_back(op);
  if (auto read = dyn_cast<ReadOp>(op))
    op = read->getParentOfType<AttentionOp>();
  if (isKernelOp(op))
    return note(op, deviceAccess(op, use, root));
  if (asksForShape(op))
    return;
  if (isa<func::ReturnOp>(op)) {
    returned = true;
    return note(op, Access{.hostReads = true});
  }
  std::optional<Access> access = hostAccess(use, flow);
  // A value that leaves the buffer's region is used in another iteration.
  bool leaves = op == top && isa<RegionBranchTerminatorOpInterface>(op);
  if (flow.isPassedOn(use))
    known &= !leaves && !access && !hasEffect<MemoryEffects::Free>(op);
  else
    known &= access && (isa<CallOpInterface>(op) || !makesMemrefs(op));
  if (access)
    note(op, *access);
}

/// Returns whether copies can be inserted after the last use before `free`: the
/// op around `free`, which may not execute it, does not write the buffer, and
/// no block comes after.
bool BufferUses::mayFree(Operation *free) const {
  Operation *top = home->getParent()->findAncestorOpInRegion(*free);
  bool isLast = top->getBlock() == home || top->getBlock()->hasNoSuccessors();
  // Buffers that a caller frees, and constants, must not be freed here.
  return owned && !root.getDefiningOp<memref::AllocaOp>() && isLast &&
         (top == free || !of(top).writes());
}

/// Adds `access` to the effects of `op` and of all ops around it, up to the
/// region of the buffer.
void BufferUses::note(Operation *op, const Access &access) {
  sum |= access;
  for (; op; op = op->getParentOp()) {
    accesses[op] |= access;
    if (op->getParentRegion() == home->getParent())
      return;
  }
}

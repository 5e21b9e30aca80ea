//===- BufferUses.cpp - Who reads and writes a buffer, and where ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferUses.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fmha;

bool fmha::isKernelOp(Operation *op) { return isa<AttentionOp, MergeOp>(op); }

Value fmha::rootOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

Access &Access::operator|=(const Access &other) {
  hostReads |= other.hostReads;
  hostWrites |= other.hostWrites;
  deviceReads |= other.deviceReads;
  deviceWrites |= other.deviceWrites;
  devicePartly |= other.devicePartly;
  return *this;
}

/// A kernel overwrites its destination completely, except for rows outside all
/// packed sequences and elements outside a view.
static Access deviceAccess(Operation *kernel, OpOperand &use, Value root) {
  Access access;
  auto dps = cast<DestinationStyleOpInterface>(kernel);
  bool isWritten = use.getOwner() == kernel && dps.isDpsInit(&use);
  auto attention = dyn_cast<AttentionOp>(kernel);
  access.deviceReads = !isWritten;
  access.deviceWrites = isWritten;
  access.devicePartly = isWritten && (use.get() != root ||
                                      (attention && attention.getCuSeqlensQ()));
  return access;
}

/// An op that does not say what it does may do anything.
static Access hostAccess(Operation *op, Value memref) {
  Access access;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    access.hostReads = access.hostWrites = !isMemoryEffectFree(op);
    return access;
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (effect.getValue() && effect.getValue() != memref)
      continue;
    access.hostReads |= isa<MemoryEffects::Read>(effect.getEffect());
    access.hostWrites |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  return access;
}

BufferUses::BufferUses(Value root)
    : root(root), home(root.getParentBlock()), pending{root} {
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (OpOperand &use : value.getUses())
      visit(use);
  }
}

void BufferUses::visit(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!home->findAncestorOpInBlock(*op)) {
    known = false;
    return;
  }
  if (auto read = dyn_cast<ReadOp>(op))
    op = read->getParentOfType<AttentionOp>();
  if (isKernelOp(op))
    return note(op, deviceAccess(op, use, root));
  if (auto view = dyn_cast<ViewLikeOpInterface>(op);
      view && view.getViewSource() == use.get())
    return pending.push_back(view.getViewDest());
  if (isa<memref::DeallocOp>(op))
    return deallocs.push_back(op);
  if (isa<memref::DimOp>(op))
    return;
  if (isa<func::ReturnOp>(op))
    return note(op, Access{.hostReads = true});
  bool isMemref = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<BaseMemRefType>(type);
  });
  bool branches =
      isa<RegionBranchOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>();
  if (isMemref || branches)
    known = false;
  note(op, hostAccess(op, use.get()));
}

/// Counts the access for the op and for all ops around it, up to the block of
/// the buffer.
void BufferUses::note(Operation *op, const Access &access) {
  sum |= access;
  for (; op; op = op->getParentOp()) {
    accesses[op] |= access;
    if (op->getBlock() == home)
      return;
  }
}

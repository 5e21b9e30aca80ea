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
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fmha;

bool fmha::isKernelOp(Operation *op) { return isa<AttentionOp, MergeOp>(op); }

Value fmha::rootOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (!isa<MemRefType>(view.getViewSource().getType()))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

/// Whether `root` is memory that only its views reach: a new allocation, an
/// argument of a function, or a global that nothing writes.
static bool hasNoOtherName(Value root) {
  if (auto argument = dyn_cast<BlockArgument>(root))
    return argument.getOwner()->isEntryBlock() &&
           isa<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto global = root.getDefiningOp<memref::GetGlobalOp>()) {
    auto symbol = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        global, global.getNameAttr());
    return symbol && symbol.getConstant();
  }
  return root.getDefiningOp<memref::AllocOp>() ||
         root.getDefiningOp<memref::AllocaOp>();
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

/// Returns what `op` says that it does to `memref`; none if it says nothing,
/// and so may make another name of it.
static std::optional<Access> hostAccess(Operation *op, Value memref) {
  if (isa<CallOpInterface>(op))
    return Access{.hostReads = true, .hostWrites = true};
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return std::nullopt;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  Access access;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (effect.getValue() != memref)
      continue;
    access.hostReads |= isa<MemoryEffects::Read>(effect.getEffect());
    access.hostWrites |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  if (!access.onHost())
    return std::nullopt;
  return access;
}

/// Whether `op` asks for extents or strides only.
static bool asksForShape(Operation *op) {
  if (auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(op))
    return metadata.getBaseBuffer().use_empty();
  return isa<memref::DimOp, memref::RankOp>(op);
}

BufferUses::BufferUses(Value root)
    : root(root), home(root.getParentBlock()), known(hasNoOtherName(root)),
      pending{root} {
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
  if (isa<memref::DeallocOp>(op)) {
    // What a caller frees or a constant holds is not freed here.
    known &= bool(root.getDefiningOp<memref::AllocOp>());
    return deallocs.push_back(op);
  }
  if (auto read = dyn_cast<ReadOp>(op))
    op = read->getParentOfType<AttentionOp>();
  if (isKernelOp(op))
    return note(op, deviceAccess(op, use, root));
  if (auto view = dyn_cast<ViewLikeOpInterface>(op);
      view && view.getViewSource() == use.get())
    return pending.push_back(view.getViewDest());
  if (asksForShape(op))
    return;
  if (isa<func::ReturnOp>(op)) {
    returned = true;
    return note(op, Access{.hostReads = true});
  }
  bool isMemref = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<BaseMemRefType>(type);
  });
  std::optional<Access> access = hostAccess(op, use.get());
  if (isMemref || !access || op->hasTrait<OpTrait::IsTerminator>())
    known = false;
  if (access)
    note(op, *access);
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

//===- BufferGroups.cpp - How kernels access host memory ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferGroups.h"
#include "KernelOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace fmha;

llvm::SetVector<Value> fmha::memrefsOf(Operation *kernel) {
  llvm::SetVector<Value> memrefs;
  kernel->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()))
        memrefs.insert(operand);
  });
  return memrefs;
}

//===----------------------------------------------------------------------===//
// Host or device
//===----------------------------------------------------------------------===//

/// Returns whether the IR shows that `origin` is in device memory.
static bool isOnDevice(Value origin) {
  return cast<BaseMemRefType>(origin.getType()).getMemorySpace() ||
         origin.getDefiningOp<gpu::AllocOp>();
}

/// Returns whether `origin` is certainly in host memory.
static bool isOnHost(Value origin) {
  if (auto argument = dyn_cast<BlockArgument>(origin))
    return !isOnDevice(origin) &&
           isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *op = origin.getDefiningOp();
  return !isOnDevice(origin) &&
         isa<memref::AllocOp, memref::AllocaOp, memref::GetGlobalOp>(op);
}

/// Returns whether `memref`, an operand of `kernel`, is in device memory. Emits
/// an error and fails if it may be in either.
static FailureOr<bool> isOnDevice(Operation *kernel, Value memref,
                                  const BufferFlow &flow) {
  if (isOnDevice(memref) || isOnDevice(rootOf(memref)))
    return true;
  ArrayRef<Value> origins = flow.originsOf(memref);
  const Value *device =
      llvm::find_if(origins, [](Value origin) { return isOnDevice(origin); });
  const Value *host = llvm::find_if(origins, isOnHost);
  if (device == origins.end())
    return false;
  if (host == origins.end())
    return llvm::all_of(origins,
                        [](Value origin) { return isOnDevice(origin); });
  InFlightDiagnostic error =
      kernel->emitError()
      << "expected " << operandName(kernel, memref)
      << " to be either in host memory or in device memory, got a memref that "
         "is in one or the other at run time; allocate both by gpu.alloc, or "
         "both on the host";
  error.attachNote(host->getLoc()) << "in host memory";
  error.attachNote(device->getLoc()) << "in device memory";
  return failure();
}

//===----------------------------------------------------------------------===//
// The placement of a group
//===----------------------------------------------------------------------===//

/// Returns whether each buffer can be allocated on the device instead: the host
/// does not use it, or the host can access the memory as well.
static bool canMove(const BufferGroup &group, const BufferFlow &flow,
                    bool isManaged) {
  llvm::SmallDenseSet<Value> roots;
  for (const BufferUses &uses : group.buffers)
    roots.insert(uses.getRoot());
  return llvm::all_of(group.buffers, [&](const BufferUses &uses) {
    // A caller would free a returned buffer as host memory.
    return uses.getRoot().getDefiningOp<memref::AllocOp>() && uses.areKnown() &&
           !uses.areReturned() && (isManaged || !uses.total().onHost()) &&
           llvm::all_of(uses.frees(), [&](Operation *free) {
             return llvm::all_of(
                 flow.originsOf(free->getOperand(0)),
                 [&](Value origin) { return roots.contains(origin); });
           });
  });
}

/// Returns whether the view `memref` has the base address of its buffer, and
/// the position of its first element as an offset.
static bool keepsAddress(Value memref) {
  Operation *op = memref.getDefiningOp();
  return !op || isa<RegionBranchOpInterface, arith::SelectOp>(op) ||
         (isa<memref::MemRefDialect>(op->getDialect()) &&
          !isa<memref::ViewOp>(op));
}

/// Returns whether `memref`, which depends on control flow, can be rebuilt on
/// the copies from its offset, sizes and strides.
static bool canRebase(Value memref, const BufferGroup &group,
                      const BufferFlow &flow) {
  auto type = cast<MemRefType>(memref.getType());
  return type.isStrided() &&
         llvm::all_of(group.buffers, [&](const BufferUses &uses) {
           Value root = uses.getRoot();
           auto views = flow.viewsOf(root);
           return cast<MemRefType>(root.getType()).getElementType() ==
                      type.getElementType() &&
                  llvm::all_of(views.drop_front(views.front() == root),
                               keepsAddress);
         });
}

/// Returns whether `op` runs after `kernel` and never before it.
static bool isAfter(Operation *op, Operation *kernel, Region &region) {
  Operation *first = region.findAncestorOpInRegion(*kernel);
  Operation *second = region.findAncestorOpInRegion(*op);
  if (first->getBlock() != second->getBlock())
    return second->getBlock()->hasNoSuccessors();
  return first->isBeforeInBlock(second);
}

/// Returns whether the buffers are live at the same time when kernels run, so
/// that their addresses differ.
static bool haveOwnAddresses(const BufferGroup &group) {
  Block *home = group.buffers.front().getRoot().getParentBlock();
  return llvm::all_of(group.buffers, [&](const BufferUses &uses) {
    return uses.getRoot().getParentBlock() == home &&
           llvm::all_of(uses.frees(), [&](Operation *free) {
             return llvm::all_of(group.kernels, [&](Operation *kernel) {
               return isAfter(free, kernel, *home->getParent());
             });
           });
  });
}

/// Returns whether each buffer can have a device copy that kernels use instead.
static bool canCopy(const BufferGroup &group, const BufferFlow &flow) {
  bool isOne = group.buffers.size() == 1;
  bool areKnown = llvm::all_of(group.buffers, [&](const BufferUses &uses) {
    return uses.areKnown() && !flow.overlaps(uses.getRoot()) &&
           isa<MemRefType>(uses.getRoot().getType());
  });
  if (!areKnown || (!isOne && !haveOwnAddresses(group)))
    return false;
  bool areDense = llvm::all_of(group.buffers, [](const BufferUses &uses) {
    return cast<MemRefType>(uses.getRoot().getType()).getLayout().isIdentity();
  });
  Value only = group.buffers.front().getRoot();
  return llvm::all_of(group.memrefs, [&](Value memref) {
    // The copies are dense, so views of buffers that are not dense differ.
    if (!areDense)
      return isOne && memref == only;
    return (isOne && rootOf(memref) == only) || canRebase(memref, group, flow);
  });
}

static Placement choosePlacement(const BufferGroup &group,
                                 const BufferFlow &flow, bool isManaged) {
  if (canMove(group, flow, isManaged))
    return Placement::Move;
  return canCopy(group, flow) ? Placement::Copy : Placement::Around;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

FailureOr<std::vector<BufferGroup>>
fmha::groupBuffers(func::FuncOp function, const FunctionSummaries &callees,
                   bool isManaged) {
  BufferFlow flow(function, callees);
  SmallVector<std::pair<Operation *, Value>> operands;
  llvm::SetVector<Value> roots;
  llvm::EquivalenceClasses<Value> together;
  auto collect = [&](Operation *kernel) -> LogicalResult {
    for (Value memref : memrefsOf(kernel)) {
      FailureOr<bool> device = isOnDevice(kernel, memref, flow);
      if (failed(device))
        return failure();
      if (*device)
        continue;
      operands.emplace_back(kernel, memref);
      for (Value origin : flow.originsOf(memref)) {
        roots.insert(origin);
        together.unionSets(flow.originsOf(memref).front(), origin);
      }
    }
    return success();
  };
  WalkResult result = function.walk([&](Operation *op) {
    bool failed = isKernelOp(op) && llvm::failed(collect(op));
    return failed ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  llvm::MapVector<Value, BufferGroup> groups;
  for (Value root : roots)
    groups[together.getLeaderValue(root)].buffers.emplace_back(root, flow);
  for (auto [kernel, memref] : operands) {
    BufferGroup &group =
        groups[together.getLeaderValue(flow.originsOf(memref).front())];
    group.memrefs.insert(memref);
    group.kernels.insert(kernel);
  }
  std::vector<BufferGroup> chosen;
  for (auto &[leader, group] : groups) {
    group.placement = choosePlacement(group, flow, isManaged);
    chosen.push_back(std::move(group));
  }
  return chosen;
}

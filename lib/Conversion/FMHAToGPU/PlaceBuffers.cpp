//===- PlaceBuffers.cpp - Copy buffers between host and device ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferGroups.h"
#include "CopyPlan.h"
#include "KernelOperands.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace fmha {
#define GEN_PASS_DEF_PLACEBUFFERS
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

struct PlaceBuffersPass
    : public fmha::impl::PlaceBuffersBase<PlaceBuffersPass> {
  using PlaceBuffersBase::PlaceBuffersBase;

  bool canScheduleOn(RegisteredOperationName name) const override {
    return name.getStringRef() == func::FuncOp::getOperationName() ||
           name.getStringRef() == ModuleOp::getOperationName();
  }
  void runOnOperation() override;

private:
  LogicalResult placeIn(func::FuncOp function,
                        const FunctionSummaries &callees);
};

/// Emits allocations and copies of one kind of memory.
struct DeviceMemory {
  bool isManaged;

  Value allocate(OpBuilder &b, Location loc, MemRefType type,
                 ValueRange sizes) const {
    return gpu::AllocOp::create(b, loc, type, Type(), ValueRange(), sizes,
                                ValueRange(), isManaged)
        .getMemref();
  }
  void free(OpBuilder &b, Location loc, Value buffer) const {
    gpu::DeallocOp::create(b, loc, Type(), ValueRange(), buffer);
  }
  void copy(OpBuilder &b, Location loc, Value from, Value to) const {
    if (isManaged)
      memref::CopyOp::create(b, loc, from, to);
    else
      gpu::MemcpyOp::create(b, loc, Type(), ValueRange(), to, from);
  }
};

SmallVector<Value> dynamicSizes(OpBuilder &b, Location loc, Value memref) {
  SmallVector<Value> sizes;
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t n = 0; n < type.getRank(); ++n)
    if (type.isDynamicDim(n))
      sizes.push_back(memref::DimOp::create(b, loc, memref, n));
  return sizes;
}

/// Returns the type of dense memory for the elements of `memref`.
MemRefType denseType(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return MemRefType::get(type.getShape(), type.getElementType());
}

//===----------------------------------------------------------------------===//
// Buffers whose uses are all known
//===----------------------------------------------------------------------===//

/// Calls `emit` where the lifetime of the buffer's copy ends: where the buffer
/// is freed, or at the end of its block or region.
void atEnd(const BufferUses &uses, llvm::function_ref<void(OpBuilder &)> emit) {
  Block &home = *uses.getRoot().getParentBlock();
  OpBuilder b(home.getParentOp()->getContext());
  auto emitBefore = [&](Operation *op) {
    b.setInsertionPoint(op);
    emit(b);
  };
  ArrayRef<Operation *> frees = uses.frees();
  if (frees.size() == 1 && frees.front()->getBlock() == &home)
    return emitBefore(frees.front());
  if (!uses.areSpread())
    return emitBefore(home.getTerminator());
  for (Block &block : *home.getParent())
    if (block.hasNoSuccessors())
      emitBefore(block.getTerminator());
}

/// Replaces memref.alloc by gpu.alloc, so that nothing needs to be copied.
void moveToDevice(const BufferGroup &group, const DeviceMemory &memory) {
  llvm::SetVector<Operation *> frees;
  for (const BufferUses &uses : group.buffers) {
    auto alloc = uses.getRoot().getDefiningOp<memref::AllocOp>();
    OpBuilder b(alloc);
    Value moved = memory.allocate(b, alloc.getLoc(), alloc.getType(),
                                  alloc.getDynamicSizes());
    if (uses.frees().empty())
      atEnd(uses, [&](OpBuilder &b) { memory.free(b, alloc.getLoc(), moved); });
    frees.insert_range(uses.frees());
    alloc.getMemref().replaceAllUsesWith(moved);
    alloc.erase();
  }
  for (Operation *free : frees) {
    OpBuilder b(free);
    memory.free(b, free->getLoc(), free->getOperand(0));
    free->erase();
  }
}

/// The device copies of the buffers of a group.
class DeviceCopies {
public:
  DeviceCopies(const BufferGroup &group, const DeviceMemory &memory)
      : group(group), memory(memory) {}

  void run();

private:
  void addCopy(const BufferUses &uses, ArrayRef<PlannedCopy> plan);
  void redirect(Operation *kernel);
  Value onDevice(OpBuilder &b, Location loc, Value memref);
  Value sameView(OpBuilder &b, Value memref);
  Value rebase(OpBuilder &b, Location loc, Value memref);
  Value select(OpBuilder &b, Location loc, Value memref);

  const BufferGroup &group;
  const DeviceMemory &memory;
  llvm::MapVector<Value, Value> copies;
};

void DeviceCopies::run() {
  SmallVector<SmallVector<PlannedCopy>> plans =
      llvm::map_to_vector(group.buffers, planCopies);
  for (auto [uses, plan] : llvm::zip_equal(group.buffers, plans))
    addCopy(uses, plan);
  for (Operation *kernel : group.kernels)
    redirect(kernel);
}

/// Emits the allocation of the device copy, the copies of `plan`, and the
/// deallocation. Memory that is not dense is copied through a dense buffer on
/// the host.
void DeviceCopies::addCopy(const BufferUses &uses, ArrayRef<PlannedCopy> plan) {
  Value root = uses.getRoot();
  Location loc = root.getLoc();
  OpBuilder b(root.getContext());
  b.setInsertionPointAfterValue(root);
  MemRefType type = denseType(root);
  auto alloc = root.getDefiningOp<memref::AllocOp>();
  SmallVector<Value> sizes = alloc ? SmallVector<Value>(alloc.getDynamicSizes())
                                   : dynamicSizes(b, loc, root);
  Value copy = memory.allocate(b, loc, type, sizes);
  copies[root] = copy;
  bool isStaged = type != root.getType() && !memory.isManaged;
  Value host = isStaged ? memref::AllocOp::create(b, loc, type, sizes) : root;
  for (auto [before, toDevice] : plan) {
    b.setInsertionPoint(before);
    Location at = before->getLoc();
    if (isStaged && toDevice)
      memref::CopyOp::create(b, at, root, host);
    memory.copy(b, at, toDevice ? host : copy, toDevice ? copy : host);
    if (isStaged && !toDevice)
      memref::CopyOp::create(b, at, host, root);
  }
  atEnd(uses, [&](OpBuilder &b) {
    memory.free(b, loc, copy);
    if (isStaged)
      memref::DeallocOp::create(b, loc, host);
  });
}

void DeviceCopies::redirect(Operation *kernel) {
  OpBuilder b(kernel);
  llvm::SmallDenseMap<Value, Value> moved;
  kernel->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value memref = operand.get();
      if (!group.memrefs.contains(memref))
        continue;
      Value &view = moved[memref];
      if (!view)
        view = onDevice(b, kernel->getLoc(), memref);
      operand.set(view);
    }
  });
}

Value DeviceCopies::onDevice(OpBuilder &b, Location loc, Value memref) {
  return copies.contains(rootOf(memref)) ? sameView(b, memref)
                                         : rebase(b, loc, memref);
}

/// Returns the view of the device copy that corresponds to `memref`, a view of
/// the buffer.
Value DeviceCopies::sameView(OpBuilder &b, Value memref) {
  if (Value copy = copies.lookup(memref))
    return copy;
  Value source = viewSource(memref);
  IRMapping mapping;
  mapping.map(source, sameView(b, source));
  return b.clone(*memref.getDefiningOp(), mapping)->getResult(0);
}

/// Returns the memref of the copy that corresponds to `memref`, which depends
/// on control flow:
///
/// %base, %offset, %sizes, %strides = memref.extract_strided_metadata %memref
/// memref.reinterpret_cast %copy to offset: [%offset], sizes: [%sizes], ...
Value DeviceCopies::rebase(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto view = memref::ExtractStridedMetadataOp::create(b, loc, memref);
  return memref::ReinterpretCastOp::create(
      b, loc, type, select(b, loc, memref), view.getConstifiedMixedOffset(),
      view.getConstifiedMixedSizes(), view.getConstifiedMixedStrides());
}

/// Returns the device copy of the buffer that `memref` is a view of at run
/// time. The buffers are distinguished by their addresses:
///
/// %is = arith.cmpi eq, (address of %memref), (address of %buffer)
/// %copy = arith.select %is, %copy_of_buffer, %copy_of_another
Value DeviceCopies::select(OpBuilder &b, Location loc, Value memref) {
  auto addressOf = [&](Value value) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, value);
  };
  Value selected;
  for (const auto &[buffer, copy] : copies) {
    Value base =
        memref::ExtractStridedMetadataOp::create(b, loc, copy).getBaseBuffer();
    if (!selected) {
      selected = base;
      continue;
    }
    Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                     addressOf(memref), addressOf(buffer));
    selected = arith::SelectOp::create(b, loc, is, base, selected);
  }
  return selected;
}

//===----------------------------------------------------------------------===//
// Other buffers
//===----------------------------------------------------------------------===//

/// Copies one operand of a kernel op before and after it, through a dense
/// buffer on the host. This is correct for any aliases of the memory.
void copyAround(Operation *kernel, Value value, const DeviceMemory &memory) {
  MemRefType dense = denseType(value);
  Location loc = kernel->getLoc();
  OpBuilder b(kernel);
  SmallVector<Value> sizes = dynamicSizes(b, loc, value);
  Value host = memref::AllocOp::create(b, loc, dense, sizes);
  Value device = memory.allocate(b, loc, dense, sizes);
  memref::CopyOp::create(b, loc, value, host);
  memory.copy(b, loc, host, device);
  bool isWritten = hasEffect<MemoryEffects::Write>(kernel, value);
  kernel->walk([&](Operation *op) { op->replaceUsesOfWith(value, device); });
  b.setInsertionPointAfter(kernel);
  if (isWritten) {
    memory.copy(b, loc, device, host);
    memref::CopyOp::create(b, loc, host, value);
  }
  memory.free(b, loc, device);
  memref::DeallocOp::create(b, loc, host);
}

void place(const BufferGroup &group, const DeviceMemory &memory) {
  if (group.placement == Placement::Move)
    return moveToDevice(group, memory);
  if (group.placement == Placement::Copy)
    return DeviceCopies(group, memory).run();
  for (Operation *kernel : group.kernels)
    for (Value memref : memrefsOf(kernel))
      if (group.memrefs.contains(memref))
        copyAround(kernel, memref, memory);
}

LogicalResult PlaceBuffersPass::placeIn(func::FuncOp function,
                                        const FunctionSummaries &callees) {
  FailureOr<std::vector<BufferGroup>> groups =
      groupBuffers(function, callees, memory == Memory::Managed);
  if (failed(groups))
    return failure();
  for (const BufferGroup &group : *groups)
    place(group, DeviceMemory{memory == Memory::Managed});
  return success();
}

void PlaceBuffersPass::runOnOperation() {
  WalkResult result = getOperation()->walk([&](Operation *op) {
    if (isKernelOp(op) && failed(expectMemrefs(op, "fmha-place-buffers")))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  if (auto function = dyn_cast<func::FuncOp>(getOperation())) {
    if (failed(placeIn(function, FunctionSummaries())))
      signalPassFailure();
    return;
  }
  auto module = cast<ModuleOp>(getOperation());
  FunctionSummaries callees(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(placeIn(function, callees)))
      return signalPassFailure();
}

} // namespace

//===- PlaceBuffers.cpp - Copies where host and kernel ops meet -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferUses.h"
#include "fmha/Conversion/Passes.h"
#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"

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
  void runOnOperation() override;
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

/// Memory that the program says is the device's.
bool isOnDevice(Value root) {
  Attribute space = cast<MemRefType>(root.getType()).getMemorySpace();
  return space || root.getDefiningOp<gpu::AllocOp>();
}

//===----------------------------------------------------------------------===//
// A buffer whose uses are all known
//===----------------------------------------------------------------------===//

/// Keeps one buffer valid wherever it is used, with a copy on the device.
class Residency {
public:
  Residency(Value root, const BufferUses &uses, const DeviceMemory &memory)
      : root(root), uses(uses), memory(memory), b(root.getContext()) {}

  void run();

private:
  /// The sides on which the contents are valid; at least one is true.
  struct State {
    bool host, device;
  };
  void makeBuffer();
  void walk(Block &block, State &state);
  void visit(Operation *op, State &state);
  void enter(Operation *op, State &state);
  void needHost(Operation *before, State &state);
  void needDevice(Operation *before, State &state);
  void redirect(Operation *kernel);
  Value onDevice(OpBuilder &b, Value value);
  void finish();

  Value root, buffer;
  const BufferUses &uses;
  const DeviceMemory &memory;
  OpBuilder b;
};

void Residency::run() {
  makeBuffer();
  // Nothing has been written to a new buffer, so nothing is to be copied.
  bool isNew = root.getDefiningOp<memref::AllocOp>() ||
               root.getDefiningOp<memref::AllocaOp>();
  State state{true, isNew};
  Block &home = *root.getParentBlock();
  walk(home, state);
  // Memory that outlives the block shows what was written.
  if (!isNew)
    needHost(home.getTerminator(), state);
  finish();
}

void Residency::makeBuffer() {
  b.setInsertionPointAfterValue(root);
  auto type = cast<MemRefType>(root.getType());
  auto alloc = root.getDefiningOp<memref::AllocOp>();
  SmallVector<Value> sizes = alloc ? SmallVector<Value>(alloc.getDynamicSizes())
                                   : dynamicSizes(b, root.getLoc(), root);
  buffer = memory.allocate(b, root.getLoc(), type, sizes);
}

void Residency::walk(Block &block, State &state) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(&op, state);
}

/// Copies the contents to the side where `op` reads them. After a write only
/// the side that wrote is valid.
void Residency::visit(Operation *op, State &state) {
  Access access = uses.of(op);
  if (access.onHost() && access.onDevice() && op->getNumRegions())
    return enter(op, state);
  if (access.onHost())
    needHost(op, state);
  // A region may not run at all, and then writes nothing.
  bool mayKeep = access.devicePartly || !isKernelOp(op);
  if (access.deviceReads || (access.deviceWrites && mayKeep))
    needDevice(op, state);
  if (access.onDevice())
    op->walk([&](Operation *inner) {
      if (isKernelOp(inner))
        redirect(inner);
    });
  if (access.hostWrites)
    state = {true, false};
  if (access.deviceWrites)
    state = {false, true};
}

/// Regions that use the buffer on both sides begin and end with the same state,
/// however often they run: valid on both sides if nothing writes it, on the
/// host otherwise.
void Residency::enter(Operation *op, State &state) {
  bool isWritten = uses.of(op).writes();
  needHost(op, state);
  if (!isWritten)
    needDevice(op, state);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      State inside{true, !isWritten};
      walk(block, inside);
      needHost(block.getTerminator(), inside);
    }
  state = {true, !isWritten};
}

void Residency::needHost(Operation *before, State &state) {
  if (state.host)
    return;
  b.setInsertionPoint(before);
  memory.copy(b, before->getLoc(), buffer, root);
  state.host = true;
}

void Residency::needDevice(Operation *before, State &state) {
  if (state.device)
    return;
  b.setInsertionPoint(before);
  memory.copy(b, before->getLoc(), root, buffer);
  state.device = true;
}

/// The same view of the copy as `value` is of the buffer.
Value Residency::onDevice(OpBuilder &b, Value value) {
  if (value == root)
    return buffer;
  auto view = value.getDefiningOp<ViewLikeOpInterface>();
  IRMapping mapping;
  mapping.map(view.getViewSource(), onDevice(b, view.getViewSource()));
  return b.clone(*view, mapping)->getResult(0);
}

void Residency::redirect(Operation *kernel) {
  b.setInsertionPoint(kernel);
  llvm::SmallDenseMap<Value, Value> moved;
  kernel->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isa<MemRefType>(value.getType()) || rootOf(value) != root)
        continue;
      Value &view = moved[value];
      if (!view)
        view = onDevice(b, value);
      operand.set(view);
    }
  });
}

/// Frees the copy where the buffer is freed, or at the end of its block. A
/// buffer that only the device uses needs no memory on the host.
void Residency::finish() {
  Operation *free = uses.frees().size() == 1 ? uses.frees().front() : nullptr;
  Block &home = *root.getParentBlock();
  bool isHere = free && free->getBlock() == &home;
  Operation *end = isHere ? free : home.getTerminator();
  b.setInsertionPoint(end);
  memory.free(b, end->getLoc(), buffer);
  auto alloc = root.getDefiningOp<memref::AllocOp>();
  if (!alloc || uses.total().onHost() || (!isHere && !uses.frees().empty()))
    return;
  // Views that kernels used before have no uses now; extents are the copy's.
  SmallVector<Operation *> users(root.getUsers());
  for (Operation *user : users)
    if (isa<memref::DimOp>(user))
      user->replaceUsesOfWith(root, buffer);
    else if (isOpTriviallyDead(user))
      user->erase();
  bool isUsed = llvm::any_of(alloc->getUsers(), [&](Operation *user) {
    return user != free || !isHere;
  });
  if (isUsed)
    return;
  if (isHere)
    free->erase();
  alloc.erase();
}

//===----------------------------------------------------------------------===//
// Other buffers
//===----------------------------------------------------------------------===//

/// memref.alloc becomes memory that both sides see: there is nothing to copy.
bool shareAllocation(Value root, const BufferUses &uses,
                     const DeviceMemory &memory) {
  auto alloc = root.getDefiningOp<memref::AllocOp>();
  // A caller would free what it gets as host memory.
  bool canMove = uses.areKnown() && !uses.areReturned();
  if (!alloc || !memory.isManaged || !canMove)
    return false;
  OpBuilder b(alloc);
  Value shared = memory.allocate(b, alloc.getLoc(), alloc.getType(),
                                 alloc.getDynamicSizes());
  alloc.getMemref().replaceAllUsesWith(shared);
  alloc.erase();
  for (Operation *free : uses.frees()) {
    b.setInsertionPoint(free);
    memory.free(b, free->getLoc(), shared);
    free->erase();
  }
  return true;
}

/// Copies one operand of a kernel op before and after it, through a dense
/// buffer on the host: right whatever else reaches the memory.
void copyAround(Operation *kernel, Value value, const DeviceMemory &memory) {
  auto type = cast<MemRefType>(value.getType());
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  Location loc = kernel->getLoc();
  OpBuilder b(kernel);
  SmallVector<Value> sizes = dynamicSizes(b, loc, value);
  Value host = memref::AllocOp::create(b, loc, dense, sizes);
  Value device = memory.allocate(b, loc, dense, sizes);
  memref::CopyOp::create(b, loc, value, host);
  memory.copy(b, loc, host, device);
  bool isWritten = llvm::is_contained(
      cast<DestinationStyleOpInterface>(kernel).getDpsInits(), value);
  kernel->walk([&](Operation *op) { op->replaceUsesOfWith(value, device); });
  b.setInsertionPointAfter(kernel);
  if (isWritten) {
    memory.copy(b, loc, device, host);
    memref::CopyOp::create(b, loc, host, value);
  }
  memory.free(b, loc, device);
  memref::DeallocOp::create(b, loc, host);
}

/// The memrefs that a kernel op reads and writes.
llvm::SetVector<Value> memrefsOf(Operation *kernel) {
  llvm::SetVector<Value> memrefs;
  kernel->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()))
        memrefs.insert(operand);
  });
  return memrefs;
}

void place(Value root, ArrayRef<Operation *> kernels,
           const DeviceMemory &memory) {
  BufferUses uses(root);
  if (shareAllocation(root, uses, memory))
    return;
  bool isDense = cast<MemRefType>(root.getType()).getLayout().isIdentity();
  if (uses.areKnown() && isDense)
    return Residency(root, uses, memory).run();
  for (Operation *kernel : kernels)
    for (Value value : memrefsOf(kernel))
      if (rootOf(value) == root)
        copyAround(kernel, value, memory);
}

void PlaceBuffersPass::runOnOperation() {
  SmallVector<Operation *> kernels;
  llvm::SetVector<Value> roots;
  WalkResult result = getOperation().walk([&](Operation *op) {
    if (!isKernelOp(op))
      return WalkResult::advance();
    if (!cast<DestinationStyleOpInterface>(op).hasPureBufferSemantics()) {
      op->emitError()
          << "expected memrefs, got tensors; run one-shot-bufferize "
             "before fmha-place-buffers";
      return WalkResult::interrupt();
    }
    kernels.push_back(op);
    for (Value memref : memrefsOf(op))
      if (!isOnDevice(rootOf(memref)))
        roots.insert(rootOf(memref));
    return WalkResult::skip();
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  DeviceMemory kind{memory == Memory::Managed};
  for (Value root : roots)
    place(root, kernels, kind);
}

} // namespace

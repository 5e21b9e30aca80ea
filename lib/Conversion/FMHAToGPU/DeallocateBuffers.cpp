//===- DeallocateBuffers.cpp - Free the remaining buffers of a program ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferUses.h"
#include "fmha/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha {
#define GEN_PASS_DEF_DEALLOCATEBUFFERS
#include "fmha/Conversion/Passes.h.inc"
} // namespace fmha

using namespace mlir;
using namespace fmha;

namespace {

constexpr StringLiteral manual =
    bufferization::BufferizationDialect::kManualDeallocation;

struct DeallocateBuffersPass
    : public fmha::impl::DeallocateBuffersBase<DeallocateBuffersPass> {
  void runOnOperation() override;

private:
  LogicalResult checkCalls(const FunctionSummaries &callees);
  LogicalResult deallocate(const FunctionSummaries &callees);

  /// The functions that are left as they are written.
  llvm::DenseSet<Operation *> written;
};

/// Returns the buffer that `op` frees, or null for other ops.
Value freedBy(Operation *op) {
  return isa<memref::DeallocOp, gpu::DeallocOp>(op) ? op->getOperands().back()
                                                    : Value();
}

/// Returns whether all views of `alloc` are created by view-like ops, and the
/// function neither returns it nor stores it elsewhere.
bool isLocal(Operation *alloc, const BufferFlow &flow) {
  Value root = alloc->getResult(0);
  return llvm::all_of(flow.viewsOf(root), [&](Value view) {
    return rootOf(view) == root &&
           llvm::none_of(view.getUsers(), [](Operation *user) {
             return user->hasTrait<OpTrait::ReturnLike>();
           });
  });
}

/// Marks, for upstream's pass, the allocations that `function` frees itself and
/// the ops that free them. Returns false if it frees any other buffer.
bool markManual(func::FuncOp function) {
  FunctionSummaries callees;
  BufferFlow flow(function, callees);
  bool areSimple = true;
  SmallVector<Operation *> marked;
  function.walk([&](Operation *op) {
    Value freed = freedBy(op);
    if (isa<gpu::AllocOp>(op))
      marked.push_back(op);
    if (!freed)
      return;
    Operation *alloc = rootOf(freed).getDefiningOp();
    areSimple &= isa_and_nonnull<memref::AllocOp, gpu::AllocOp>(alloc) &&
                 isLocal(alloc, flow);
    marked.append({op, alloc});
  });
  if (areSimple)
    for (Operation *op : marked)
      op->setAttr(manual, UnitAttr::get(op->getContext()));
  return areSimple;
}

/// Frees, at the end of their block, the remaining allocations of a function
/// that frees buffers itself, if all of their uses are in that block.
void freeTheRest(func::FuncOp function, const FunctionSummaries &callees) {
  BufferFlow flow(function, callees);
  function.walk([&](memref::AllocOp alloc) {
    BufferUses uses(alloc.getMemref(), flow);
    if (!uses.areKnown() || uses.areSpread() || uses.areReturned() ||
        !uses.frees().empty())
      return;
    OpBuilder b(alloc->getBlock()->getTerminator());
    memref::DeallocOp::create(b, alloc.getLoc(), alloc.getMemref());
  });
}

/// Emits an error and fails if, for a call, one of the two functions follows
/// upstream's convention that results are new buffers, the other one is left as
/// written, and the results are not known to be new buffers.
LogicalResult
DeallocateBuffersPass::checkCalls(const FunctionSummaries &callees) {
  WalkResult result = getOperation().walk([&](func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    auto caller = call->getParentOfType<func::FuncOp>();
    if (!callee || callee.isExternal() ||
        written.contains(callee) == written.contains(caller))
      return WalkResult::advance();
    for (auto [n, value] : llvm::enumerate(call.getResults()))
      if (isa<BaseMemRefType>(value.getType()) && !callees.isNewResult(value)) {
        call.emitError()
            << "expected result " << n << " of @" << callee.getName()
            << " to be a new buffer in each call, since @"
            << (written.contains(callee) ? callee : caller).getName()
            << " frees buffers itself and @"
            << (written.contains(callee) ? caller : callee).getName()
            << " does not, got a buffer that may be another one; return a "
               "copy, or remove the memref.dealloc ops of the program, which "
               "are then inserted";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult
DeallocateBuffersPass::deallocate(const FunctionSummaries &callees) {
  SymbolTableCollection symbols;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (written.contains(function))
      freeTheRest(function, callees);
    else if (failed(bufferization::deallocateBuffersOwnershipBased(
                 function, bufferization::DeallocationOptions(), symbols)))
      return failure();
  }
  return success();
}

void DeallocateBuffersPass::runOnOperation() {
  ModuleOp module = getOperation();
  for (auto function : module.getOps<func::FuncOp>())
    if (!markManual(function))
      written.insert(function);
  FunctionSummaries callees =
      written.empty() ? FunctionSummaries() : FunctionSummaries(module);
  if (failed(checkCalls(callees)) || failed(deallocate(callees)))
    return signalPassFailure();
  module.walk([](Operation *op) { op->removeAttr(manual); });
}

} // namespace

//===- BufferFlow.cpp - Which buffers a memref may be a view of -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferFlow.h"
#include "BufferUses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fmha;

//===----------------------------------------------------------------------===//
// NewResults
//===----------------------------------------------------------------------===//

/// Returns whether `returned`, operand `position` of a return op of `function`,
/// is an allocation of this call that the function does not keep elsewhere.
static bool returnsNew(func::FuncOp function, const BufferFlow &flow,
                       unsigned position, Value returned) {
  ArrayRef<Value> origins = flow.originsOf(returned);
  return !origins.empty() && llvm::all_of(origins, [&](Value origin) {
    if (!origin.getDefiningOp<memref::AllocOp>() && !flow.isNewResult(origin))
      return false;
    bool isOther = false;
    function.walk([&](func::ReturnOp op) {
      for (auto [n, other] : llvm::enumerate(op.getOperands()))
        if (n != position && isa<BaseMemRefType>(other.getType()))
          isOther |= llvm::is_contained(flow.originsOf(other), origin);
    });
    return !isOther && BufferUses(origin, flow).areKnown();
  });
}

/// Returns which results of `function` are new allocations, as far as `known`
/// has those of the functions that it calls.
static llvm::BitVector newResultsOf(func::FuncOp function,
                                    const NewResults &known) {
  llvm::BitVector isNew(function.getNumResults(), true);
  BufferFlow flow(function, known);
  function.walk([&](func::ReturnOp op) {
    for (auto [n, value] : llvm::enumerate(op.getOperands()))
      if (!isa<BaseMemRefType>(value.getType()) ||
          !returnsNew(function, flow, n, value))
        isNew.reset(n);
  });
  return isNew;
}

NewResults::NewResults(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        llvm::any_of(function.getResultTypes(), llvm::IsaPred<BaseMemRefType>))
      functions.push_back(function);
  // A function may return what a function returns that it calls.
  for (bool changes = true; changes;) {
    changes = false;
    for (func::FuncOp function : functions) {
      llvm::BitVector isNew = newResultsOf(function, *this);
      llvm::BitVector &before = results[function];
      changes |= before.count() != isNew.count();
      before = isNew;
    }
  }
}

bool NewResults::contains(Value value) const {
  auto call = value.getDefiningOp<func::CallOp>();
  if (!call || results.empty())
    return false;
  auto callee = results.find(
      SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr()));
  return callee != results.end() &&
         callee->second.test(cast<OpResult>(value).getResultNumber());
}

//===----------------------------------------------------------------------===//
// BufferFlow
//===----------------------------------------------------------------------===//

/// Returns the memrefs of `function` in the order of the text.
static SmallVector<Value> memrefsIn(Operation *function) {
  SmallVector<Value> memrefs;
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (isa<BaseMemRefType>(value.getType()))
        memrefs.push_back(value);
  };
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    add(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        add(block.getArguments());
  });
  return memrefs;
}

BufferFlow::BufferFlow(Operation *function, const NewResults &newResults)
    : analysis(function) {
  SmallVector<Value> memrefs = memrefsIn(function);
  // The analysis takes results of calls for views of the operands.
  llvm::SetVector<Value> separate;
  for (Value memref : memrefs)
    if (newResults.contains(memref))
      separate.insert(memref);
  analysis.remove(separate);
  isNew.insert(separate.begin(), separate.end());
  llvm::DenseSet<Value> derived;
  for (const auto &[source, dependents] : analysis)
    derived.insert(dependents.begin(), dependents.end());
  llvm::DenseMap<Value, unsigned> places;
  for (auto [n, memref] : llvm::enumerate(memrefs))
    places[memref] = n;
  auto addOrigin = [&](Value origin) {
    SmallVector<Value, 1> &reached = views[origin];
    llvm::append_range(reached, analysis.resolve(origin));
    llvm::sort(reached,
               [&](Value a, Value b) { return places[a] < places[b]; });
    for (Value memref : reached)
      origins[memref].push_back(origin);
  };
  for (Value memref : memrefs)
    if (!derived.contains(memref) || analysis.mayBeTerminalBuffer(memref))
      addOrigin(memref);
  // Cycles that no block leads to have no other origin.
  for (Value memref : memrefs)
    if (!origins.contains(memref))
      addOrigin(memref);
}

ArrayRef<Value> BufferFlow::originsOf(Value memref) const {
  auto found = origins.find(memref);
  return found == origins.end() ? ArrayRef<Value>() : found->second;
}

ArrayRef<Value> BufferFlow::viewsOf(Value origin) const {
  auto found = views.find(origin);
  return found == views.end() ? ArrayRef<Value>() : found->second;
}

bool BufferFlow::isPassedOn(OpOperand &use) const {
  Operation *op = use.getOwner();
  auto dependents = analysis.find(use.get());
  if (isa<CallOpInterface>(op) || dependents == analysis.end())
    return false;
  // Terminators pass values on to their parent, branches to other blocks.
  bool isTerminator = isa<RegionBranchTerminatorOpInterface>(op);
  return llvm::any_of(dependents->second, [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Block *block = argument.getOwner();
      return block->getParentOp() == (isTerminator ? op->getParentOp() : op) ||
             llvm::is_contained(op->getSuccessors(), block);
    }
    return value.getDefiningOp() == (isTerminator ? op->getParentOp() : op);
  });
}

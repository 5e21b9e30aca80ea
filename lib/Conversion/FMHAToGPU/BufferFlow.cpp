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

/// Returns the memrefs of `function` in program order.
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

/// Collects the views from upstream's analysis, which does not treat
/// memref.transpose as a view.
void BufferFlow::addDependents(const BufferViewFlowAnalysis &analysis,
                               ArrayRef<Value> memrefs) {
  for (const auto &[source, views] : analysis)
    dependents[source] = views;
  for (Value memref : memrefs)
    if (memref.getDefiningOp<memref::TransposeOp>())
      dependents[viewSource(memref)].insert(memref);
}

/// Returns `origin` and all memrefs that may be views of it, in any order.
SmallVector<Value, 1> BufferFlow::reachedFrom(Value origin) const {
  llvm::SmallSetVector<Value, 8> reached;
  reached.insert(origin);
  for (size_t n = 0; n < reached.size(); ++n)
    if (auto found = dependents.find(reached[n]); found != dependents.end())
      reached.insert_range(found->second);
  return SmallVector<Value, 1>(reached.begin(), reached.end());
}

BufferFlow::BufferFlow(Operation *function, const FunctionSummaries &callees)
    : callees(callees) {
  BufferViewFlowAnalysis analysis(function);
  SmallVector<Value> memrefs = memrefsIn(function);
  // The analysis assumes that results of calls are views of the operands.
  llvm::SetVector<Value> separate;
  for (Value memref : memrefs)
    if (callees.isNewResult(memref))
      separate.insert(memref);
  analysis.remove(separate);
  addDependents(analysis, memrefs);
  llvm::DenseSet<Value> derived;
  for (const auto &[source, views] : dependents)
    derived.insert(views.begin(), views.end());
  llvm::DenseMap<Value, unsigned> places;
  for (auto [n, memref] : llvm::enumerate(memrefs))
    places[memref] = n;
  auto addOrigin = [&](Value origin) {
    SmallVector<Value, 1> &reached = views[origin];
    llvm::append_range(reached, reachedFrom(origin));
    llvm::sort(reached,
               [&](Value a, Value b) { return places[a] < places[b]; });
    for (Value memref : reached)
      origins[memref].push_back(origin);
  };
  for (Value memref : memrefs)
    if (!derived.contains(memref) ||
        (analysis.mayBeTerminalBuffer(memref) &&
         !memref.getDefiningOp<memref::TransposeOp>()))
      addOrigin(memref);
  // Memrefs in unreachable cycles have no other origin.
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

bool BufferFlow::usesOtherMemory() const {
  return llvm::any_of(views, [&](const auto &entry) {
    const auto &[origin, reached] = entry;
    return !BufferUses::haveOneName(origin, *this) &&
           llvm::any_of(reached, [](Value view) { return !view.use_empty(); });
  });
}

bool BufferFlow::isPassedOn(OpOperand &use) const {
  Operation *op = use.getOwner();
  auto made = dependents.find(use.get());
  if (isa<CallOpInterface>(op) || made == dependents.end())
    return false;
  // Terminators forward values to their parent op, branches to other blocks.
  bool isTerminator = isa<RegionBranchTerminatorOpInterface>(op);
  return llvm::any_of(made->second, [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Block *block = argument.getOwner();
      return block->getParentOp() == (isTerminator ? op->getParentOp() : op) ||
             llvm::is_contained(op->getSuccessors(), block);
    }
    return value.getDefiningOp() == (isTerminator ? op->getParentOp() : op);
  });
}

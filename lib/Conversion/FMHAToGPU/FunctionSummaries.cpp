//===- FunctionSummaries.cpp - Effects of functions on buffers ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionSummaries.h"
#include "BufferUses.h"

#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fmha;

FunctionSummary::FunctionSummary(func::FuncOp function)
    : newResults(function.getNumResults(), false),
      keptArguments(function.getNumArguments(), true),
      writtenArguments(function.getNumArguments(), true),
      overlappingArguments(function.getNumArguments(), false) {}

bool FunctionSummary::operator==(const FunctionSummary &other) const {
  return newResults == other.newResults &&
         keptArguments == other.keptArguments &&
         writtenArguments == other.writtenArguments &&
         usesOtherMemory == other.usesOtherMemory &&
         overlappingArguments == other.overlappingArguments;
}

//===----------------------------------------------------------------------===//
// From callees to callers
//===----------------------------------------------------------------------===//

/// Returns the functions with a body. Callees of public functions precede their
/// callers, except for recursive ones.
static llvm::SetVector<Operation *> calleesFirst(ModuleOp module) {
  llvm::SetVector<Operation *> functions;
  auto add = [&](Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (function && !function.isExternal() && op->getParentOp() == module)
      functions.insert(op);
  };
  const CallGraph graph(module);
  for (CallGraphNode *node : llvm::post_order(&graph))
    if (!node->isExternal())
      add(node->getCallableRegion()->getParentOp());
  for (auto function : module.getOps<func::FuncOp>())
    add(function);
  return functions;
}

/// Returns whether `returned`, operand `position` of a return op of `function`,
/// is an allocation of the current call that is not stored elsewhere.
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

static llvm::BitVector newResultsOf(func::FuncOp function,
                                    const BufferFlow &flow) {
  llvm::BitVector isNew(function.getNumResults(), true);
  function.walk([&](func::ReturnOp op) {
    for (auto [n, value] : llvm::enumerate(op.getOperands()))
      if (!isa<BaseMemRefType>(value.getType()) ||
          !returnsNew(function, flow, n, value))
        isNew.reset(n);
  });
  return isNew;
}

FunctionSummary FunctionSummaries::summarize(func::FuncOp function) const {
  FunctionSummary summary(function);
  BufferFlow flow(function, *this);
  summary.newResults = newResultsOf(function, flow);
  for (auto [n, argument] : llvm::enumerate(function.getArguments())) {
    if (!isa<BaseMemRefType>(argument.getType()))
      continue;
    BufferUses uses(argument, flow);
    summary.keptArguments[n] = !uses.areKnown();
    summary.writtenArguments[n] = !uses.areKnown() || uses.total().writes();
  }
  summary.usesOtherMemory = flow.usesOtherMemory();
  function.walk([&](CallOpInterface call) {
    if (const FunctionSummary *callee = ofCallee(call))
      summary.usesOtherMemory |= callee->usesOtherMemory;
  });
  return summary;
}

//===----------------------------------------------------------------------===//
// From callers to callees
//===----------------------------------------------------------------------===//

/// Returns whether memory that `memref` may be a view of has aliases in the
/// function, or overlapped other memory in its caller already.
static bool hasOtherName(Value memref, const BufferFlow &flow) {
  return llvm::any_of(flow.originsOf(memref), [&](Value origin) {
    return !BufferUses(origin, flow).areKnown();
  });
}

static bool comesFromOverlap(Value memref, const BufferFlow &flow) {
  return llvm::any_of(flow.originsOf(memref),
                      [&](Value origin) { return flow.overlaps(origin); });
}

static bool shareOrigins(Value a, Value b, const BufferFlow &flow) {
  return llvm::any_of(flow.originsOf(a), [&](Value origin) {
    return llvm::is_contained(flow.originsOf(b), origin);
  });
}

/// Returns the arguments of `call` that overlap each other or other memory that
/// the callee uses. Memory that is only read may overlap.
static llvm::BitVector overlapsIn(func::CallOp call,
                                  const FunctionSummary &callee,
                                  const BufferFlow &flow) {
  auto isMemref = [&](unsigned n) {
    return isa<BaseMemRefType>(call.getOperand(n).getType());
  };
  unsigned count = call.getNumOperands();
  llvm::BitVector overlaps(count, false);
  for (unsigned n = 0; n < count; ++n) {
    if (!isMemref(n))
      continue;
    Value memref = call.getOperand(n);
    overlaps[n] = overlaps[n] || comesFromOverlap(memref, flow) ||
                  (callee.usesOtherMemory && hasOtherName(memref, flow));
    for (unsigned other = 0; other < n; ++other)
      if (isMemref(other) &&
          (callee.writtenArguments[n] || callee.writtenArguments[other]) &&
          shareOrigins(memref, call.getOperand(other), flow))
        overlaps.set(n), overlaps.set(other);
  }
  return overlaps;
}

/// Marks the arguments that overlap in the calls in `caller`. Returns whether
/// any of them was not marked before.
bool FunctionSummaries::markOverlaps(func::FuncOp caller) {
  SmallVector<std::pair<func::CallOp, FunctionSummary *>> calls;
  caller.walk([&](func::CallOp call) {
    auto callee = summaries.find(call.getCallee());
    if (callee != summaries.end())
      calls.emplace_back(call, &callee->second);
  });
  if (calls.empty())
    return false;
  bool changes = false;
  BufferFlow flow(caller, *this);
  for (auto [call, callee] : calls) {
    llvm::BitVector overlaps = overlapsIn(call, *callee, flow);
    changes |= overlaps.test(callee->overlappingArguments);
    callee->overlappingArguments |= overlaps;
  }
  return changes;
}

//===----------------------------------------------------------------------===//
// FunctionSummaries
//===----------------------------------------------------------------------===//

/// Iterates to a fixed point. Each iteration is conservative and more precise
/// than the one before it; without recursion there are two.
FunctionSummaries::FunctionSummaries(ModuleOp module) : module(module) {
  llvm::SetVector<Operation *> functions = calleesFirst(module);
  for (Operation *op : functions) {
    auto function = cast<func::FuncOp>(op);
    summaries.insert({function.getName(), FunctionSummary(function)});
  }
  for (bool changes = true; changes;) {
    changes = false;
    for (Operation *op : functions) {
      auto function = cast<func::FuncOp>(op);
      FunctionSummary summary = summarize(function);
      FunctionSummary &before = summaries.find(function.getName())->second;
      changes |= !(summary == before);
      before = std::move(summary);
    }
  }
  for (bool changes = true; changes;) {
    changes = false;
    for (Operation *op : llvm::reverse(functions))
      changes |= markOverlaps(cast<func::FuncOp>(op));
  }
}

const FunctionSummary *FunctionSummaries::ofCallee(Operation *op) const {
  auto call = dyn_cast<func::CallOp>(op);
  auto callee = call ? summaries.find(call.getCallee()) : summaries.end();
  return callee == summaries.end() ? nullptr : &callee->second;
}

bool FunctionSummaries::isNewResult(Value value) const {
  Operation *op = value.getDefiningOp();
  const FunctionSummary *callee = op ? ofCallee(op) : nullptr;
  return callee &&
         callee->newResults.test(cast<OpResult>(value).getResultNumber());
}

bool FunctionSummaries::keeps(OpOperand &use) const {
  if (const FunctionSummary *callee = ofCallee(use.getOwner()))
    return callee->keptArguments.test(use.getOperandNumber());
  auto call = dyn_cast<func::CallOp>(use.getOwner());
  return !module || !call;
}

bool FunctionSummaries::writes(OpOperand &use) const {
  const FunctionSummary *callee = ofCallee(use.getOwner());
  return !callee || callee->writtenArguments.test(use.getOperandNumber());
}

bool FunctionSummaries::overlaps(BlockArgument argument) const {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return false;
  auto summary = summaries.find(function.getName());
  return summary != summaries.end() &&
         summary->second.overlappingArguments.test(argument.getArgNumber());
}

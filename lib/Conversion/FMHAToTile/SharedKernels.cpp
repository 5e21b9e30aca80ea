//===- SharedKernels.cpp - Ops that compute the same share a kernel -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedKernels.h"
#include "fmha/Conversion/AppendProblem.h"
#include "fmha/Conversion/MergeProblem.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fmha;

/// Returns everything of `op`, except its region, that determines the code of
/// its kernels. With splits, the combining kernel has LSE and sink.
static Attribute keyOf(AttentionOp op) {
  Builder b(op.getContext());
  SmallVector<Attribute> parts = {op.getProblemAttr(), op.getScheduleAttr()};
  if (op.getScheduleAttr().getValue().splits > 1)
    parts.push_back(
        describeMerge(mergeOf(op.getProblem(), op.getScheduleAttr().getValue()),
                      op.getContext()));
  return b.getArrayAttr(parts);
}

template <typename OpTy>
static Attribute keyOf(OpTy op, DictionaryAttr problem) {
  Builder b(op.getContext());
  return b.getArrayAttr({op->getName().getIdentifier(), problem,
                         b.getStringAttr(op.getTarget().value_or(""))});
}

static Attribute keyOf(MergeOp op) {
  return keyOf(op, describeMerge(mergeOf(op), op.getContext()));
}

static Attribute keyOf(AppendOp op) {
  return keyOf(op, describeAppend(appendOf(op), op.getContext()));
}

namespace {

/// Compares two score regions and the values that they use from above. Their
/// ops have no regions (attention.C25). OperationEquivalence cannot be used: to
/// it, a value that both regions use is equal even if it is a different capture
/// of each, and captures with different static extents differ.
class ScoreComparison {
public:
  ScoreComparison(AttentionOp a, AttentionOp b)
      : capturesOfA(a.getCaptures()), capturesOfB(b.getCaptures()) {}

  bool equal(Block &a, Block &b) {
    if (capturesOfA.size() != capturesOfB.size() ||
        a.getArgumentTypes() != b.getArgumentTypes() ||
        a.getOperations().size() != b.getOperations().size())
      return false;
    pair(a.getArguments(), b.getArguments());
    return llvm::all_of(llvm::zip_equal(a, b), [&](auto ops) {
      auto &[ofA, ofB] = ops;
      pair(ofA.getResults(), ofB.getResults());
      return equal(&ofA, &ofB);
    });
  }

private:
  void pair(ValueRange a, ValueRange b) {
    for (auto [x, y] : llvm::zip(a, b))
      pairs[x] = y;
  }
  bool equal(Operation *a, Operation *b) {
    return a && b && a->getName() == b->getName() &&
           a->getAttrDictionary() == b->getAttrDictionary() &&
           a->getResultTypes() == b->getResultTypes() &&
           a->getNumOperands() == b->getNumOperands() &&
           llvm::all_of(llvm::zip_equal(a->getOperands(), b->getOperands()),
                        [&](auto both) {
                          return std::apply(
                              [&](Value x, Value y) { return equal(x, y); },
                              both);
                        });
  }
  /// Whether two values are equal. Captures are if they have the same number;
  /// other values from above are constants and arithmetic on constants
  /// (attention.C25).
  bool equal(Value a, Value b) {
    if (Value known = pairs.lookup(a))
      return known == b;
    auto captureOfA = llvm::find(capturesOfA, a);
    auto captureOfB = llvm::find(capturesOfB, b);
    if (captureOfA != capturesOfA.end() || captureOfB != capturesOfB.end())
      return captureOfA - capturesOfA.begin() ==
             captureOfB - capturesOfB.begin();
    return equal(a.getDefiningOp(), b.getDefiningOp());
  }

  SmallVector<Value> capturesOfA, capturesOfB;
  /// Maps arguments and results of the first region to those of the second.
  DenseMap<Value, Value> pairs;
};

} // namespace

bool fmha::haveEqualScores(AttentionOp a, AttentionOp b) {
  Region *ofA = a.getScore(), *ofB = b.getScore();
  if (!ofA || !ofB)
    return !ofA && !ofB;
  return ScoreComparison(a, b).equal(ofA->front(), ofB->front());
}

static SymbolRefAttr kernelOf(Operation *op) {
  return op->getAttrOfType<SymbolRefAttr>("fmha.kernel");
}

SymbolRefAttr SharedKernels::find(AttentionOp op) {
  for (AttentionOp other : attentions.lookup(keyOf(op)))
    if (haveEqualScores(op, other))
      return kernelOf(other);
  return {};
}

SymbolRefAttr SharedKernels::find(MergeOp op) {
  Operation *other = others.lookup(keyOf(op));
  return other ? kernelOf(other) : SymbolRefAttr();
}

SymbolRefAttr SharedKernels::find(AppendOp op) {
  Operation *other = others.lookup(keyOf(op));
  return other ? kernelOf(other) : SymbolRefAttr();
}

void SharedKernels::add(AttentionOp op) { attentions[keyOf(op)].push_back(op); }

void SharedKernels::add(MergeOp op) { others.try_emplace(keyOf(op), op); }

void SharedKernels::add(AppendOp op) { others.try_emplace(keyOf(op), op); }

//===- SharedMemory.cpp - Whether two memrefs share elements --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the views themselves are considered. If offsets are different run-time
// values, the views may be disjoint, and the launch compares addresses.
//
//===----------------------------------------------------------------------===//

#include "OperandRules.h"
#include "fmha/Dialect/FMHA/IR/Views.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fmha;

Value fmha::viewSource(Value memref) {
  // In MLIR 22 memref.transpose does not implement the interface.
  if (auto transpose = memref.getDefiningOp<memref::TransposeOp>())
    return transpose.getIn();
  auto view = memref.getDefiningOp<ViewLikeOpInterface>();
  return view ? view.getViewSource() : Value();
}

/// Returns `memref`, the memref that it is a view of, and so on to the first
/// that is no view. In unreachable code a view may be its own source.
static SmallVector<Value> viewChain(Value memref) {
  llvm::SetVector<Value> chain;
  // A reinterpret_cast may leave its source.
  while (memref && chain.insert(memref))
    memref = memref.getDefiningOp<memref::ReinterpretCastOp>()
                 ? Value()
                 : viewSource(memref);
  return chain.takeVector();
}

/// Returns whether an index denotes the same element in `view` and its source.
static bool keepsIndices(Value view) {
  return isa<memref::AssumeAlignmentOp, memref::CastOp,
             memref::MemorySpaceCastOp>(view.getDefiningOp());
}

/// Returns whether `view` has all elements of its source.
static bool coversSource(Value view) {
  return keepsIndices(view) ||
         isa<memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::TransposeOp>(view.getDefiningOp());
}

/// Returns the subview that selects the elements of `chain.front()` from
/// `chain.back()`, with the same indices; null if other views lie between them.
static memref::SubViewOp onlySubView(ArrayRef<Value> chain) {
  const Value *cut = llvm::find_if_not(chain.drop_back(), coversSource);
  if (cut == chain.end() - 1 ||
      !llvm::all_of(ArrayRef<Value>(cut + 1, chain.end() - 1), keepsIndices))
    return {};
  return cut->getDefiningOp<memref::SubViewOp>();
}

/// Returns whether two non-empty subviews of one memref share an element.
/// ValueBoundsConstraintSet::areOverlappingSlices treats strided slices as
/// dense, and would find that interleaved heads overlap.
static bool overlap(memref::SubViewOp a, memref::SubViewOp b) {
  auto first = [](memref::SubViewOp view, unsigned dimension) {
    return view.getMixedOffsets()[dimension];
  };
  auto end = [&](memref::SubViewOp view, unsigned n) -> std::optional<int64_t> {
    auto offset = getConstantIntValue(first(view, n));
    auto size = getConstantIntValue(view.getMixedSizes()[n]);
    if (!offset || !size || !isOneInteger(view.getMixedStrides()[n]))
      return std::nullopt;
    return *offset + *size;
  };
  auto overlapIn = [&](unsigned n) {
    if (isEqualConstantIntOrValue(first(a, n), first(b, n)))
      return true;
    std::optional<int64_t> endA = end(a, n), endB = end(b, n);
    return endA && endB && *getConstantIntValue(first(a, n)) < *endB &&
           *getConstantIntValue(first(b, n)) < *endA;
  };
  return llvm::all_of(llvm::seq<unsigned>(0, a.getSourceType().getRank()),
                      overlapIn);
}

std::optional<StringRef> fmha::sharedMemory(Value a, Value b) {
  auto isEmpty = [](Value memref) {
    return llvm::is_contained(cast<MemRefType>(memref.getType()).getShape(), 0);
  };
  if (isEmpty(a) || isEmpty(b))
    return std::nullopt;
  if (a == b)
    return "one memref for both";
  SmallVector<Value> ofA = viewChain(a), ofB = viewChain(b);
  if (llvm::is_contained(ofA, b) || llvm::is_contained(ofB, a))
    return "a view of the other one";
  auto common = llvm::find_if(
      ofA, [&](Value memref) { return llvm::is_contained(ofB, memref); });
  if (common == ofA.end())
    return std::nullopt;
  ofA.erase(common + 1, ofA.end());
  ofB.erase(llvm::find(ofB, ofA.back()) + 1, ofB.end());
  // A chain without subviews has all elements of the common memref.
  auto isWhole = [](ArrayRef<Value> chain) {
    return llvm::all_of(chain.drop_back(), coversSource);
  };
  if (isWhole(ofA) || isWhole(ofB))
    return "views of one memref";
  memref::SubViewOp cutA = onlySubView(ofA), cutB = onlySubView(ofB);
  if (cutA && cutB && overlap(cutA, cutB))
    return "views of one memref that overlap";
  return std::nullopt;
}

//===- Views.cpp - Views in the order of fmha.attention -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Views.h"

#include "fmha/Dialect/FMHA/IR/FMHA.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

/// The dimensions of fmha.attention, in order.
static constexpr StringRef logicalLetters = "blhd";

SmallVector<int64_t> TensorView::shape() const {
  SmallVector<int64_t> extents(type.getShape());
  if (splitHeads) {
    int64_t hidden = extents.pop_back_val();
    extents.push_back(splitHeads);
    extents.push_back(ShapedType::isDynamic(hidden) ? hidden
                                                    : hidden / splitHeads);
  }
  return extents;
}

int64_t TensorView::extent(char letter) const {
  int64_t product = 1;
  for (auto [own, size] : llvm::zip_equal(letters, shape()))
    if (own == letter) {
      if (ShapedType::isDynamic(size))
        return ShapedType::kDynamic;
      product *= size;
    }
  return product;
}

bool fmha::raise::isConversion(Operation *op, StringRef name) {
  return op && op->getName().getStringRef() == name &&
         op->getNumOperands() == 1 && op->getNumResults() == 1;
}

Value fmha::raise::asTensor(OpBuilder &b, Location location, Value value,
                            RankedTensorType type) {
  if (isa<RankedTensorType>(value.getType()))
    return value;
  Operation *producer = value.getDefiningOp();
  if (isConversion(producer, "torch_c.from_builtin_tensor") &&
      producer->getOperand(0).getType() == type)
    return producer->getOperand(0);
  OperationState state(location, "torch_c.to_builtin_tensor");
  state.addOperands(value);
  state.addTypes(type);
  return b.create(state)->getResult(0);
}

/// Returns the positions of `letters` in the order batch, length, head, head
/// dim; equal letters keep their order.
static SmallVector<int64_t> sortedByLogical(StringRef letters) {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(letters.size()));
  llvm::sort(order, [&](int64_t left, int64_t right) {
    return std::pair(logicalLetters.find(letters[left]), left) <
           std::pair(logicalLetters.find(letters[right]), right);
  });
  return order;
}

/// Returns `tensor` with its dimension order[n] as dimension n: a view if the
/// last one stays, else a copy, since fmha.attention needs contiguous rows.
static Value permuted(OpBuilder &b, Location location, Value tensor,
                      ArrayRef<int64_t> order) {
  if (isIdentityPermutation(order))
    return tensor;
  if (order.back() == int64_t(order.size()) - 1)
    return TransposeOp::create(b, location, tensor, order);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, location, tensor);
  applyPermutationToVector(sizes, order);
  Value empty =
      tensor::EmptyOp::create(b, location, sizes, getElementTypeOrSelf(tensor));
  return linalg::TransposeOp::create(b, location, tensor, empty, order)
      ->getResult(0);
}

/// Returns the positions of each distinct letter, whose equal letters are
/// adjacent.
static SmallVector<ReassociationIndices> groupsOf(StringRef sorted) {
  SmallVector<ReassociationIndices> groups;
  for (auto [position, letter] : llvm::enumerate(sorted)) {
    if (position == 0 || sorted[position - 1] != letter)
      groups.emplace_back();
    groups.back().push_back(position);
  }
  return groups;
}

/// Returns the groups that expand the dimensions with these letters to the four
/// logical ones: absent ones, of extent 1, join the next group.
static SmallVector<ReassociationIndices> unitGroups(StringRef sorted) {
  SmallVector<ReassociationIndices> groups(1);
  for (auto [position, letter] : llvm::enumerate(logicalLetters)) {
    groups.back().push_back(position);
    if (sorted.contains(letter) && letter != 'd')
      groups.emplace_back();
  }
  return groups;
}

/// Returns the letters in logical order.
static std::string sortedLetters(StringRef letters) {
  std::string sorted;
  for (int64_t position : sortedByLogical(letters))
    sorted.push_back(letters[position]);
  return sorted;
}

/// Returns each letter once, in order.
static std::string distinct(StringRef sorted) {
  std::string once;
  for (char letter : sorted)
    if (!StringRef(once).contains(letter))
      once.push_back(letter);
  return once;
}

/// Returns the sizes of all four dimensions; `sizes` are those of the letters
/// in `once`.
static SmallVector<OpFoldResult> withUnits(OpBuilder &b, StringRef once,
                                           ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> all;
  for (char letter : logicalLetters) {
    size_t position = once.find(letter);
    all.push_back(position == StringRef::npos ? b.getIndexAttr(1)
                                              : sizes[position]);
  }
  return all;
}

/// Returns the type with these sizes and the element type of `tensor`.
static RankedTensorType typeOf(Value tensor, ArrayRef<OpFoldResult> sizes) {
  return RankedTensorType::get(
      llvm::map_to_vector(sizes,
                          [](OpFoldResult size) {
                            return getConstantIntValue(size).value_or(
                                ShapedType::kDynamic);
                          }),
      getElementTypeOrSelf(tensor));
}

static Value expanded(OpBuilder &b, Location location, Value tensor,
                      ArrayRef<ReassociationIndices> groups,
                      ArrayRef<OpFoldResult> sizes) {
  return tensor::ExpandShapeOp::create(b, location, typeOf(tensor, sizes),
                                       tensor, groups, sizes);
}

/// Returns the sizes of `tensor` after the split of its last dimension.
static SmallVector<OpFoldResult> splitSizes(OpBuilder &b, Location location,
                                            Value tensor, int64_t heads) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, location, tensor);
  int64_t hidden = cast<RankedTensorType>(tensor.getType()).getShape().back();
  sizes.back() = b.getIndexAttr(heads);
  sizes.push_back(b.getIndexAttr(hidden / heads));
  return sizes;
}

/// Returns the groups that split the last of `rank` dimensions into two.
static SmallVector<ReassociationIndices> splitGroups(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dimension : llvm::seq(rank))
    groups.push_back({dimension});
  groups.back().push_back(rank);
  return groups;
}

Value fmha::raise::toLogical(OpBuilder &b, Location location, Value tensor,
                             const TensorView &view) {
  if (view.splitHeads)
    tensor = expanded(b, location, tensor, splitGroups(view.type.getRank()),
                      splitSizes(b, location, tensor, view.splitHeads));
  tensor = permuted(b, location, tensor, sortedByLogical(view.letters));
  std::string sorted = sortedLetters(view.letters);
  std::string once = distinct(sorted);
  if (once.size() != sorted.size())
    tensor =
        tensor::CollapseShapeOp::create(b, location, tensor, groupsOf(sorted));
  if (once.size() != logicalLetters.size())
    tensor = expanded(
        b, location, tensor, unitGroups(once),
        withUnits(b, once, tensor::getMixedSizes(b, location, tensor)));
  return tensor;
}

/// Returns the order of the logical dimensions in memory: those that the output
/// does not have, then its own in its order.
static SmallVector<int64_t> memoryOrder(StringRef letters) {
  SmallVector<int64_t> order;
  for (auto [position, letter] : llvm::enumerate(logicalLetters))
    if (!letters.contains(letter))
      order.push_back(position);
  for (char letter : letters) {
    int64_t position = logicalLetters.find(letter);
    if (!llvm::is_contained(order, position))
      order.push_back(position);
  }
  return order;
}

Destination fmha::raise::makeDestination(OpBuilder &b, Location location,
                                         const AttentionForm &form, Value query,
                                         Value value, Type element) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, location, query);
  sizes.back() = tensor::getMixedSize(b, location, value, 3);
  Destination destination;
  destination.order = memoryOrder(form.output.letters);
  applyPermutationToVector(sizes, destination.order);
  Value empty = tensor::EmptyOp::create(b, location, sizes, element);
  destination.logical =
      permuted(b, location, empty, invertPermutationVector(destination.order));
  return destination;
}

/// Returns the sizes of the output's dimensions before heads are joined. If a
/// letter has several dimensions, the query has their sizes.
static SmallVector<OpFoldResult> outputSizes(OpBuilder &b, Location location,
                                             Value result,
                                             const AttentionForm &form) {
  SmallVector<OpFoldResult> sizes;
  StringRef letters = form.output.letters;
  for (auto [position, letter] : llvm::enumerate(letters)) {
    if (letters.count(letter) == 1) {
      sizes.push_back(tensor::getMixedSize(b, location, result,
                                           logicalLetters.find(letter)));
      continue;
    }
    size_t ordinal = letters.take_front(position).count(letter);
    size_t from = form.query.letters.find(letter);
    for (; ordinal; --ordinal)
      from = form.query.letters.find(letter, from + 1);
    Value query = asTensor(b, location, form.query.value, form.query.type);
    sizes.push_back(tensor::getMixedSize(b, location, query, from));
  }
  return sizes;
}

/// Returns the groups of dimensions in memory that collapse to those with the
/// letters in `once`: absent ones join the first.
static SmallVector<ReassociationIndices> storedGroups(StringRef once) {
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t position : llvm::seq(logicalLetters.size())) {
    groups.back().push_back(position);
    if (position >= int64_t(logicalLetters.size() - once.size()) &&
        position + 1 < int64_t(logicalLetters.size()))
      groups.emplace_back();
  }
  return groups;
}

Value fmha::raise::fromLogical(OpBuilder &b, Location location, Value result,
                               const Destination &destination,
                               const AttentionForm &form) {
  const TensorView &output = form.output;
  Value stored = permuted(b, location, result, destination.order);
  std::string once = distinct(output.letters);
  if (once.size() != logicalLetters.size())
    stored = tensor::CollapseShapeOp::create(b, location, stored,
                                             storedGroups(once));
  if (once.size() != output.letters.size())
    stored = expanded(b, location, stored, groupsOf(output.letters),
                      outputSizes(b, location, result, form));
  if (output.splitHeads)
    stored = tensor::CollapseShapeOp::create(
        b, location, stored, splitGroups(output.type.getRank()));
  if (stored.getType() != output.type)
    stored = tensor::CastOp::create(b, location, output.type, stored);
  return stored;
}

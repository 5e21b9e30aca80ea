//===- Roles.cpp - What the digits of an attention are --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace fmha::raise;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Returns the number that an operand of code is, or nothing.
static std::optional<double> numberOf(Reader &reader, Code *code) {
  return code->is(Code::Op) && !code->number ? std::nullopt
                                             : reader.expand(code)->number;
}

/// Returns the operand that a product with a constant scales, and the factor.
static std::pair<Code *, double> scaledOperand(Reader &reader, Code *code) {
  if (code->isOp<arith::DivFOp>())
    if (auto number = numberOf(reader, code->operands[1]))
      return {code->operands[0], 1 / *number};
  if (code->isOp<arith::MulFOp>())
    for (unsigned side : {0u, 1u})
      if (auto number = numberOf(reader, code->operands[side]))
        return {code->operands[1 - side], *number};
  return {nullptr, 1};
}

Operand fmha::raise::operandOf(Reader &reader, Code *code, bool widened,
                               bool scaled) {
  Operand found;
  double factor = 1;
  for (unsigned steps = 0; code && steps < 1000; ++steps) {
    if (code->is(Code::Load)) {
      found = {code, factor};
      code = reader.step(code);
      continue;
    }
    // Conversions in the body of the product are part of it.
    if (code->isOp<arith::ExtFOp>() && (widened || !found.load)) {
      code = code->operands[0];
      continue;
    }
    auto [inner, by] = scaledOperand(reader, code);
    if (!scaled || !inner || !std::isfinite(factor * by))
      break;
    code = inner;
    factor *= by;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

char Letters::of(Digit digit) const {
  for (char letter : {'b', 'h', 'l', 'd'})
    if (llvm::is_contained(digitsOf(letter), digit))
      return letter;
  return 0;
}

const Index &Letters::digitsOf(char letter) const {
  return letter == 'b' ? b : letter == 'h' ? h : letter == 'l' ? l : d;
}

/// Returns whether a digit indexes two dimensions.
static bool hasTwice(const Index &digits) {
  Index sorted = digits;
  llvm::sort(sorted);
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

/// Sets the digits of batches, heads and rows, in the order of the scores.
static std::optional<Refusal> findRows(const Digits &digits,
                                       const Places &places, const Index &keys,
                                       Roles &roles) {
  Index query = flat(places.query), key = flat(places.key),
        value = flat(places.value), shared, own;
  for (Digit digit : flat(places.scores)) {
    if (llvm::is_contained(keys, digit))
      continue;
    bool ofQuery = llvm::is_contained(query, digit),
         ofKey = llvm::is_contained(key, digit),
         ofValue = llvm::is_contained(value, digit);
    if (!ofQuery || ofKey != ofValue)
      return Refusal(Reason::BatchDims,
                     std::string("one of ") +
                         (!ofQuery ? "keys that queries do not have"
                          : ofKey
                              ? "queries and keys that values do not have"
                              : "queries and values that keys do not have"));
    (ofKey ? shared : own).push_back(digit);
  }
  // One of the dimensions that only queries have is that of rows: the last
  // dynamic one, or the last one if none is dynamic. The others are heads.
  auto row = llvm::find_if(llvm::reverse(own), [&](Digit digit) {
    return ShapedType::isDynamic(digits.extent(digit));
  });
  if (!own.empty()) {
    Digit chosen = row == own.rend() ? own.back() : *row;
    roles.rows.push_back(chosen);
    llvm::erase(own, chosen);
  }
  // The first dimension that all share is the batch.
  if (!shared.empty())
    roles.batch.push_back(shared.front());
  for (Digit digit : ArrayRef(shared).drop_front(!shared.empty()))
    roles.kvHeads.push_back(digit);
  roles.heads = roles.kvHeads;
  roles.heads.append(own);
  return std::nullopt;
}

/// Sets the head dims.
static std::optional<Refusal> findDims(const Places &places, const Index &keys,
                                       Roles &roles) {
  Index scores = flat(places.scores);
  for (Digit digit : flat(places.query))
    if (!llvm::is_contained(scores, digit))
      roles.dim.push_back(digit);
  for (Digit digit : flat(places.output))
    if (!llvm::is_contained(scores, digit))
      roles.valueDim.push_back(digit);
  if (roles.valueDim.size() > 1)
    return Refusal(Reason::BatchDims,
                   "one of values that queries and keys do not have");
  return std::nullopt;
}

std::optional<Refusal> fmha::raise::findRoles(const Digits &digits,
                                              const Places &places,
                                              const Index &keys, Roles &roles) {
  for (const Place *place : {&places.query, &places.key, &places.value,
                             &places.scores, &places.output})
    if (hasTwice(flat(*place)))
      return Refusal(Reason::ProductDims,
                     "an index for each dimension of a product",
                     "one index for two");
  if (hasAny(places.query, keys) || !hasAny(places.key, keys))
    return Refusal(Reason::ProductDims,
                   "a first product of queries and keys, of which the softmax "
                   "runs over the keys",
                   "a product whose two operands, or none, have them");
  roles = {};
  roles.keys = keys;
  if (auto refusal = findRows(digits, places, keys, roles))
    return refusal;
  return findDims(places, keys, roles);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A run of digits of one letter in one dimension.
struct Run {
  char letter;
  Index digits;
};

/// Returns the runs of an index, or nothing if a digit has no letter.
static std::optional<SmallVector<Run>> runsOf(const Index &index,
                                              const Letters &letters) {
  SmallVector<Run> runs;
  for (Digit digit : index) {
    char letter = letters.of(digit);
    if (!letter)
      return std::nullopt;
    if (runs.empty() || runs.back().letter != letter)
      runs.push_back({letter, {}});
    runs.back().digits.push_back(digit);
  }
  return runs;
}

/// Returns whether the digits of each letter are all of them, in order.
static bool isInOrder(const Index &digits, const Letters &letters) {
  for (char letter : {'b', 'h', 'l', 'd'}) {
    Index own;
    for (Digit digit : digits)
      if (letters.of(digit) == letter)
        own.push_back(digit);
    if (own != letters.digitsOf(letter))
      return false;
  }
  return true;
}

/// Returns whether an index runs over all of a dimension.
static bool covers(const Digits &digits, const Index &index, int64_t extent) {
  int64_t own = digits.extent(index);
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(own))
    return !index.empty();
  return own == extent;
}

/// Returns a letter without digits that is not in `taken`, for a dimension of
/// extent 1, or 0 if there is none.
static char unitLetter(const Letters &letters, StringRef taken, bool isLast) {
  StringRef choices = isLast ? "dblh" : "blh";
  for (char letter : choices)
    if (letters.digitsOf(letter).empty() && !taken.contains(letter))
      return letter;
  return 0;
}

/// Gives dimensions of extent 1, marked by 0, a letter that no other has, or
/// that of a neighbor.
static void letterUnits(std::string &text, const Letters &letters) {
  for (size_t position = 0; position < text.size(); ++position)
    if (!text[position])
      text[position] = unitLetter(letters, text, position + 1 == text.size());
  for (size_t position = 1; position < text.size(); ++position)
    if (!text[position])
      text[position] = text[position - 1];
  for (size_t position = text.size(); position-- > 0;)
    if (!text[position])
      text[position] = position + 1 < text.size() ? text[position + 1] : 'd';
}

std::optional<Refusal> fmha::raise::makeView(const Digits &digits, Code *load,
                                             const Letters &letters,
                                             StringRef what, SplitView &split) {
  auto type = cast<RankedTensorType>(load->value.getType());
  SmallVector<int64_t> shape;
  split = {};
  if (type.getEncoding())
    return Refusal(Reason::ElementType, textOf(Type(type)));
  for (auto [index, extent] : llvm::zip_equal(load->place, type.getShape())) {
    std::optional<SmallVector<Run>> runs = runsOf(index, letters);
    if (!runs || !covers(digits, index, extent))
      return Refusal(Reason::ProductDims,
                     what.str() + " of the dimensions that the products have",
                     "other ones");
    split.groups.emplace_back();
    int64_t rest = extent;
    // The slowest part has what the others leave.
    for (const Run &run : ArrayRef(*runs).drop_front(!runs->empty())) {
      int64_t own = digits.extent(run.digits);
      if (ShapedType::isDynamic(own) || own == 0)
        return Refusal(Reason::ProductDims,
                       "static heads of " + what.str() +
                           " in one dimension with batches",
                       "dynamic ones");
      rest = ShapedType::isDynamic(rest) ? rest : rest / own;
    }
    for (size_t part = 0; part < std::max<size_t>(1, runs->size()); ++part) {
      split.groups.back().push_back(shape.size());
      shape.push_back(part ? digits.extent((*runs)[part].digits) : rest);
      split.view.letters.push_back(runs->empty() ? 0 : (*runs)[part].letter);
    }
  }
  if (!isInOrder(flat(load->place), letters))
    return Refusal(Reason::DimOrder, what.str());
  letterUnits(split.view.letters, letters);
  // Rows are contiguous: without a head dim they have one of extent 1.
  if (split.groups.empty())
    return Refusal(Reason::ProductDims, what.str() + " with dimensions",
                   "a scalar");
  if (!StringRef(split.view.letters).contains('d')) {
    split.view.letters.push_back('d');
    split.groups.back().push_back(shape.size());
    shape.push_back(1);
  }
  if (int64_t(shape.size()) == type.getRank())
    split.groups.clear();
  split.view.value = load->value;
  split.view.type = type.clone(shape);
  return std::nullopt;
}

/// Returns the quotient of a size and a number.
static OpFoldResult divided(OpBuilder &b, Location location, OpFoldResult size,
                            int64_t by) {
  if (std::optional<int64_t> number = getConstantIntValue(size))
    return b.getIndexAttr(*number / by);
  if (by == 1)
    return size;
  Value divisor = arith::ConstantIndexOp::create(b, location, by);
  return arith::DivUIOp::create(
             b, location, getValueOrCreateConstantIndexOp(b, location, size),
             divisor)
      .getResult();
}

void SplitView::prepare(OpBuilder &b, Location location,
                        TensorView &into) const {
  if (groups.empty())
    return;
  SmallVector<OpFoldResult> sizes;
  for (auto [dimension, group] : llvm::enumerate(groups)) {
    int64_t known = 1;
    for (int64_t part : llvm::drop_begin(group))
      known *= view.type.getDimSize(part);
    sizes.push_back(divided(
        b, location, tensor::getMixedSize(b, location, view.value, dimension),
        known));
    for (int64_t part : llvm::drop_begin(group))
      sizes.push_back(b.getIndexAttr(view.type.getDimSize(part)));
  }
  into.value = tensor::ExpandShapeOp::create(b, location, view.type, view.value,
                                             groups, sizes);
}

//===----------------------------------------------------------------------===//
// The output
//===----------------------------------------------------------------------===//

/// Adds a part with a letter to the dimensions of the view.
static bool addPart(OutputShape &shape, SmallVectorImpl<int64_t> &extents,
                    char letter, int64_t extent) {
  std::string &letters = shape.view.letters;
  if (letters.empty() || letters.back() != letter) {
    if (StringRef(letters).contains(letter))
      return false;
    letters.push_back(letter);
    extents.push_back(1);
    shape.split.emplace_back();
  }
  bool isDynamic =
      ShapedType::isDynamic(extent) || ShapedType::isDynamic(extents.back());
  extents.back() = isDynamic ? ShapedType::kDynamic : extents.back() * extent;
  shape.split.back().push_back(shape.parts.size());
  shape.parts.push_back(extent);
  return true;
}

/// Sets how dimensions of extent 1 are added to those that have parts.
static void groupUnits(OutputShape &shape) {
  shape.units.assign(1, {});
  for (int64_t dimension : llvm::seq(shape.type.getRank())) {
    bool isThere = llvm::is_contained(shape.dimensionOf, dimension);
    bool isNext = isThere && !shape.units.back().empty() &&
                  llvm::any_of(shape.units.back(), [&](int64_t other) {
                    return llvm::is_contained(shape.dimensionOf, other);
                  });
    if (isNext)
      shape.units.emplace_back();
    shape.units.back().push_back(dimension);
  }
}

std::optional<Refusal> fmha::raise::makeOutput(const Digits &digits,
                                               RankedTensorType type,
                                               const Place &place,
                                               const Letters &letters,
                                               OutputShape &shape) {
  shape = {};
  shape.type = type;
  SmallVector<int64_t> extents;
  for (auto [dimension, index] : llvm::enumerate(place)) {
    std::optional<SmallVector<Run>> runs = runsOf(index, letters);
    if (!runs || !covers(digits, index, type.getDimSize(dimension)))
      return Refusal(Reason::ProductDims,
                     "an output of the dimensions that the products have",
                     "other ones");
    bool isLast = dimension + 1 == place.size();
    if (char unit =
            runs->empty() ? unitLetter(letters, shape.view.letters, isLast) : 0)
      runs->push_back({unit, {}});
    if (!runs->empty())
      shape.join.emplace_back();
    for (auto [number, run] : llvm::enumerate(*runs)) {
      int64_t extent = digits.extent(run.digits);
      if (number == 0 && runs->size() == 1)
        extent = type.getDimSize(dimension);
      bool isKnown = number == 0 || !ShapedType::isDynamic(extent);
      shape.join.back().push_back(shape.parts.size());
      shape.dimensionOf.push_back(dimension);
      if (!isKnown || !addPart(shape, extents, run.letter, extent))
        return Refusal(Reason::DimOrder, "the output");
    }
  }
  if (!isInOrder(flat(place), letters))
    return Refusal(Reason::DimOrder, "the output");
  if (extents.empty()) {
    shape.view.letters = "d";
    extents.push_back(1);
  } else if (!StringRef(shape.view.letters).contains('d')) {
    // The last dimension of the result is joined with a head dim of extent 1.
    shape.join.back().push_back(shape.parts.size());
    shape.dimensionOf.push_back(shape.dimensionOf.back());
    addPart(shape, extents, 'd', 1);
  }
  groupUnits(shape);
  shape.view.type = type.clone(extents);
  return std::nullopt;
}

Value OutputShape::restore(OpBuilder &b, Location location, Value output,
                           ArrayRef<OpFoldResult> sizes) const {
  if (parts.size() > split.size()) {
    SmallVector<OpFoldResult> made;
    for (auto [part, extent] : llvm::enumerate(parts)) {
      int64_t others = 1;
      for (auto [other, known] : llvm::enumerate(parts))
        if (other != part && dimensionOf[other] == dimensionOf[part])
          others *= known;
      made.push_back(
          ShapedType::isDynamic(extent)
              ? divided(b, location, sizes[dimensionOf[part]], others)
              : OpFoldResult(b.getIndexAttr(extent)));
    }
    output = tensor::ExpandShapeOp::create(b, location, type.clone(parts),
                                           output, split, made);
  }
  if (join.size() < parts.size())
    output = tensor::CollapseShapeOp::create(b, location, output, join);
  if (parts.empty() && type.getRank() == 0)
    output = tensor::CollapseShapeOp::create(b, location, output,
                                             ArrayRef<ReassociationIndices>());
  else if (int64_t(units.size()) < type.getRank())
    output =
        tensor::ExpandShapeOp::create(b, location, type, output, units, sizes);
  if (output.getType() != type)
    output = tensor::CastOp::create(b, location, type, output);
  return output;
}

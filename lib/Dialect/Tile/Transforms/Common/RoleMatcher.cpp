//===- RoleMatcher.cpp - Whether regions differ in numbers only -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleMatcher.h"

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

/// Stands for the op's own number in place of the number of an operand.
static constexpr unsigned ownNumber = ~0u;

/// Returns the name of the attribute with the number in which equal ops may
/// differ, or null.
static StringAttr numberOf(Operation *op) {
  return TypeSwitch<Operation *, StringAttr>(op)
      .Case<SmemAddressOp>(
          [](SmemAddressOp op) { return op.getOffsetAttrName(); })
      .Case<SyncNamedOp, ArriveNamedOp>(
          [](auto op) { return op.getBarrierAttrName(); })
      .Default(StringAttr());
}

/// Returns the attribute of a constant, whichever op defines it, or else the
/// value.
static OpFoldResult folded(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  return value;
}

static auto opsOf(Block &block) {
  return llvm::make_filter_range(block, [](Operation &op) {
    return !op.hasTrait<OpTrait::ConstantLike>();
  });
}

bool RoleMatcher::add(Region &region) {
  mapping = IRMapping();
  if (!match(base, region))
    return false;
  ++regions;
  // A number that this region did not record is equal to that of the first one.
  for (auto &[place, values] : numbers)
    if (values.size() < regions)
      values.push_back(values.front());
  return true;
}

SmallVector<Difference> RoleMatcher::getDifferences() const {
  SmallVector<Difference> all;
  for (const auto &[place, values] : numbers)
    all.push_back(
        {place.first,
         place.second == ownNumber ? std::optional<unsigned>() : place.second,
         values});
  return all;
}

bool RoleMatcher::match(Region &a, Region &b) {
  return llvm::hasSingleElement(a) && llvm::hasSingleElement(b)
             ? match(a.front(), b.front())
             : a.empty() && b.empty();
}

bool RoleMatcher::match(Block &a, Block &b) {
  if (a.getArgumentTypes() != b.getArgumentTypes())
    return false;
  mapping.map(a.getArguments(), b.getArguments());
  auto left = opsOf(a), right = opsOf(b);
  auto x = left.begin(), y = right.begin();
  for (; x != left.end() && y != right.end(); ++x, ++y)
    if (!match(&*x, &*y))
      return false;
  return x == left.end() && y == right.end();
}

bool RoleMatcher::match(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      a->getResultTypes() != b->getResultTypes() ||
      a->getNumOperands() != b->getNumOperands() ||
      a->getNumRegions() != b->getNumRegions() || a->getNumSuccessors())
    return false;
  NamedAttrList left(a->getAttrDictionary()), right(b->getAttrDictionary());
  if (StringAttr name = numberOf(a)) {
    Attribute mine = left.erase(name), theirs = right.erase(name);
    record({a, ownNumber}, mine, theirs);
  }
  if (left != right)
    return false;
  for (unsigned n = 0; n < a->getNumOperands(); ++n)
    if (!matchOperand(a, n, b->getOperand(n)))
      return false;
  mapping.map(a->getResults(), b->getResults());
  for (auto [x, y] : llvm::zip(a->getRegions(), b->getRegions()))
    if (!match(x, y))
      return false;
  return true;
}

/// Whether `value` is defined above all regions.
bool RoleMatcher::isAbove(Value value) const {
  return value.getParentRegion()->isAncestor(
      base.getParentOp()->getParentRegion());
}

bool RoleMatcher::matchOperand(Operation *a, unsigned operand, Value b) {
  Value mine = a->getOperand(operand);
  OpFoldResult left = folded(mine), right = folded(b);
  if (mine.getType() != b.getType())
    return false;
  bool constant = isa<Attribute>(left);
  if (constant != isa<Attribute>(right))
    return false;
  if (!constant && base.isAncestor(mine.getParentRegion()))
    return mapping.lookupOrNull(mine) == b;
  if (!constant && !isAbove(b))
    return false;
  record({a, operand}, left, right);
  return true;
}

void RoleMatcher::record(Place place, OpFoldResult a, OpFoldResult b) {
  auto known = numbers.find(place);
  if (known == numbers.end()) {
    if (a == b)
      return;
    known =
        numbers.try_emplace(place, SmallVector<OpFoldResult>(regions, a)).first;
  }
  known->second.push_back(b);
}

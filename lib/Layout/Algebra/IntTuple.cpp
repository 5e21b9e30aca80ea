//===- IntTuple.cpp - Trees of integers -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/IntTuple.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>

namespace fmha::layout::algebra {

IntTuple IntTuple::tuple(std::vector<IntTuple> modes) {
  IntTuple result;
  result.leaf = false;
  result.children = std::move(modes);
  return result;
}

int64_t IntTuple::value() const {
  if (!leaf)
    throw LayoutError("expected an integer, got the tuple " + str());
  return number;
}

unsigned IntTuple::depth() const {
  unsigned deepest = 0;
  for (const IntTuple &child : children)
    deepest = std::max(deepest, child.depth());
  return leaf ? 0 : deepest + 1;
}

IntTuple IntTuple::mode(size_t i) const {
  if (i >= rank())
    throw LayoutError("expected a mode below " + std::to_string(rank()) +
                      " of " + str() + ", got " + std::to_string(i));
  return leaf ? *this : children[i];
}

std::vector<IntTuple> IntTuple::modes() const {
  return leaf ? std::vector<IntTuple>{*this} : children;
}

static void addLeaves(const IntTuple &tree, std::vector<int64_t> &leaves) {
  if (tree.isLeaf())
    return leaves.push_back(tree.value());
  for (const IntTuple &child : tree.modes())
    addLeaves(child, leaves);
}

std::vector<int64_t> IntTuple::leaves() const {
  std::vector<int64_t> result;
  addLeaves(*this, result);
  return result;
}

std::string IntTuple::str() const {
  if (leaf)
    return std::to_string(number);
  std::string text = "(";
  for (const IntTuple &child : children)
    text += (&child == &children.front() ? "" : ",") + child.str();
  return text + ")";
}

int64_t product(const IntTuple &tree) {
  int64_t result = 1;
  for (int64_t leaf : tree.leaves())
    result = checkedMul(result, leaf);
  return result;
}

IntTuple productEach(const IntTuple &tree) {
  std::vector<IntTuple> sizes;
  for (const IntTuple &mode : tree.modes())
    sizes.push_back(product(mode));
  return IntTuple::tuple(std::move(sizes));
}

/// Compares the forms of two trees; `coarse` admits leaves of a for tuples.
static bool sameForm(const IntTuple &a, const IntTuple &b, bool coarse) {
  if (a.isLeaf())
    return coarse || b.isLeaf();
  if (b.isLeaf() || a.rank() != b.rank())
    return false;
  auto left = a.modes(), right = b.modes();
  return std::equal(left.begin(), left.end(), right.begin(),
                    [&](const IntTuple &x, const IntTuple &y) {
                      return sameForm(x, y, coarse);
                    });
}

bool isCongruent(const IntTuple &a, const IntTuple &b) {
  return sameForm(a, b, false);
}

bool isWeaklyCongruent(const IntTuple &coarse, const IntTuple &fine) {
  return sameForm(coarse, fine, true);
}

IntTuple mapLeaves(const IntTuple &tree,
                   const std::function<int64_t(int64_t)> &change) {
  if (tree.isLeaf())
    return change(tree.value());
  std::vector<IntTuple> modes;
  for (const IntTuple &child : tree.modes())
    modes.push_back(mapLeaves(child, change));
  return IntTuple::tuple(std::move(modes));
}

} // namespace fmha::layout::algebra

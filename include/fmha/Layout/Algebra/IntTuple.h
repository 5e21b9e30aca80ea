//===- IntTuple.h - Trees of integers ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree of integers is a leaf or a tuple of trees. Shapes, strides and
// coordinates are such trees: 8, (4,8), ((4,8),(2,2)). The rank of a leaf is 1
// and its only mode is the leaf itself.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_INTTUPLE_H
#define FMHA_LAYOUT_ALGEBRA_INTTUPLE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fmha::layout::algebra {

class IntTuple {
public:
  IntTuple(int64_t value = 0) : number(value) {}
  /// Returns the tuple of `modes`, which is no leaf even if there is only one.
  static IntTuple tuple(std::vector<IntTuple> modes);

  bool isLeaf() const { return leaf; }
  /// Returns the integer of a leaf. Throws if it is a tuple.
  int64_t value() const;
  size_t rank() const { return leaf ? 1 : children.size(); }
  /// Returns the depth of the tree: 0 for a leaf, 1 for (4,8).
  unsigned depth() const;
  /// Returns mode `i`. Throws if there is none.
  IntTuple mode(size_t i) const;
  std::vector<IntTuple> modes() const;
  /// Returns the leaves from left to right.
  std::vector<int64_t> leaves() const;
  /// Returns "((4,8),(2,2))".
  std::string str() const;
  bool operator==(const IntTuple &) const = default;

private:
  bool leaf = true;
  int64_t number = 0;
  std::vector<IntTuple> children;
};

/// Returns the product of all leaves, 1 of none.
int64_t product(const IntTuple &tree);
/// Returns the product of each mode, as a tuple.
IntTuple productEach(const IntTuple &tree);
/// Returns true if both trees have the same form.
bool isCongruent(const IntTuple &a, const IntTuple &b);
/// Returns true if each mode of `coarse` is a leaf or has the form of the mode
/// of `fine`: a coordinate of `coarse` form selects an element of `fine`.
bool isWeaklyCongruent(const IntTuple &coarse, const IntTuple &fine);
/// Returns the tree with each leaf replaced.
IntTuple mapLeaves(const IntTuple &tree,
                   const std::function<int64_t(int64_t)> &change);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_INTTUPLE_H

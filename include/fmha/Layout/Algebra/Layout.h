//===- Layout.h - A shape with strides --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout maps coordinates to integers: the inner product of a coordinate and
// the strides. An integer is a coordinate as well, counted with the first mode
// fastest: ((4,8),(2,2)):((32,1),(16,8)) maps 19 = ((3,4),0) to 3*32 + 4*1.
// An index past the end continues in the last mode, so a layout is a function
// of all integers from 0 on.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_LAYOUT_H
#define FMHA_LAYOUT_ALGEBRA_LAYOUT_H

#include "fmha/Layout/Algebra/IntTuple.h"

#include <optional>

namespace fmha::layout::algebra {

class Layout {
public:
  /// The layout 1:0.
  Layout() : Layout(IntTuple(1), IntTuple(0)) {}
  /// Throws unless both have one form, extents are at least 1, and size and
  /// cosize fit 63 bits.
  Layout(IntTuple shape, IntTuple stride);
  /// Returns the layout with strides 1, s0, s0*s1, ... from the left, and 0 for
  /// extents of 1.
  static Layout columnMajor(const IntTuple &shape);
  /// Returns the layout whose last leaf has stride 1.
  static Layout rowMajor(const IntTuple &shape);
  /// Returns the layout with these modes: its rank is their number.
  static Layout tuple(const std::vector<Layout> &modes);

  const IntTuple &shape() const { return extents; }
  const IntTuple &stride() const { return steps; }
  size_t rank() const { return extents.rank(); }
  unsigned depth() const { return extents.depth(); }
  int64_t size() const { return count; }
  /// Returns one more than the greatest offset, for strides without sign.
  int64_t cosize() const { return span; }
  int64_t size(size_t mode) const { return product(extents.mode(mode)); }
  Layout mode(size_t i) const { return {extents.mode(i), steps.mode(i)}; }
  std::vector<Layout> modes() const;
  bool isLeaf() const { return extents.isLeaf(); }

  /// Returns the offset of a coordinate, an integer or a tree that is weakly
  /// congruent to the shape.
  int64_t operator()(const IntTuple &coordinate) const;
  /// Returns "(4,8):(1,4)".
  std::string str() const;
  bool operator==(const Layout &) const = default;

private:
  IntTuple extents, steps;
  /// Their leaves.
  std::vector<int64_t> flatExtents, flatSteps;
  int64_t count = 1, span = 1;
};

/// Returns the coordinate of index `index` >= 0, of the form of `shape`.
IntTuple idx2crd(int64_t index, const IntTuple &shape);
/// Returns the offset of `coordinate` in a layout of this shape and stride.
int64_t crd2idx(const IntTuple &coordinate, const IntTuple &shape,
                const IntTuple &stride);
/// Returns the index of `coordinate`, counted with the first mode fastest.
int64_t crd2idx(const IntTuple &coordinate, const IntTuple &shape);

/// Returns true if no two indices have the same offset. Compares them all, so
/// it takes time in proportion to the size.
bool isInjective(const Layout &layout);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_LAYOUT_H

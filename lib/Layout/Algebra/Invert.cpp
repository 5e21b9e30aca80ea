//===- Invert.cpp - Complements and inverses ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Invert.h"

#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Simplify.h"

#include <algorithm>

namespace fmha::layout::algebra {
namespace {

/// A leaf, and the index at which its coordinate is 1.
struct Leaf {
  int64_t stride, extent, index;
  auto operator<=>(const Leaf &) const = default;
};

/// Returns the leaves with more than one element, by stride.
std::vector<Leaf> sortedLeaves(const Layout &layout) {
  std::vector<Leaf> leaves;
  auto extents = layout.shape().leaves(), strides = layout.stride().leaves();
  int64_t index = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] != 1)
      leaves.push_back({strides[i], extents[i], index});
    index *= extents[i];
  }
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

/// Returns the coalesced layout of these modes.
Layout collect(const std::vector<Layout> &modes) {
  return modes.empty() ? Layout() : coalesce(Layout::tuple(modes));
}

/// Throws unless `leaf` begins at a multiple of `next`, the end of the leaves
/// with smaller strides.
void expectDivides(const char *operation, const Layout &layout, Leaf leaf,
                   int64_t next) {
  if (leaf.stride < next || leaf.stride % next)
    throw LayoutError(std::string(operation) +
                      ": expected strides that are multiples of the end of "
                      "smaller ones in " +
                      layout.str() + ", got the stride " +
                      std::to_string(leaf.stride) + " after " +
                      std::to_string(next) +
                      "; use strides in which each offset occurs once");
}

} // namespace

Layout complement(const Layout &layout, int64_t cotarget) {
  if (cotarget < 1)
    throw LayoutError("complement: expected a cotarget of at least 1, got " +
                      std::to_string(cotarget));
  std::vector<Layout> modes;
  int64_t next = 1;
  for (Leaf leaf : sortedLeaves(filter(layout))) {
    expectDivides("complement", layout, leaf, next);
    modes.push_back(Layout(leaf.stride / next, next));
    next = checkedMul(leaf.stride, leaf.extent);
  }
  modes.push_back(Layout(ceilDiv(cotarget, next), next));
  return collect(modes);
}

Layout rightInverse(const Layout &layout) {
  std::vector<Layout> modes;
  int64_t next = 1;
  for (Leaf leaf : sortedLeaves(layout)) {
    if (leaf.stride < next)
      continue;
    if (leaf.stride != next)
      break;
    modes.push_back(Layout(leaf.extent, leaf.index));
    next = checkedMul(leaf.stride, leaf.extent);
  }
  return collect(modes);
}

Layout leftInverse(const Layout &layout) {
  std::vector<Leaf> leaves = sortedLeaves(layout);
  std::vector<Layout> modes;
  int64_t next = 1;
  for (size_t i = 0; i < leaves.size(); ++i) {
    expectDivides("left_inverse", layout, leaves[i], next);
    if (i == 0 && leaves[i].stride > 1)
      modes.push_back(Layout(leaves[i].stride, 0));
    next = checkedMul(leaves[i].stride, leaves[i].extent);
    // The mode extends to the next stride, across offsets that do not occur.
    int64_t end = i + 1 < leaves.size() ? leaves[i + 1].stride : next;
    int64_t extent = std::max(end / leaves[i].stride, int64_t(1));
    modes.push_back(Layout(extent, leaves[i].index));
  }
  return collect(modes);
}

} // namespace fmha::layout::algebra

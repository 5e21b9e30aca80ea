//===- Simplify.cpp - The same map with fewer modes -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Simplify.h"

#include "fmha/Layout/Algebra/Error.h"

namespace fmha::layout::algebra {

/// Returns the layout of these leaves: a leaf itself if there is one, 1:0 of
/// none.
static Layout ofLeaves(const std::vector<int64_t> &shape,
                       const std::vector<int64_t> &stride) {
  if (shape.empty())
    return Layout();
  if (shape.size() == 1)
    return {shape[0], stride[0]};
  auto tree = [](const std::vector<int64_t> &leaves) {
    return IntTuple::tuple({leaves.begin(), leaves.end()});
  };
  return {tree(shape), tree(stride)};
}

Layout coalesce(const Layout &layout) {
  std::vector<int64_t> shape, stride;
  auto extents = layout.shape().leaves(), steps = layout.stride().leaves();
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1)
      continue;
    // The size of the layout bounds each product of extents, its cosize each
    // stride times one extent less.
    if (!shape.empty() && checkedMul(shape.back(), stride.back()) == steps[i]) {
      shape.back() *= extents[i];
      continue;
    }
    shape.push_back(extents[i]);
    stride.push_back(steps[i]);
  }
  return ofLeaves(shape, stride);
}

Layout coalesce(const Layout &layout, const IntTuple &profile) {
  if (profile.isLeaf())
    return coalesce(layout);
  if (profile.rank() > layout.rank())
    throw LayoutError("coalesce: expected a profile of at most " +
                      std::to_string(layout.rank()) + " modes for " +
                      layout.str() + ", got " + profile.str());
  std::vector<Layout> modes = layout.modes();
  for (size_t i = 0; i < profile.rank(); ++i)
    modes[i] = coalesce(modes[i], profile.mode(i));
  return Layout::tuple(modes);
}

/// Returns `shape` with 1 for each extent of stride 0.
static IntTuple withoutZeros(const IntTuple &shape, const IntTuple &stride) {
  if (shape.isLeaf())
    return stride.value() == 0 ? IntTuple(1) : shape;
  std::vector<IntTuple> modes;
  for (size_t i = 0; i < shape.rank(); ++i)
    modes.push_back(withoutZeros(shape.mode(i), stride.mode(i)));
  return IntTuple::tuple(std::move(modes));
}

Layout filterZeros(const Layout &layout) {
  return {withoutZeros(layout.shape(), layout.stride()), layout.stride()};
}

Layout filter(const Layout &layout) { return coalesce(filterZeros(layout)); }

Layout flatten(const Layout &layout) {
  if (layout.isLeaf())
    return layout;
  auto shape = layout.shape().leaves(), stride = layout.stride().leaves();
  return {IntTuple::tuple({shape.begin(), shape.end()}),
          IntTuple::tuple({stride.begin(), stride.end()})};
}

} // namespace fmha::layout::algebra

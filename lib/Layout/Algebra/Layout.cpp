//===- Layout.cpp - A shape with strides ----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Layout.h"

#include "fmha/Layout/Algebra/Error.h"

#include <cstdlib>
#include <unordered_set>

namespace fmha::layout::algebra {

/// Returns the cosize of a layout, from its leaves.
static int64_t cosizeOf(const std::vector<int64_t> &extents,
                        const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t stride = strides[i] < 0 ? checkedMul(strides[i], -1) : strides[i];
    last = checkedAdd(last, checkedMul(extents[i] - 1, stride));
  }
  return checkedAdd(last, 1);
}

Layout::Layout(IntTuple shape, IntTuple stride)
    : extents(std::move(shape)), steps(std::move(stride)) {
  if (!isCongruent(extents, steps))
    throw LayoutError("expected a stride for each extent of " + extents.str() +
                      ", got the strides " + steps.str());
  flatExtents = extents.leaves();
  flatSteps = steps.leaves();
  if (flatExtents.empty())
    throw LayoutError("expected a shape with an extent, got " + extents.str());
  for (int64_t extent : flatExtents)
    if (extent < 1)
      throw LayoutError("expected extents of at least 1, got " + extents.str());
  count = product(extents);
  span = cosizeOf(flatExtents, flatSteps);
}

Layout Layout::columnMajor(const IntTuple &shape) {
  int64_t next = 1;
  return {shape, mapLeaves(shape, [&](int64_t extent) {
            int64_t stride = extent == 1 ? 0 : next;
            next = checkedMul(next, extent);
            return stride;
          })};
}

Layout Layout::rowMajor(const IntTuple &shape) {
  std::vector<int64_t> strides = shape.leaves();
  int64_t next = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    int64_t extent = strides[i];
    strides[i] = extent == 1 ? 0 : next;
    next = checkedMul(next, extent);
  }
  size_t leaf = 0;
  return {shape, mapLeaves(shape, [&](int64_t) { return strides[leaf++]; })};
}

Layout Layout::tuple(const std::vector<Layout> &modes) {
  std::vector<IntTuple> shapes, strides;
  for (const Layout &mode : modes) {
    shapes.push_back(mode.shape());
    strides.push_back(mode.stride());
  }
  return {IntTuple::tuple(std::move(shapes)),
          IntTuple::tuple(std::move(strides))};
}

std::vector<Layout> Layout::modes() const {
  std::vector<Layout> result;
  for (size_t i = 0; i < rank(); ++i)
    result.push_back(mode(i));
  return result;
}

static void expectIndex(int64_t index) {
  if (index < 0)
    throw LayoutError("expected an index of at least 0, got " +
                      std::to_string(index));
}

int64_t Layout::operator()(const IntTuple &coordinate) const {
  if (!coordinate.isLeaf())
    return crd2idx(coordinate, extents, steps);
  int64_t index = coordinate.value(), offset = 0;
  expectIndex(index);
  size_t last = flatExtents.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    offset =
        checkedAdd(offset, checkedMul(index % flatExtents[i], flatSteps[i]));
    index /= flatExtents[i];
  }
  return checkedAdd(offset, checkedMul(index, flatSteps[last]));
}

std::string Layout::str() const { return extents.str() + ":" + steps.str(); }

/// Returns what is left of `index` in the modes after mode `i`, and the part of
/// mode `i` in `part`. The last mode takes all.
static int64_t splitIndex(int64_t index, const IntTuple &shape, size_t i,
                          int64_t &part) {
  if (i + 1 == shape.rank()) {
    part = index;
    return 0;
  }
  int64_t extent = product(shape.mode(i));
  part = index % extent;
  return index / extent;
}

IntTuple idx2crd(int64_t index, const IntTuple &shape) {
  expectIndex(index);
  if (shape.isLeaf())
    return index;
  std::vector<IntTuple> modes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    int64_t part;
    index = splitIndex(index, shape, i, part);
    modes.push_back(idx2crd(part, shape.mode(i)));
  }
  return IntTuple::tuple(std::move(modes));
}

int64_t crd2idx(const IntTuple &coordinate, const IntTuple &shape,
                const IntTuple &stride) {
  if (!isWeaklyCongruent(coordinate, shape))
    throw LayoutError("expected a coordinate of the shape " + shape.str() +
                      ", got " + coordinate.str());
  if (coordinate.isLeaf() && shape.isLeaf()) {
    expectIndex(coordinate.value());
    return checkedMul(coordinate.value(), stride.value());
  }
  int64_t offset = 0, index = coordinate.isLeaf() ? coordinate.value() : 0;
  expectIndex(index);
  for (size_t i = 0; i < shape.rank(); ++i) {
    IntTuple part;
    if (coordinate.isLeaf()) {
      int64_t number;
      index = splitIndex(index, shape, i, number);
      part = number;
    } else {
      part = coordinate.mode(i);
    }
    offset = checkedAdd(offset, crd2idx(part, shape.mode(i), stride.mode(i)));
  }
  return offset;
}

int64_t crd2idx(const IntTuple &coordinate, const IntTuple &shape) {
  return crd2idx(coordinate, shape, Layout::columnMajor(shape).stride());
}

bool isInjective(const Layout &layout) {
  std::unordered_set<int64_t> seen;
  for (int64_t i = 0; i < layout.size(); ++i)
    if (!seen.insert(layout(i)).second)
      return false;
  return true;
}

} // namespace fmha::layout::algebra

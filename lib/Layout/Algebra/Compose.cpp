//===- Compose.cpp - A layout of indices of a layout ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A leaf s:d of the second layout takes each d-th index of the first. The modes
// of the first are passed from left to right: d divides out the extents below
// it, then s is spent on the extents that follow, the last of which has no end.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Compose.h"

#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Simplify.h"

#include <algorithm>

namespace fmha::layout::algebra {
namespace {

class Composer {
public:
  Composer(const Layout &a, const Layout &b);
  Layout run() {
    Layout result = compose(b.shape(), b.stride());
    expectNoCarry();
    return result;
  }

private:
  Layout compose(const IntTuple &shape, const IntTuple &stride);
  Layout composeLeaf(int64_t s, int64_t d);
  void expectNoCarry() const;
  [[noreturn]] void refuse(int64_t extent, int64_t stride) const;

  const Layout &a, &b;
  /// The coalesced modes of `a`. If its last extent is 1, that mode is kept:
  /// indices past the end continue there.
  std::vector<int64_t> extents, strides;
  /// The greatest coordinate in each of them that the leaves of `b` reach
  /// together.
  std::vector<int64_t> reach;
};

Composer::Composer(const Layout &a, const Layout &b) : a(a), b(b) {
  Layout simple = coalesce(a);
  extents = simple.shape().leaves();
  strides = simple.stride().leaves();
  int64_t last = a.stride().leaves().back();
  if (a.size() == 1)
    strides = {last};
  else if (a.shape().leaves().back() == 1 &&
           checkedMul(extents.back(), strides.back()) != last) {
    extents.push_back(1);
    strides.push_back(last);
  }
  reach.resize(extents.size());
}

void Composer::refuse(int64_t extent, int64_t stride) const {
  throw LayoutError("composition: expected strides and extents in " + b.str() +
                    " that divide the extents of " + a.str() +
                    ", got the stride " + std::to_string(stride) +
                    " at the extent " + std::to_string(extent) +
                    "; no layout is that map, so divide the extent first");
}

Layout Composer::composeLeaf(int64_t s, int64_t d) {
  std::vector<Layout> found;
  size_t last = extents.size() - 1;
  for (size_t i = 0; i < last && (s > 1 || found.empty()); ++i) {
    int64_t extent = extents[i];
    if (d >= extent || s == 1) {
      if (d % extent && s > 1)
        refuse(extent, d);
      d = ceilDiv(d, extent);
      continue;
    }
    int64_t here = ceilDiv(extent, d), taken = std::min(s, here);
    if (s > here && (extent % d || s % here))
      refuse(extent, d);
    found.push_back(Layout(taken, checkedMul(d, strides[i])));
    reach[i] = checkedAdd(reach[i], (taken - 1) * d);
    s /= taken;
    d = 1;
  }
  if (s > 1 || found.empty())
    found.push_back(Layout(s, checkedMul(d, strides[last])));
  return found.size() == 1 ? found[0] : Layout::tuple(found);
}

Layout Composer::compose(const IntTuple &shape, const IntTuple &stride) {
  if (!shape.isLeaf()) {
    std::vector<Layout> parts;
    for (size_t i = 0; i < shape.rank(); ++i)
      parts.push_back(compose(shape.mode(i), stride.mode(i)));
    return Layout::tuple(parts);
  }
  int64_t d = stride.value();
  if (d < 0)
    throw LayoutError("composition: expected strides of at least 0 in the "
                      "second layout, got " +
                      b.str());
  return d == 0 ? Layout(shape, 0) : composeLeaf(shape.value(), d);
}

/// Throws if leaves of `b` overrun a mode of `a` together: their sum would
/// carry into the next one, and the map is not the sum of theirs.
void Composer::expectNoCarry() const {
  for (size_t i = 0; i + 1 < extents.size(); ++i)
    if (reach[i] >= extents[i])
      throw LayoutError("composition: expected modes of " + b.str() +
                        " whose sum stays below the extent " +
                        std::to_string(extents[i]) + " of " + a.str() +
                        ", got " + std::to_string(reach[i]) +
                        "; no layout is that map, so divide by modes that do "
                        "not overlap");
}

} // namespace

Layout composition(const Layout &a, const Layout &b) {
  return Composer(a, b).run();
}

Layout composition(const Layout &a, const Tiler &tiler) {
  if (tiler.kind() == Tiler::Kind::Keep)
    return a;
  if (tiler.kind() == Tiler::Kind::Whole)
    return composition(a, tiler.layout());
  expectModesFor("composition", a, tiler);
  std::vector<Layout> modes;
  for (size_t i = 0; i < tiler.modes().size(); ++i)
    modes.push_back(composition(a.mode(i), tiler.modes()[i]));
  return Layout::tuple(modes);
}

Layout withShape(const Layout &layout, const IntTuple &shape) {
  return composition(layout, Layout::columnMajor(shape));
}

} // namespace fmha::layout::algebra

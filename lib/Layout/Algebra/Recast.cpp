//===- Recast.cpp - Layouts of wider and narrower elements ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Recast.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace fmha::layout::algebra {
namespace {

/// Returns the layout with each leaf extent:stride replaced by `change`.
template <typename Change>
Layout mapModes(const Layout &layout, const Change &change) {
  if (layout.isLeaf())
    return change(layout.shape().value(), layout.stride().value());
  std::vector<Layout> modes;
  for (const Layout &mode : layout.modes())
    modes.push_back(mapModes(mode, change));
  return Layout::tuple(modes);
}

void expectFactor(const char *operation, int64_t factor) {
  if (factor < 1)
    throw LayoutError(std::string(operation) +
                      ": expected a factor of at least 1, got " +
                      std::to_string(factor));
}

void expectBits(int64_t oldBits, int64_t newBits) {
  int64_t most = std::max(oldBits, newBits), least = std::min(oldBits, newBits);
  if (least < 1 || most % least)
    throw LayoutError("recast: expected sizes of which one divides the other, "
                      "got " +
                      std::to_string(oldBits) + " and " +
                      std::to_string(newBits) + " bits");
}

} // namespace

Layout upcast(const Layout &layout, int64_t factor) {
  expectFactor("upcast", factor);
  return mapModes(layout, [&](int64_t extent, int64_t stride) -> Layout {
    int64_t length = std::abs(stride), sign = stride < 0 ? -1 : 1;
    if (stride == 0 || length % factor == 0)
      return {extent, stride / factor};
    if (factor % length && extent != 1)
      throw LayoutError("upcast: expected strides that divide the factor " +
                        std::to_string(factor) + " or are multiples of it, " +
                        "got " + layout.str());
    return {ceilDiv(extent, ceilDiv(factor, length)),
            sign * ceilDiv(length, factor)};
  });
}

Layout downcast(const Layout &layout, int64_t factor) {
  expectFactor("downcast", factor);
  return mapModes(layout, [&](int64_t extent, int64_t stride) -> Layout {
    if (stride == 1 || stride == -1)
      return {checkedMul(extent, factor), stride};
    return {extent, checkedMul(stride, factor)};
  });
}

Layout recast(const Layout &layout, int64_t oldBits, int64_t newBits) {
  expectBits(oldBits, newBits);
  return oldBits <= newBits ? upcast(layout, newBits / oldBits)
                            : downcast(layout, oldBits / newBits);
}

ComposedLayout recast(const ComposedLayout &layout, int64_t oldBits,
                      int64_t newBits) {
  expectBits(oldBits, newBits);
  bool wider = oldBits <= newBits;
  int64_t factor = wider ? newBits / oldBits : oldBits / newBits;
  if (!std::has_single_bit(uint64_t(factor)) && layout.swizzle.bits())
    throw LayoutError("recast: expected a power of two between the sizes of a "
                      "swizzled layout, got " +
                      std::to_string(factor));
  if (wider && layout.offset % factor)
    throw LayoutError("recast: expected an offset that is a multiple of " +
                      std::to_string(factor) + ", got " +
                      std::to_string(layout.offset));
  int step = std::countr_zero(uint64_t(factor)) * (wider ? -1 : 1);
  const Swizzle &from = layout.swizzle;
  Swizzle swizzle = from.bits()
                        ? Swizzle(from.bits(), from.base() + step, from.shift())
                        : Swizzle();
  int64_t offset =
      wider ? layout.offset / factor : checkedMul(layout.offset, factor);
  return {swizzle, offset, recast(layout.layout, oldBits, newBits)};
}

} // namespace fmha::layout::algebra

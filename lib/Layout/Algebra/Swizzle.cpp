//===- Swizzle.cpp - Layouts with permuted bits ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Swizzle.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>
#include <cstdlib>

namespace fmha::layout::algebra {

Swizzle::Swizzle(int bits, int base, int shift)
    : count(bits), low(base), distance(shift) {
  bool fits = bits >= 0 && base >= 0 && bits <= 62 && base <= 62 &&
              std::abs(int64_t(shift)) <= 62 && std::abs(shift) >= bits &&
              bits + base + std::abs(shift) <= 62;
  if (!fits)
    throw LayoutError("expected a swizzle with bits and base of at least 0, a "
                      "shift of at least the bits, and a sum of at most 62, "
                      "got " +
                      str());
}

int64_t Swizzle::operator()(int64_t offset) const {
  int from = low + std::max(distance, 0), to = low - std::min(distance, 0);
  int64_t mask = (int64_t(1) << count) - 1;
  return offset ^ ((offset >> from & mask) << to);
}

std::string Swizzle::str() const {
  return "Sw<" + std::to_string(count) + "," + std::to_string(low) + "," +
         std::to_string(distance) + ">";
}

int64_t ComposedLayout::operator()(const IntTuple &coordinate) const {
  int64_t linear = checkedAdd(offset, layout(coordinate));
  if (linear < 0 && swizzle.bits())
    throw LayoutError("expected offsets of at least 0 in a swizzle, got " +
                      std::to_string(linear));
  return swizzle(linear);
}

int64_t ComposedLayout::cosize() const {
  int64_t all = (int64_t(1) << swizzle.bits()) - 1;
  int64_t to = swizzle.base() - std::min(swizzle.shift(), 0);
  // XOR sets at most bits of the mask.
  return ((checkedAdd(std::max<int64_t>(offset, 0), layout.cosize()) - 1) |
          (all << to)) +
         1;
}

std::string ComposedLayout::str() const {
  std::string text = swizzle.bits() ? swizzle.str() + " o " : "";
  if (swizzle.bits() || offset)
    text += std::to_string(offset) + " o ";
  return text + layout.str();
}

ComposedLayout composition(const ComposedLayout &a, const Layout &b) {
  return {a.swizzle, a.offset, composition(a.layout, b)};
}

} // namespace fmha::layout::algebra

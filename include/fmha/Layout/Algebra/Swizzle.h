//===- Swizzle.h - Layouts with permuted bits -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_SWIZZLE_H
#define FMHA_LAYOUT_ALGEBRA_SWIZZLE_H

#include "fmha/Layout/Algebra/Compose.h"

namespace fmha::layout::algebra {

/// Exchanges `bits` bits of an offset: the bits from base + max(shift, 0) on
/// are XORed into those |shift| below, or above if shift < 0. Offsets count
/// elements or bytes as the layout does: Swizzle<3,4,3> of bytes is the
/// 128-byte swizzle, which for 16-bit elements is Swizzle<3,3,3>.
class Swizzle {
public:
  /// The identity.
  Swizzle() = default;
  /// Throws unless 0 <= bits, 0 <= base, |shift| >= bits and all fit 62 bits.
  Swizzle(int bits, int base, int shift);

  int bits() const { return count; }
  int base() const { return low; }
  int shift() const { return distance; }
  int64_t operator()(int64_t offset) const;
  /// Returns "Sw<3,4,3>".
  std::string str() const;
  bool operator==(const Swizzle &) const = default;

private:
  int count = 0, low = 0, distance = 0;
};

/// The map c -> swizzle(offset + layout(c)).
struct ComposedLayout {
  Swizzle swizzle;
  int64_t offset = 0;
  Layout layout;

  int64_t operator()(const IntTuple &coordinate) const;
  int64_t size() const { return layout.size(); }
  /// Returns one more than the greatest offset that the layout can reach.
  int64_t cosize() const;
  /// Returns "Sw<3,4,3> o 0 o (8,64):(64,1)", without what changes nothing.
  std::string str() const;
  bool operator==(const ComposedLayout &) const = default;
};

/// Composes the inner layout.
ComposedLayout composition(const ComposedLayout &a, const Layout &b);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_SWIZZLE_H

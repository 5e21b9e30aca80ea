//===- FixedPoint.h - Terms of the tensor core's sums -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_UNITS_FIXEDPOINT_H
#define FMHA_LIB_PTX_SIM_UNITS_FIXEDPOINT_H

#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ptxsim {

/// mantissa * 2^scale, with the exponent that the window compares: subnormals
/// of the source type all count as its smallest normal.
struct Term {
  int64_t mantissa = 0;
  int scale = 0;    // exponent of the mantissa's lowest bit
  int exponent = 0; // stored exponent of the source
};

inline Term termOf(float value, int minExponent) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t biased = (bits >> 23) & 0xff;
  int64_t magnitude = (bits & 0x7fffff) | (biased ? 0x800000 : 0);
  int exponent = int(biased ? biased : 1) - 127;
  return {bits >> 31 ? -magnitude : magnitude, exponent - 23,
          std::max(exponent, minExponent)};
}

/// Returns mantissa * 2^-shift truncated toward zero. No left shift moves C
/// beyond its place in the window, and a product is never shifted left.
inline int64_t cut(int64_t mantissa, int shift) {
  // A zero may be at any distance.
  if (mantissa == 0)
    return 0;
  if (shift <= 0)
    return mantissa * (int64_t(1) << -shift);
  // Every mantissa is below 2^62, so larger shifts leave nothing.
  shift = std::min(shift, 62);
  int64_t towardZero = (mantissa >> 63) & ((int64_t(1) << shift) - 1);
  return (mantissa + towardZero) >> shift;
}

/// Returns sum * 2^quantum truncated toward zero to f32, or to fewer fraction
/// bits.
inline float roundDown(int64_t sum, int quantum, int fractionBits) {
  uint64_t magnitude = uint64_t(sum < 0 ? -sum : sum);
  if (!magnitude)
    return 0.0f;
  int top = 63 - std::countl_zero(magnitude) + quantum;
  if (top > 127)
    return sum < 0 ? -std::numeric_limits<float>::infinity()
                   : std::numeric_limits<float>::infinity();
  int lowest = std::max(top - fractionBits, -149);
  int drop = lowest - quantum;
  if (drop > 0)
    magnitude = drop > 63 ? 0 : magnitude >> drop << drop;
  float value = float(std::ldexp(double(magnitude), quantum));
  return sum < 0 ? -value : value;
}

/// Returns sum * 2^quantum rounded to the nearest f16, ties to even.
inline float roundToHalf(int64_t sum, int quantum) {
  return decodeElement(ElementType::F16,
                       encodeF16(std::ldexp(double(sum), quantum)));
}

/// The NaN that the tensor core returns.
constexpr uint32_t canonicalNan = 0x7fffffff;

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_UNITS_FIXEDPOINT_H

//===- Rounding.h - 16-bit floating point on the host -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_REFERENCE_ROUNDING_H
#define FMHA_REFERENCE_ROUNDING_H

#include <cstdint>

namespace fmha::reference {

enum class Element { F16, BF16, F32 };

/// Of the types of 16 bits. Round to nearest, ties to even; what is too large
/// becomes an infinity, NaN stays NaN, subnormal numbers are kept.
uint16_t toBits(Element type, float value);
/// Exact.
float fromBits(Element type, uint16_t bits);
inline float roundTo(Element type, float value) {
  return type == Element::F32 ? value : fromBits(type, toBits(type, value));
}

/// The largest relative error of one rounding, half the distance from 1 to the
/// next number: 2^-11 for f16, 2^-8 for bf16 (8 bits of significand). For f32,
/// where the sums of products count and not the rounding of the result, 2^-18.
double unitRoundoff(Element type);

} // namespace fmha::reference

#endif // FMHA_REFERENCE_ROUNDING_H

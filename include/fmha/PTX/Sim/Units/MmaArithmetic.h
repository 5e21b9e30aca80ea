//===- MmaArithmetic.h - The tensor core's sums -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One instruction adds K products to each element of D. The manual does not
// specify the precision of the sum. The exact mode follows the fixed-point
// window that independent bit-level studies of the hardware agree on (mmasim,
// arXiv 2511.10909) and that recordings of an H200 confirm for the 16-bit and
// tf32 kinds.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_MMAARITHMETIC_H
#define FMHA_PTX_SIM_UNITS_MMAARITHMETIC_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace ptxsim {

/// Properties of the operands that the sum of one instruction depends on.
struct SumRules {
  /// Exponent of the smallest normal number of A's and B's type.
  int minExponentA = -126, minExponentB = -126;
  /// The sum keeps products and C down to 2^(largest exponent - window).
  int window = 25;
  /// D is f16: one rounding to nearest even, and C is an f16 number.
  bool halfResult = false;
  /// Fraction bits of an f32 D.
  int fractionBits = 23;

  /// Returns the exponent assumed for a zero product or zero C. It matters if
  /// every other term is below the smallest number of D.
  int zeroExponent() const { return halfResult ? -21 : -133; }
};

/// Computes one element of D by the fixed-point window: every product is exact,
/// each term is truncated toward zero to a multiple of 2^(e - window), the
/// terms are added exactly, and the sum is truncated toward zero to f32
/// (rounded to nearest even for f16). `a[i]` is multiplied by `b[i * strideB]`.
/// NaN is 0x7fffffff.
float exactDot(std::span<const float> a, const float *b, size_t strideB,
               float c, const SumRules &rules);

/// A block of D: d[i][j] = c + sum over k of a[i][k] * b[k][j], where c is
/// d[i][j] if `accumulate`, else 0. Rows of a have length k; rows of b and d
/// are strideB and strideD elements apart.
struct MmaBlock {
  uint32_t m = 0, n = 0, k = 0;
  size_t strideB = 0, strideD = 0;
  bool accumulate = false;
};

/// Computes products and sums in f32, in the order of k: d = round(d + round(a
/// * b)) for each k, never fused, so that the bits are the same on every host.
/// `d` holds the bits of f32 values; NaN is 0x7fffffff.
void fastMma(const float *a, const float *b, uint32_t *d,
             const MmaBlock &block);

/// Same for integers, whose sums are exact: d holds s32, and a sum beyond it
/// wraps, or is clamped once if `saturate`.
void integerMma(const float *a, const float *b, uint32_t *d,
                const MmaBlock &block, bool saturate);

/// Same as fastMma, with exactDot.
void exactMma(const float *a, const float *b, uint32_t *d,
              const MmaBlock &block, const SumRules &rules);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_MMAARITHMETIC_H

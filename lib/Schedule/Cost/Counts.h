//===- Counts.h - Instructions and products of the cost model ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_COST_COUNTS_H
#define FMHA_LIB_SCHEDULE_COST_COUNTS_H

#include "fmha/Target/Target.h"

namespace fmha::schedule {

/// f32 operations per score outside the MUFU: scale and subtract, sum.
inline constexpr double fmaPerExponential = 1, fmaPerSum = 1,
                        fmaPerScore = fmaPerExponential + fmaPerSum;
/// A 3-input maximum processes two scores, so does a packed conversion.
inline constexpr double maximaPerScore = 0.5, conversionsPerScore = 0.5;
/// An emulated ex2 of FlashAttention-4: a rounding add, two subtractions and
/// three FMAs of the polynomial; clamp, shift and add of the integer part.
inline constexpr double fmaPerEmulated = 6, aluPerEmulated = 3;
/// Of a number of e4m3, in pairs: cvt.f16x2.e4m3x2, and for bf16 two
/// cvt.f32.f16 and a cvt.bf16x2.f32.
inline constexpr double conversionsToHalf = 0.5, conversionsToBf16 = 2;
/// Share of blocks whose row maximum exceeds a positive threshold.
inline constexpr double rescaledShare = 0.1;
/// A select per score at the edge of a mask, and the share of blocks there: one
/// of ten, as of a causal launch of 2560 keys in blocks of 128.
inline constexpr double aluPerMasked = 1, maskedShare = 0.1;
/// The most columns of D of one instruction (PTX ISA 9.7.16.2.1 and 9.7.15.5).
inline constexpr double mostColumns = 256;

/// Time and operand bytes of one product.
struct Product {
  double clocks = 0, bytes = 0;
};

/// A product with D of `rows` and `columns` and an inner extent of `depth`
/// elements of `elementBytes` in shared memory. CTAs of a group have a part of
/// B each.
struct ProductShape {
  double rows, columns, depth, elementBytes;
  bool aInSmem;
  unsigned ctaGroup = 1;
};
Product productOf(const target::Target &gpu, const ProductShape &shape);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_COST_COUNTS_H

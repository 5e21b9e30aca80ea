//===- ScaledArithmetic.h - Sums with scale factors -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block-scaled kinds of tcgen05.mma: (A * scale A) * (B * scale B) + D. The
// manual does not specify the precision of the sum. The exact mode follows
// mmasim (arXiv 2511.10909).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_SCALEDARITHMETIC_H
#define FMHA_PTX_SIM_UNITS_SCALEDARITHMETIC_H

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"

namespace ptxsim {

/// Scale factors of the rows of A and of the columns of B, `vector` of each in
/// the order of K; each scales an equal share of K.
struct ScaleFactors {
  const float *a = nullptr, *b = nullptr;
  uint32_t vector = 1;
  /// Exponent of the smallest normal number of the factors' type.
  int minExponent = -127;
};

/// Computes d = c + sum of a * b * scale a * scale b. The products of one scale
/// factor are summed first, in f32 in the order of k; each sum is scaled and
/// added to d in f64 and rounded to f32.
void fastScaledMma(const float *a, const float *b, uint32_t *d,
                   const MmaBlock &block, const ScaleFactors &scales);

/// Same, with one fixed-point sum for each element. `packed` operands (4 bits)
/// are summed exactly in groups of 16 products, which are aligned by the
/// exponents of their scale factors and kept down to 2^(largest exponent - 35).
/// Others are aligned product by product and kept down to 2^(largest
/// exponent - 25), with the scale factors' exponents added.
void exactScaledMma(const float *a, const float *b, uint32_t *d,
                    const MmaBlock &block, const ScaleFactors &scales,
                    const SumRules &rules, bool packed);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_SCALEDARITHMETIC_H

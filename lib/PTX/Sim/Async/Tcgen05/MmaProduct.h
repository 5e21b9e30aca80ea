//===- MmaProduct.h - The product of one MMA --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAPRODUCT_H
#define FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAPRODUCT_H

#include "MmaWork.h"

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"

namespace ptxsim {

/// The operands of one CTA's part, decoded to f32: A in rows of the K that it
/// stores, B in rows of `strideB` columns, scale factors as ScaleFactors has
/// them, and of sparse A the position of each element in K. What tensor memory
/// has of A has the rows of all parts of the lanes.
struct MmaInputs {
  std::vector<float> a, b, scaleA, scaleB;
  std::vector<uint8_t> kept;
  size_t strideB = 0;
};

/// Decodes B, of which each CTA of a pair holds a part.
void gatherB(const MmaWork &work, MmaInputs &inputs);
/// Decodes the operands of one CTA's own, and reports what was never written.
void gatherOwn(const Site &site, Cta &cta, const MmaWork &work,
               MmaInputs &inputs);

/// A rectangle of D.
struct Patch {
  uint32_t m = 0, rows = 0, n = 0, columns = 0;
};

/// Computes d += a * b for a patch, in the launch's mode; `d` has the format of
/// the sum, its rows are `strideD` elements apart, and its old values count if
/// the MMA accumulates.
void multiply(const MmaWork &work, MmaMode mode, const MmaInputs &inputs,
              const Patch &patch, uint32_t *d, size_t strideD);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAPRODUCT_H

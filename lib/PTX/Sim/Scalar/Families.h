//===- Families.h - The families of scalar forms ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every family is compiled twice, once for any CPU and once for AVX2 and FMA,
// each time in its own namespace. The registry takes the one that fits the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_FAMILIES_H
#define FMHA_LIB_PTX_SIM_SCALAR_FAMILIES_H

namespace ptxsim::scalar {

class Registry;

#define PTX_SCALAR_FAMILIES(X)                                                 \
  X(Integer)                                                                   \
  X(Multiply)                                                                  \
  X(Carry)                                                                     \
  X(Bits)                                                                      \
  X(Move)                                                                      \
  X(Compare)                                                                   \
  X(Float32)                                                                   \
  X(Float64)                                                                   \
  X(Half)                                                                      \
  X(MinMax)                                                                    \
  X(Approximate)                                                               \
  X(ConvertInteger)                                                            \
  X(ConvertFloat)                                                              \
  X(ConvertNarrow)                                                             \
  X(Video)

#define PTX_SCALAR_DECLARE(family) void register##family(Registry &registry);
namespace portable {
PTX_SCALAR_FAMILIES(PTX_SCALAR_DECLARE)
void registerFamilies(Registry &registry);
} // namespace portable
namespace avx2 {
PTX_SCALAR_FAMILIES(PTX_SCALAR_DECLARE)
void registerFamilies(Registry &registry);
} // namespace avx2
#undef PTX_SCALAR_DECLARE

} // namespace ptxsim::scalar

#endif // FMHA_LIB_PTX_SIM_SCALAR_FAMILIES_H

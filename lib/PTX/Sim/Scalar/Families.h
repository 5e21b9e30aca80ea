//===- Families.h - The families of scalar forms ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hot families, those of the inner loops of kernels, are compiled twice,
// once for any CPU and once for AVX2 and FMA, each time in a separate
// namespace. The registry uses those that fit the CPU. The common families are
// compiled once.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_FAMILIES_H
#define FMHA_LIB_PTX_SIM_SCALAR_FAMILIES_H

namespace ptxsim::scalar {

class Registry;

#define PTX_SCALAR_HOT_FAMILIES(X)                                             \
  X(Integer)                                                                   \
  X(Multiply)                                                                  \
  X(Bits)                                                                      \
  X(Move)                                                                      \
  X(Compare)                                                                   \
  X(Float32)                                                                   \
  X(MinMax)                                                                    \
  X(Approximate)                                                               \
  X(ConvertFloat)

#define PTX_SCALAR_COMMON_FAMILIES(X)                                          \
  X(Carry)                                                                     \
  X(Float64)                                                                   \
  X(Half)                                                                      \
  X(ConvertInteger)                                                            \
  X(ConvertNarrow)                                                             \
  X(Video)

#define PTX_SCALAR_DECLARE(family) void register##family(Registry &registry);
// registerFamilies() also registers the common families.
namespace portable {
PTX_SCALAR_HOT_FAMILIES(PTX_SCALAR_DECLARE)
void registerFamilies(Registry &registry);
} // namespace portable
namespace avx2 {
PTX_SCALAR_HOT_FAMILIES(PTX_SCALAR_DECLARE)
void registerFamilies(Registry &registry);
} // namespace avx2
namespace common {
PTX_SCALAR_COMMON_FAMILIES(PTX_SCALAR_DECLARE)
} // namespace common
#undef PTX_SCALAR_DECLARE

} // namespace ptxsim::scalar

#endif // FMHA_LIB_PTX_SIM_SCALAR_FAMILIES_H

//===- MufuTables.h - The sm_90 function unit -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables of one period of ex2, lg2, rcp and rsqrt, recorded on an H200 as
// differences from correct rounding. ex2, rcp and rsqrt are exact for every
// input; lg2 is for inputs of at least 2, and near that below.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_SCALAR_MUFUTABLES_H
#define FMHA_LIB_PTX_SIM_SCALAR_MUFUTABLES_H

#include <cstdint>

namespace ptxsim::scalar {

enum class Mufu { None, Ex2, Lg2, Rcp, Rsqrt, Sqrt, Sin, Cos };

/// Returns the float32 result of `function`.approx{.ftz}.f32 for the float32
/// `input`. The first call unpacks the function's table (8 to 32 MiB).
uint32_t mufuF32(Mufu function, uint32_t input, bool ftz);

} // namespace ptxsim::scalar

#endif // FMHA_LIB_PTX_SIM_SCALAR_MUFUTABLES_H

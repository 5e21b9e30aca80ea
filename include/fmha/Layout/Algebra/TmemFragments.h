//===- TmemFragments.h - Registers of tcgen05.ld and .st --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_TMEMFRAGMENTS_H
#define FMHA_LAYOUT_ALGEBRA_TMEMFRAGMENTS_H

#include "fmha/Layout/Algebra/ThreadValue.h"

#include <string_view>

namespace fmha::layout::algebra {

/// Returns which register of which lane holds what of the (lanes, columns) that
/// one warp moves, for a name such as tcgen05_ld_32x32b_x8: 32x32b, 16x64b,
/// 16x128b and 16x256b, each x1 to x128 as far as 128 registers reach. Throws
/// an error with the form of names if there is none.
ThreadValue tmemFragment(std::string_view name);
std::vector<std::string> tmemFragmentNames();

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_TMEMFRAGMENTS_H

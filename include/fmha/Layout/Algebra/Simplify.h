//===- Simplify.h - The same map with fewer modes ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_SIMPLIFY_H
#define FMHA_LAYOUT_ALGEBRA_SIMPLIFY_H

#include "fmha/Layout/Algebra/Layout.h"

namespace fmha::layout::algebra {

/// Returns the layout of least rank that is the same map of integers:
/// (2,(1,6)):(1,(6,2)) becomes 12:1.
Layout coalesce(const Layout &layout);
/// Returns the layout with each mode coalesced that is a leaf of `profile`:
/// with (1,1) the example becomes (2,6):(1,2).
Layout coalesce(const Layout &layout, const IntTuple &profile);
/// Returns the layout with extents 1 where strides are 0.
Layout filterZeros(const Layout &layout);
/// Returns the coalesced layout without modes of stride 0: it has the same
/// offsets, each fewer times.
Layout filter(const Layout &layout);
/// Returns the layout with all leaves as modes of one tuple.
Layout flatten(const Layout &layout);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_SIMPLIFY_H

//===- Invert.h - Complements and inverses ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_INVERT_H
#define FMHA_LAYOUT_ALGEBRA_INVERT_H

#include "fmha/Layout/Algebra/Layout.h"

namespace fmha::layout::algebra {

/// Returns the layout C of ordered strides so that (layout, C) reaches every
/// integer from 0 to `cotarget` - 1, rounded up, exactly once. Throws if
/// `layout` has offsets twice or its strides do not divide each other.
Layout complement(const Layout &layout, int64_t cotarget);

/// Returns the longest layout R with layout(R(i)) = i for all i of R.
Layout rightInverse(const Layout &layout);

/// Returns a layout L with L(layout(i)) = i for all i of `layout`. Throws if
/// `layout` has offsets twice or its strides do not divide each other.
Layout leftInverse(const Layout &layout);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_INVERT_H

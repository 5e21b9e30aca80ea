//===- Recast.h - Layouts of wider and narrower elements --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_RECAST_H
#define FMHA_LAYOUT_ALGEBRA_RECAST_H

#include "fmha/Layout/Algebra/Swizzle.h"

namespace fmha::layout::algebra {

/// Returns the layout of elements that hold `factor` of the given ones each.
/// Throws if a stride neither divides `factor` nor is a multiple of it.
Layout upcast(const Layout &layout, int64_t factor);
/// Returns the layout of elements of which each given one holds `factor`.
Layout downcast(const Layout &layout, int64_t factor);
/// Returns the layout of elements of `newBits` for one of `oldBits`. Throws
/// unless one divides the other.
Layout recast(const Layout &layout, int64_t oldBits, int64_t newBits);
ComposedLayout recast(const ComposedLayout &layout, int64_t oldBits,
                      int64_t newBits);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_RECAST_H

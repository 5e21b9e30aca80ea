//===- Compose.h - A layout of indices of a layout --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_COMPOSE_H
#define FMHA_LAYOUT_ALGEBRA_COMPOSE_H

#include "fmha/Layout/Algebra/Tiler.h"

namespace fmha::layout::algebra {

/// Returns the layout R of the shape of `b` with R(c) = a(b(c)). Throws if no
/// layout is that map: a stride of `b` must divide into the extents of `a`.
Layout composition(const Layout &a, const Layout &b);
/// Composes each mode with the mode of the tiler; modes of `a` that `tiler`
/// does not name are dropped.
Layout composition(const Layout &a, const Tiler &tiler);
/// Returns the layout of the given shape with the same offsets.
Layout withShape(const Layout &layout, const IntTuple &shape);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_COMPOSE_H

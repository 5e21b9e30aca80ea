//===- Divide.h - Layouts cut into tiles ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms of a division of (M,N) by a tiler (TileM,TileN):
//
//   logical  ((TileM,RestM),(TileN,RestN))
//   zipped   ((TileM,TileN),(RestM,RestN))
//   tiled    ((TileM,TileN),RestM,RestN)
//   flat     (TileM,TileN,RestM,RestN)
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_DIVIDE_H
#define FMHA_LAYOUT_ALGEBRA_DIVIDE_H

#include "fmha/Layout/Algebra/Tiler.h"

namespace fmha::layout::algebra {

/// Returns (layout o tiler, layout o complement of tiler). A tile that passes
/// the end of a mode is counted as a whole one.
Layout logicalDivide(const Layout &layout, const Tiler &tiler);
Layout zippedDivide(const Layout &layout, const Tiler &tiler);
Layout tiledDivide(const Layout &layout, const Tiler &tiler);
Layout flatDivide(const Layout &layout, const Tiler &tiler);

/// Returns the modes that `guide` names, each a pair, as one pair of tuples;
/// further modes of `layout` follow in the second.
Layout zipByTiler(const Layout &layout, const Tiler &guide);
/// Returns (mode 0, modes of mode 1...).
Layout unpackRest(const Layout &zipped);
/// Returns (modes of mode 0..., modes of mode 1...).
Layout unpackBoth(const Layout &zipped);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_DIVIDE_H

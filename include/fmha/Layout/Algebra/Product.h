//===- Product.h - Layouts repeated -----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product repeats `block` as often as `tiler` has elements, at offsets that
// `block` does not use. Its forms have the names of Divide.h; blocked and raked
// products have the modes of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_PRODUCT_H
#define FMHA_LAYOUT_ALGEBRA_PRODUCT_H

#include "fmha/Layout/Algebra/Tiler.h"

namespace fmha::layout::algebra {

/// Returns (block, complement of block o tiler).
Layout logicalProduct(const Layout &block, const Tiler &tiler);
Layout zippedProduct(const Layout &block, const Tiler &tiler);
Layout tiledProduct(const Layout &block, const Tiler &tiler);
Layout flatProduct(const Layout &block, const Tiler &tiler);

/// Returns ((BlockM,TilerM),(BlockN,TilerN)): a block stays together.
Layout blockedProduct(const Layout &block, const Layout &tiler);
/// Returns ((TilerM,BlockM),(TilerN,BlockN)): the elements of a block lie the
/// extents of `tiler` apart. Each mode is coalesced.
Layout rakedProduct(const Layout &block, const Layout &tiler);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_PRODUCT_H

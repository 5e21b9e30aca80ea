//===- Product.cpp - Layouts repeated -------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Product.h"

#include "fmha/Layout/Algebra/Compose.h"
#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Simplify.h"

#include <algorithm>

namespace fmha::layout::algebra {

Layout logicalProduct(const Layout &block, const Tiler &tiler) {
  if (tiler.kind() == Tiler::Kind::Keep)
    return block;
  if (tiler.kind() == Tiler::Kind::Whole) {
    int64_t space = checkedMul(block.size(), tiler.layout().cosize());
    return Layout::tuple(
        {block, composition(complement(block, space), tiler.layout())});
  }
  expectModesFor("logical_product", block, tiler);
  std::vector<Layout> modes = block.modes();
  for (size_t i = 0; i < tiler.modes().size(); ++i)
    modes[i] = logicalProduct(modes[i], tiler.modes()[i]);
  return Layout::tuple(modes);
}

Layout zippedProduct(const Layout &block, const Tiler &tiler) {
  return zipByTiler(logicalProduct(block, tiler), tiler);
}

Layout tiledProduct(const Layout &block, const Tiler &tiler) {
  return unpackRest(zippedProduct(block, tiler));
}

Layout flatProduct(const Layout &block, const Tiler &tiler) {
  return unpackBoth(zippedProduct(block, tiler));
}

/// Returns the layout with modes 1:0 appended up to `rank`; a leaf becomes the
/// first of them.
static Layout padded(const Layout &layout, size_t rank) {
  if (layout.isLeaf() && rank == 1)
    return layout;
  std::vector<Layout> modes = layout.modes();
  modes.resize(std::max(rank, modes.size()));
  return Layout::tuple(modes);
}

/// Returns each mode of `inner` joined with the same mode of `outer`.
static Layout zipModes(const Layout &inner, const Layout &outer) {
  std::vector<Layout> modes;
  for (size_t i = 0; i < inner.rank(); ++i)
    modes.push_back(Layout::tuple({inner.mode(i), outer.mode(i)}));
  return Layout::tuple(modes);
}

/// Returns the block and its repetitions, both of the greater of the ranks.
static Layout matrixProduct(const Layout &block, const Layout &tiler) {
  size_t rank = std::max(block.rank(), tiler.rank());
  return logicalProduct(padded(block, rank), Tiler(padded(tiler, rank)));
}

Layout blockedProduct(const Layout &block, const Layout &tiler) {
  Layout both = matrixProduct(block, tiler);
  return zipModes(both.mode(0), both.mode(1));
}

Layout rakedProduct(const Layout &block, const Layout &tiler) {
  Layout both = matrixProduct(block, tiler);
  Layout raked = zipModes(both.mode(1), both.mode(0));
  std::vector<IntTuple> each(raked.rank(), 1);
  return coalesce(raked, IntTuple::tuple(each));
}

} // namespace fmha::layout::algebra

//===- Divide.cpp - Layouts cut into tiles --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Divide.h"

#include "fmha/Layout/Algebra/Compose.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"

namespace fmha::layout::algebra {

Layout logicalDivide(const Layout &layout, const Tiler &tiler) {
  if (tiler.kind() == Tiler::Kind::Keep)
    return layout;
  if (tiler.kind() == Tiler::Kind::Whole)
    return composition(
        layout, Layout::tuple({tiler.layout(),
                               complement(tiler.layout(), layout.size())}));
  expectModesFor("logical_divide", layout, tiler);
  std::vector<Layout> modes = layout.modes();
  for (size_t i = 0; i < tiler.modes().size(); ++i)
    modes[i] = logicalDivide(modes[i], tiler.modes()[i]);
  return Layout::tuple(modes);
}

Layout zipByTiler(const Layout &layout, const Tiler &guide) {
  if (guide.kind() != Tiler::Kind::ByMode) {
    if (layout.isLeaf() || layout.rank() != 2)
      throw LayoutError("zipped_divide: expected a mode of rank 2 where the "
                        "tiler has _, got " +
                        layout.str());
    return layout;
  }
  std::vector<Layout> tiles, rests, modes = layout.modes();
  size_t named = guide.modes().size();
  for (size_t i = 0; i < named; ++i) {
    Layout pair = zipByTiler(modes[i], guide.modes()[i]);
    tiles.push_back(pair.mode(0));
    rests.push_back(pair.mode(1));
  }
  rests.insert(rests.end(), modes.begin() + named, modes.end());
  return Layout::tuple({Layout::tuple(tiles), Layout::tuple(rests)});
}

Layout unpackRest(const Layout &zipped) {
  std::vector<Layout> modes = {zipped.mode(0)};
  for (const Layout &mode : zipped.mode(1).modes())
    modes.push_back(mode);
  return Layout::tuple(modes);
}

Layout unpackBoth(const Layout &zipped) {
  std::vector<Layout> modes;
  for (size_t side : {0, 1})
    for (const Layout &mode : zipped.mode(side).modes())
      modes.push_back(mode);
  return Layout::tuple(modes);
}

Layout zippedDivide(const Layout &layout, const Tiler &tiler) {
  return zipByTiler(logicalDivide(layout, tiler), tiler);
}

Layout tiledDivide(const Layout &layout, const Tiler &tiler) {
  return unpackRest(zippedDivide(layout, tiler));
}

Layout flatDivide(const Layout &layout, const Tiler &tiler) {
  return unpackBoth(zippedDivide(layout, tiler));
}

} // namespace fmha::layout::algebra

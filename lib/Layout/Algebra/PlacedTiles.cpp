//===- PlacedTiles.cpp - Layouts of the tiles of a kernel -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/PlacedTiles.h"

#include "fmha/Layout/Algebra/Compose.h"
#include "fmha/Layout/Algebra/MmaAtoms.h"

namespace fmha::layout::algebra {
namespace {

/// Rows of a warpgroup's accumulator, and of a tile that takes half the lanes.
constexpr int64_t groupRows = 64;
constexpr int64_t warps = 4;

/// Returns the modes of `layout`, and those that follow, as one mode.
Layout extended(const Layout &layout, std::vector<Layout> more) {
  std::vector<Layout> modes = layout.modes();
  modes.insert(modes.end(), more.begin(), more.end());
  return Layout::tuple(modes);
}

/// Returns the layout with `step` of each stride.
template <typename Step> Layout withSteps(const Layout &layout, Step step) {
  if (layout.isLeaf())
    return Layout(layout.shape(), step(layout.stride().value()));
  std::vector<Layout> modes;
  for (const Layout &mode : layout.modes())
    modes.push_back(withSteps(mode, step));
  return Layout::tuple(modes);
}

/// A stride is one of rows, or a multiple of the number of rows.
MatrixPlace placeOf(const Layout &mode, int64_t rows) {
  return {withSteps(mode, [=](int64_t s) { return s % rows; }),
          withSteps(mode, [=](int64_t s) { return s / rows; })};
}

} // namespace

MatrixPlace placeOfThreads(const ThreadValue &tile) {
  return placeOf(tile.layout.mode(0), product(tile.tile.mode(0)));
}

MatrixPlace placeOfValues(const ThreadValue &tile) {
  return placeOf(tile.layout.mode(1), product(tile.tile.mode(0)));
}

ThreadValue fragmentTile(int64_t rows, int64_t columns) {
  static const MmaAtom atom = mmaAtom("mma_m16n8k16_f32_f16");
  auto [atomRows, atomColumns, _] = atom.shape;
  // An element of the instruction as an element of the tile.
  Layout inTile(IntTuple::tuple({atomRows, atomColumns}),
                IntTuple::tuple({1, rows}));
  Layout fragment = composition(inTile, atom.operand(Operand::C));
  Layout threads = extended(fragment.mode(0), {Layout(warps, atomRows)});
  std::vector<Layout> repeats = {
      Layout(columns / atomColumns, rows * atomColumns)};
  if (rows > groupRows)
    repeats.emplace_back(rows / groupRows, groupRows);
  return {Layout::tuple({threads, extended(fragment.mode(1), repeats)}),
          IntTuple::tuple({rows, columns})};
}

ThreadValue rowTile(int64_t rows, int64_t columns, int64_t slices,
                    int64_t distance) {
  IntTuple tile = IntTuple::tuple({rows, columns});
  if (rows != groupRows)
    return {Layout(tile, IntTuple::tuple({1, rows})), tile};
  if (distance == groupRows) {
    Layout threads =
        Layout::tuple({Layout(rows, 1), Layout(2, columns / 2 * rows)});
    return {Layout::tuple({threads, Layout(columns / 2, rows)}), tile};
  }
  constexpr int64_t halfLanes = 16;
  int64_t part = columns / slices;
  Layout threads =
      Layout::tuple({Layout(halfLanes, 1), Layout(2, part / 2 * rows),
                     Layout(warps, halfLanes)});
  Layout values(part / 2, rows);
  if (slices > 1)
    values = Layout::tuple({values, Layout(slices, part * rows)});
  return {Layout::tuple({threads, values}), tile};
}

ComposedLayout panelTile(int64_t rows, int64_t columns) {
  constexpr int64_t panel = 64;
  Layout inRow(std::min(columns, panel), 1);
  if (columns > panel)
    inRow = Layout::tuple(
        {inRow, Layout((columns + panel - 1) / panel, rows * panel)});
  return {Swizzle(3, 3, 3), 0, Layout::tuple({Layout(rows, panel), inRow})};
}

Layout tmemTile(int64_t rows, int64_t columns, int64_t bits, int64_t distance) {
  int64_t lane = (int64_t(1) << 16) * (32 / bits);
  Layout down(rows, lane);
  if (distance)
    return Layout::tuple({down, Layout::tuple({Layout(columns / 2, 1),
                                               Layout(2, distance * lane)})});
  // 16 rows in the lanes of each warp.
  if (rows == groupRows)
    down =
        Layout::tuple({Layout(rows / warps, lane), Layout(warps, 32 * lane)});
  return Layout::tuple({down, Layout(columns, 1)});
}

} // namespace fmha::layout::algebra

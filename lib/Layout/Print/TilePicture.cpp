//===- TilePicture.cpp - Tiles of a kernel, for readers -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Print/TilePicture.h"

#include <algorithm>

namespace fmha::layoutprint {
namespace {

/// Rows and columns that a picture shows at most. Cells of a run of columns are
/// drawn as one, so that more of them fit.
constexpr int64_t mostRows = 32, mostColumns = 64, mostSingle = 16;

std::string expressionOf(const ThreadValue &map) {
  return "owners(" + map.layout.str() + ", " + map.tile.str() + ")";
}
std::string expressionOf(const ComposedLayout &layout) { return layout.str(); }
std::string expressionOf(const TmemLayout &tmem) { return tmem.layout.str(); }

/// Returns the upper left part of a grid with these extents.
Grid cornerOf(const IntTuple &shape, const char *legend) {
  Grid grid;
  grid.rows = std::min(product(shape.mode(0)), mostRows);
  grid.columns = std::min(product(shape.mode(1)), mostColumns);
  grid.cells.resize(grid.rows * grid.columns);
  grid.legend = legend;
  return grid;
}

/// Returns a cell whose run continues in its row with the next `place`.
Cell cellOf(char kind, int64_t owner, char part, int64_t number,
            int64_t place) {
  Cell cell;
  cell.text = kind + std::to_string(owner);
  cell.detail = part + std::to_string(number);
  cell.color = cell.run = owner;
  cell.place = place;
  cell.empty = false;
  return cell;
}

Grid gridOf(const ThreadValue &map) {
  Grid grid = cornerOf(map.tile, "thread, value");
  int64_t rows = product(map.tile.mode(0));
  for (int64_t thread = 0; thread < map.threads(); ++thread)
    for (int64_t value = 0; value < map.values(); ++value) {
      int64_t index = map.layout(IntTuple::tuple({thread, value}));
      int64_t row = index % rows, column = index / rows;
      if (row < grid.rows && column < grid.columns)
        grid.cells[row + column * grid.rows] =
            cellOf('T', thread, 'V', value, value);
    }
  return grid;
}

Grid gridOf(const TmemLayout &tmem) {
  Grid grid = cornerOf(tmem.layout.shape(), "lane, column");
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t column = 0; column < grid.columns; ++column) {
      int64_t address = tmem.layout(IntTuple::tuple({row, column}));
      int64_t perColumn = 32 / tmem.bits, lane = address / perColumn >> 16;
      int64_t place = address / perColumn & 0xFFFF;
      grid.cells[row + column * grid.rows] =
          cellOf('L', lane, 'C', place, column);
    }
  return grid;
}

/// Shows the banks of the first panel, which has its own rows after each other.
Grid gridOf(const ComposedLayout &layout) {
  constexpr int64_t elementBits = 16, accessBits = 128;
  const Layout &all = layout.layout;
  // The swizzle repeats after 8 rows.
  int64_t rows = std::min(all.size(0), mostRows / 2);
  Layout columns = all.mode(1).isLeaf() ? all.mode(1) : all.mode(1).mode(0);
  Layout part = Layout::tuple({Layout(rows, all.stride().mode(0)), columns});
  return pictureOf(Value(bankReport({layout.swizzle, layout.offset, part},
                                    elementBits, accessBits)))
      .grids.front();
}

/// Drops the columns of a grid after the first `columns`.
void narrow(Grid &grid, int64_t columns) {
  grid.columns = std::min(grid.columns, columns);
  grid.cells.resize(grid.rows * grid.columns);
}

} // namespace

std::string definitionOf(const TilePicture &tile) {
  std::string text = "# " + tile.title + "\n";
  for (const auto &[name, value] : tile.facts)
    text += "#   " + name + ": " + value + "\n";
  return text + tile.name + " = " +
         std::visit([](const auto &held) { return expressionOf(held); },
                    tile.layout) +
         "\n";
}

Picture pictureOf(const TilePicture &tile) {
  Picture picture{tile.title, tile.facts, {}, false};
  picture.facts.emplace_back(
      "layout", std::visit([](const auto &held) { return expressionOf(held); },
                           tile.layout));
  Grid grid =
      std::visit([](const auto &held) { return gridOf(held); }, tile.layout);
  if (merged(grid).step == 1)
    narrow(grid, mostSingle);
  picture.facts.emplace_back(
      "drawn", "rows 0 to " + std::to_string(grid.rows - 1) +
                   ", columns 0 to " + std::to_string(grid.columns - 1) +
                   "; each cell has " + grid.legend);
  picture.grids.push_back(std::move(grid));
  return picture;
}

} // namespace fmha::layoutprint

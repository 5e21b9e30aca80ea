//===- Picture.h - A value as tables of cells -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_PRINT_PICTURE_H
#define FMHA_LAYOUT_PRINT_PICTURE_H

#include "fmha/Layout/Print/Value.h"

#include <string>
#include <utility>
#include <vector>

namespace fmha::layoutprint {

/// One cell: up to two lines of text, and the number of its color. Neighbors of
/// one run and consecutive places may be drawn as one cell.
struct Cell {
  std::string text, detail;
  int64_t color = 0;
  bool empty = true, conflict = false;
  int64_t run = -1, place = 0;
};

/// A matrix of cells, first mode down.
struct Grid {
  std::string title;
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells;
  /// Columns of the value that one column of cells shows.
  int64_t step = 1;
  /// What the first words of cells are, for readers of pictures.
  std::string legend;

  const Cell &at(int64_t row, int64_t column) const {
    return cells[row + column * rows];
  }
};

/// A value as a reader sees it: named facts, and grids. If `product`, they are
/// A, B and C of a product.
struct Picture {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Grid> grids;
  bool product = false;
};

/// Returns the grid with runs of columns as one cell each, if every row is made
/// of runs of equal length, at least 4: a thread that holds 8 adjacent values
/// has the cell "T19 V0-7".
Grid merged(const Grid &grid);

/// Returns the picture of a value. Throws a LayoutError if it has too many
/// cells to look at.
Picture pictureOf(const Value &value);

} // namespace fmha::layoutprint

#endif // FMHA_LAYOUT_PRINT_PICTURE_H

//===- Text.cpp - Pictures as text ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Print/Output.h"

#include <algorithm>

namespace fmha::layoutprint {

std::string wordOf(const Cell &cell) {
  if (cell.empty)
    return "-";
  return cell.text + (cell.detail.empty() ? "" : ":" + cell.detail) +
         (cell.conflict ? "!" : "");
}

namespace {

std::string padded(const std::string &word, size_t width) {
  return std::string(width > word.size() ? width - word.size() : 0, ' ') + word;
}

std::string tableOf(const Grid &grid) {
  size_t width = std::to_string((grid.columns - 1) * grid.step).size();
  for (const Cell &cell : grid.cells)
    width = std::max(width, wordOf(cell).size());
  size_t margin = std::to_string(grid.rows - 1).size();
  std::string text(margin, ' ');
  text += " |";
  for (int64_t column = 0; column < grid.columns; ++column)
    text += " " + padded(std::to_string(column * grid.step), width);
  text += "\n" + std::string(margin, '-') + "-+" +
          std::string((width + 1) * grid.columns, '-') + "\n";
  for (int64_t row = 0; row < grid.rows; ++row) {
    text += padded(std::to_string(row), margin) + " |";
    for (int64_t column = 0; column < grid.columns; ++column)
      text += " " + padded(wordOf(grid.at(row, column)), width);
    text += "\n";
  }
  return text;
}

} // namespace

std::string textOf(const Picture &picture) {
  std::string text = picture.title + "\n";
  for (const auto &[name, value] : picture.facts)
    text += "  " + name + ": " + value + "\n";
  for (const Grid &grid : picture.grids)
    text += "\n" + (grid.title.empty() ? "" : grid.title + "\n") +
            tableOf(merged(grid));
  return text;
}

std::string lineOf(const Picture &picture) { return picture.title + "\n"; }

} // namespace fmha::layoutprint

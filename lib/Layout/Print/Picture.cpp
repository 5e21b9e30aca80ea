//===- Picture.cpp - A value as tables of cells ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Print/Picture.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>
#include <numeric>

namespace fmha::layoutprint {
namespace {

constexpr int64_t mostCells = 16384;

/// Returns an empty grid for a shape: the first mode down, all others across;
/// a shape of one mode is a row.
Grid gridOf(const IntTuple &shape, const std::string &title) {
  int64_t size = product(shape);
  if (size > mostCells)
    throw LayoutError("expected at most " + std::to_string(mostCells) +
                      " cells, got " + std::to_string(size) + " of " +
                      shape.str() + "; print one tile of it");
  int64_t rows =
      shape.isLeaf() || shape.rank() == 1 ? 1 : product(shape.mode(0));
  Grid grid{title, rows, size / rows, {}, 1, ""};
  grid.cells.resize(size);
  return grid;
}

Picture pictureOf(const ComposedLayout &layout) {
  Picture picture{layout.str(), {}, {}, false};
  picture.facts = {{"size", std::to_string(layout.size())},
                   {"cosize", std::to_string(layout.cosize())}};
  Grid grid = gridOf(layout.layout.shape(), "");
  grid.legend = "offset";
  for (int64_t i = 0; i < layout.size(); ++i) {
    int64_t offset = layout(i);
    grid.cells[i] = {std::to_string(offset), "", offset, false};
  }
  picture.grids.push_back(std::move(grid));
  return picture;
}

Grid ownersGrid(const ThreadValue &map, const std::string &title) {
  Grid grid = gridOf(map.tile, title);
  grid.legend = "thread, value";
  auto owners = ownersOf(map);
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].empty())
      continue;
    Owner first = owners[i].front();
    Cell &cell = grid.cells[i];
    cell.empty = false;
    cell.text = "T" + std::to_string(first.thread);
    // Further threads hold the same element.
    cell.text += owners[i].size() > 1 ? "+" : "";
    cell.detail = "V" + std::to_string(first.value);
    cell.color = cell.run = first.thread;
    cell.place = first.value;
  }
  return grid;
}

Picture pictureOf(const ThreadValue &map) {
  Picture picture{map.layout.str(), {}, {}, false};
  picture.facts = {{"tile", map.tile.str()},
                   {"threads", std::to_string(map.threads())},
                   {"values", std::to_string(map.values())}};
  picture.grids.push_back(ownersGrid(map, ""));
  return picture;
}

Picture pictureOf(const CopyAtom &atom) {
  return {atom.name,
          {{"instruction", atom.ptx},
           {"threads", std::to_string(atom.threads())},
           {"source (thread, bit)", atom.source.str()},
           {"destination (thread, bit)", atom.destination.str()}},
          {},
          false};
}

Picture pictureOf(const TiledCopy &copy) {
  Picture picture{"tiled copy of " + copy.atom().name, {}, {}, false};
  picture.facts = {{"instruction", copy.atom().ptx},
                   {"value bits", std::to_string(copy.valueBits())},
                   {"tile", copy.tile().str()},
                   {"map (thread, value)", copy.map().layout.str()}};
  ThreadValue source = copy.source(), destination = copy.destination();
  bool same = source.layout == destination.layout;
  picture.grids.push_back(
      ownersGrid(source, same ? "source and destination" : "source"));
  if (!same)
    picture.grids.push_back(ownersGrid(destination, "destination"));
  return picture;
}

Picture pictureOf(const TiledMma &mma) {
  Picture picture{"tiled product of " + mma.atom().name, {}, {}, true};
  auto extent = [&](size_t i) { return std::to_string(mma.tileSize(i)); };
  picture.facts = {
      {"instruction", mma.atom().ptx},
      {"tile", "(" + extent(0) + "," + extent(1) + "," + extent(2) + ")"},
      {"threads (V,M,N,K)", mma.threadLayout().str()}};
  constexpr std::pair<Operand, const char *> operands[] = {
      {Operand::A, "A (M,K)"},
      {Operand::B, "B (N,K)"},
      {Operand::C, "C (M,N)"}};
  for (auto [operand, name] : operands) {
    picture.facts.emplace_back(std::string(name) + " of an instruction",
                               mma.atom().operand(operand).str());
    picture.facts.emplace_back(std::string(name) + " of the tile",
                               mma.map(operand).layout.str());
    picture.grids.push_back(ownersGrid(mma.map(operand), name));
  }
  return picture;
}

Picture pictureOf(const BankReport &report) {
  Picture picture{"banks of " + report.layout.str(), {}, {}, false};
  int64_t passes = report.passes(), phases = int64_t(report.phases.size());
  picture.facts = {
      {"element bits", std::to_string(report.elementBits)},
      {"access bits", std::to_string(report.accessBits)},
      {"phases", std::to_string(phases)},
      {"passes", std::to_string(passes)},
      {"worst phase",
       std::to_string(report.worst()) +
           (report.worst() == 1 ? " pass, no conflict" : "-way conflict")}};
  Grid grid = gridOf(report.layout.layout.shape(), "");
  grid.legend = "offset, bank";
  for (size_t i = 0; i < report.elements.size(); ++i) {
    const BankOfElement &element = report.elements[i];
    Cell &cell = grid.cells[i];
    cell.empty = false;
    cell.text = std::to_string(element.offset);
    cell.detail = "b" + std::to_string(element.bank);
    // Colors are those of chunks of 16 bytes.
    cell.color = element.bank / 4;
    cell.conflict = element.conflicts;
    cell.run = element.phase;
    cell.place = element.offset;
  }
  picture.grids.push_back(std::move(grid));
  return picture;
}

Picture pictureOf(const IntTuple &integers) {
  return {integers.str(), {}, {}, false};
}

Picture pictureOf(const Tiler &tiler) { return {tiler.str(), {}, {}, false}; }

Picture pictureOf(const MmaAtom &atom) {
  return pictureOf(asTiledMma(Value(atom)));
}

/// Returns true if column `column` + 1 continues the run in every row.
bool continues(const Grid &grid, int64_t column) {
  for (int64_t row = 0; row < grid.rows; ++row) {
    const Cell &left = grid.at(row, column), &right = grid.at(row, column + 1);
    bool same = left.run == right.run && left.run >= 0 &&
                left.place + 1 == right.place &&
                left.conflict == right.conflict;
    if (!same)
      return false;
  }
  return true;
}

/// Returns the columns of which all runs of the grid are made.
int64_t runLength(const Grid &grid) {
  int64_t length = 0, begin = 0;
  for (int64_t column = 0; column < grid.columns; ++column) {
    if (column + 1 < grid.columns && continues(grid, column))
      continue;
    length = std::gcd(length, column + 1 - begin);
    begin = column + 1;
  }
  return length;
}

/// Returns "64-71" of "64" and "71", and "V0-7" of "V0" and "V7".
std::string rangeOf(const std::string &first, const std::string &last) {
  if (first == last)
    return first;
  size_t digits = last.find_first_of("0123456789");
  return first + "-" + last.substr(digits == last.npos ? 0 : digits);
}

} // namespace

Grid merged(const Grid &grid) {
  constexpr int64_t least = 4, most = 8;
  // Longer runs are drawn as several cells.
  int64_t step = std::gcd(runLength(grid), most);
  if (step < least)
    return grid;
  Grid result = grid;
  result.step = step;
  result.columns /= step;
  result.cells.clear();
  for (int64_t column = 0; column < result.columns; ++column)
    for (int64_t row = 0; row < grid.rows; ++row) {
      Cell cell = grid.at(row, column * step);
      const Cell &last = grid.at(row, column * step + step - 1);
      cell.text = rangeOf(cell.text, last.text);
      cell.detail = rangeOf(cell.detail, last.detail);
      result.cells.push_back(std::move(cell));
    }
  return result;
}

Picture pictureOf(const Value &value) {
  return std::visit([](const auto &held) { return pictureOf(held); }, value);
}

} // namespace fmha::layoutprint

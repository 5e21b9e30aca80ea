//===- Svg.cpp - Pictures as SVG ------------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Print/Output.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>
#include <cstdio>

namespace fmha::layoutprint {
namespace {

/// Sizes in pixels.
constexpr int64_t cellHeight = 26, margin = 16, indexSpace = 26,
                  lineHeight = 17, gap = 36, characterWidth = 7;

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
                         : std::string(1, c);
  return result;
}

/// Emits elements at positions.
class Canvas {
public:
  void rectangle(int64_t x, int64_t y, int64_t width, int64_t height,
                 const std::string &style) {
    body += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
            "\" width=\"" + std::to_string(width) + "\" height=\"" +
            std::to_string(height) + "\" " + style + "/>\n";
    right = std::max(right, x + width);
    bottom = std::max(bottom, y + height);
  }
  void text(int64_t x, int64_t y, const std::string &what,
            const std::string &style) {
    body += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
            "\" " + style + ">" + escaped(what) + "</text>\n";
  }
  /// Makes room for text that begins at `x`.
  void reach(int64_t x) { right = std::max(right, x); }

  std::string document() const {
    std::string width = std::to_string(right + margin),
                height = std::to_string(bottom + margin);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width +
           " " + height + "\" width=\"" + width + "\" height=\"" + height +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n"
           "<rect width=\"" +
           width + "\" height=\"" + height + "\" fill=\"white\"/>\n" + body +
           "</svg>\n";
  }

private:
  std::string body;
  int64_t right = 0, bottom = 0;
};

/// Returns the width of a cell, which all grids of a picture share.
int64_t cellWidth(const Picture &picture) {
  size_t most = 2;
  for (const Grid &grid : picture.grids)
    for (const Cell &cell : grid.cells)
      most = std::max({most, cell.text.size(), cell.detail.size()});
  return std::max<int64_t>(28, int64_t(most) * characterWidth + 4);
}

void drawCell(Canvas &canvas, const Cell &cell, int64_t x, int64_t y,
              int64_t width) {
  std::string fill = cell.empty ? "ffffff" : colorOf(cell.color);
  canvas.rectangle(x, y, width, cellHeight,
                   "fill=\"#" + fill + "\" stroke=\"#888\"");
  if (cell.conflict)
    canvas.rectangle(x + 1, y + 1, width - 2, cellHeight - 2,
                     "fill=\"none\" stroke=\"#c00\" stroke-width=\"2\"");
  std::string style = "text-anchor=\"middle\" font-size=\"10\"";
  int64_t middle = x + width / 2;
  if (cell.detail.empty())
    return canvas.text(middle, y + 17, cell.text, style);
  canvas.text(middle, y + 11, cell.text, style);
  canvas.text(middle, y + 22, cell.detail, style + " fill=\"#333\"");
}

/// Draws a grid with its upper left cell at (x, y); `turned` exchanges rows and
/// columns.
void drawGrid(Canvas &canvas, const Grid &grid, int64_t x, int64_t y,
              int64_t width, bool turned) {
  int64_t rows = turned ? grid.columns : grid.rows;
  int64_t columns = turned ? grid.rows : grid.columns;
  const std::string gray = " font-size=\"10\" fill=\"#888\"";
  for (int64_t column = 0; column < columns; ++column)
    canvas.text(x + column * width + width / 2, y - 5,
                std::to_string(turned ? column : column * grid.step),
                "text-anchor=\"middle\"" + gray);
  for (int64_t row = 0; row < rows; ++row) {
    canvas.text(x - 5, y + row * cellHeight + 17, std::to_string(row),
                "text-anchor=\"end\"" + gray);
    for (int64_t column = 0; column < columns; ++column)
      drawCell(canvas, turned ? grid.at(column, row) : grid.at(row, column),
               x + column * width, y + row * cellHeight, width);
  }
  if (!grid.title.empty())
    canvas.text(x, y - 20, turned ? "B transposed (K,N)" : grid.title,
                "font-weight=\"bold\"");
}

/// Writes the title and facts. Returns the position below them.
int64_t drawHead(Canvas &canvas, const Picture &picture) {
  int64_t y = margin + lineHeight;
  canvas.text(margin, y, picture.title, "font-weight=\"bold\"");
  canvas.reach(margin + int64_t(picture.title.size()) * (characterWidth + 1));
  for (const auto &[name, value] : picture.facts) {
    std::string line = name + ": " + value;
    canvas.text(margin, y += lineHeight, line, "fill=\"#333\"");
    canvas.reach(margin + int64_t(line.size()) * characterWidth);
  }
  return y + gap;
}

/// Draws A at the left, B transposed at the top, and C where they meet.
void drawProduct(Canvas &canvas, const Picture &picture, int64_t y,
                 int64_t width) {
  const Grid &a = picture.grids[0], &b = picture.grids[1],
             &c = picture.grids[2];
  int64_t left = margin + indexSpace, top = y + indexSpace - lineHeight;
  int64_t right = left + a.columns * width + gap + indexSpace;
  int64_t below = top + b.columns * cellHeight + gap + indexSpace;
  drawGrid(canvas, b, right, top, width, true);
  drawGrid(canvas, a, left, below, width, false);
  drawGrid(canvas, c, right, below, width, false);
}

/// Draws grids next to each other if they fit a page, else one below another.
void drawGrids(Canvas &canvas, const Picture &picture, int64_t y,
               int64_t width) {
  constexpr int64_t page = 1100;
  int64_t all = margin;
  for (const Grid &grid : picture.grids)
    all += indexSpace + grid.columns * width + gap;
  int64_t x = margin + indexSpace;
  for (const Grid &grid : picture.grids) {
    int64_t top = y + (grid.title.empty() ? 0 : lineHeight);
    drawGrid(canvas, grid, x, top, width, false);
    if (all <= page)
      x += grid.columns * width + gap + indexSpace;
    else
      y = top + grid.rows * cellHeight + gap;
  }
}

} // namespace

std::string svgOf(Picture picture) {
  expectGrid(picture, "svg");
  if (!picture.product) {
    std::vector<Grid> grids;
    for (const Grid &grid : picture.grids)
      grids.push_back(merged(grid));
    picture.grids = std::move(grids);
  }
  Canvas canvas;
  int64_t width = cellWidth(picture), y = drawHead(canvas, picture);
  if (picture.product) {
    drawProduct(canvas, picture, y, width);
    return canvas.document();
  }
  drawGrids(canvas, picture, y, width);
  return canvas.document();
}

std::string colorOf(int64_t number) {
  // Eight hues, each in four shades: 32 warps' lanes and 32 banks differ.
  static constexpr int hues[][3] = {
      {158, 202, 225}, {253, 192, 134}, {161, 217, 155}, {251, 180, 185},
      {203, 189, 230}, {255, 237, 140}, {190, 225, 215}, {214, 196, 172}};
  int64_t step = ((number % 32) + 32) % 32;
  const int (&hue)[3] = hues[step % 8];
  int64_t darker = step / 8;
  double shade = 1.0 - 0.08 * double(darker);
  char text[7];
  std::snprintf(text, sizeof text, "%02x%02x%02x", int(hue[0] * shade),
                int(hue[1] * shade), int(hue[2] * shade));
  return text;
}

void expectGrid(const Picture &picture, const char *format) {
  if (picture.grids.empty())
    throw LayoutError("--print=" + std::string(format) +
                      ": expected a layout, a tiled copy or a tiled product, "
                      "got " +
                      picture.title + "; use --print=text");
}

} // namespace fmha::layoutprint

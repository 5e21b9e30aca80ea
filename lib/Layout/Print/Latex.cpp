//===- Latex.cpp - Pictures as LaTeX --------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Print/Output.h"

#include <map>

namespace fmha::layoutprint {
namespace {

std::string nodeOf(const Cell &cell, int64_t row, int64_t column) {
  std::string fill = cell.empty ? "" : ",fill=c" + colorOf(cell.color),
              text = cell.text;
  if (!cell.detail.empty())
    text += "\\\\" + cell.detail;
  return "\\node[cell" + fill + (cell.conflict ? ",conflict" : "") + "] at (" +
         std::to_string(column) + "," + std::to_string(-row) + ") {" + text +
         "};\n";
}

std::string pictureOfGrid(const Grid &grid) {
  std::string text = "\\begin{tikzpicture}\n";
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t column = 0; column < grid.columns; ++column)
      text += nodeOf(grid.at(row, column), row, column);
  for (int64_t row = 0; row < grid.rows; ++row)
    text += "\\node[index] at (-1," + std::to_string(-row) + ") {" +
            std::to_string(row) + "};\n";
  for (int64_t column = 0; column < grid.columns; ++column)
    text += "\\node[index] at (" + std::to_string(column) + ",1) {" +
            std::to_string(column * grid.step) + "};\n";
  return text + "\\end{tikzpicture}\n";
}

/// Returns the definitions of the colors that the grids use.
std::string colorsOf(const Picture &picture) {
  std::map<std::string, bool> used;
  for (const Grid &grid : picture.grids)
    for (const Cell &cell : grid.cells)
      if (!cell.empty)
        used[colorOf(cell.color)] = true;
  std::string text;
  for (const auto &[color, _] : used)
    text += "\\definecolor{c" + color + "}{HTML}{" + color + "}\n";
  return text;
}

std::string verbatim(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '_' || c == '%' || c == '#' || c == '&'
                  ? "\\" + std::string(1, c)
              : c == '<' ? "\\textless{}"
              : c == '>' ? "\\textgreater{}"
                         : std::string(1, c);
  return "\\texttt{" + result + "}";
}

} // namespace

std::string latexOf(const Picture &picture) {
  expectGrid(picture, "latex");
  std::string text =
      "\\documentclass[border=4pt,varwidth=\\maxdimen]{standalone}\n"
      "\\usepackage{tikz}\n" +
      colorsOf(picture) +
      "\\tikzset{x=9mm,y=9mm,cell/.style={draw,minimum size=9mm,inner "
      "sep=0pt,align=center,font=\\tiny\\sffamily},\n"
      "  conflict/.style={draw=red,very thick},\n"
      "  index/.style={font=\\tiny\\sffamily,text=gray}}\n"
      "\\begin{document}\n" +
      verbatim(picture.title) + "\\\\\n";
  for (const auto &[name, value] : picture.facts)
    text += name + ": " + verbatim(value) + "\\\\\n";
  for (const Grid &grid : picture.grids)
    text += (grid.title.empty() ? "" : grid.title + "\\\\\n") +
            pictureOfGrid(merged(grid)) + "\\\\\n";
  return text + "\\end{document}\n";
}

} // namespace fmha::layoutprint

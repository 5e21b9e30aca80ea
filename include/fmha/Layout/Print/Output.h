//===- Output.h - Pictures as text, SVG and LaTeX ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_PRINT_OUTPUT_H
#define FMHA_LAYOUT_PRINT_OUTPUT_H

#include "fmha/Layout/Print/Picture.h"

namespace fmha::layoutprint {

/// Each returns a whole document that ends with a newline; a line has the value
/// alone. SVG and LaTeX need a picture with a grid and throw a LayoutError
/// without one.
std::string textOf(const Picture &picture);
std::string lineOf(const Picture &picture);
std::string svgOf(Picture picture);
std::string latexOf(const Picture &picture);

/// Returns "T3:V2", "209", "-" for a cell that no thread holds, and "!" after a
/// conflict.
std::string wordOf(const Cell &cell);

/// Returns a color as "rrggbb", the same for the same number; 32 of them.
std::string colorOf(int64_t number);

/// Throws unless the picture has a grid.
void expectGrid(const Picture &picture, const char *format);

} // namespace fmha::layoutprint

#endif // FMHA_LAYOUT_PRINT_OUTPUT_H

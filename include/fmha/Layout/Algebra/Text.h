//===- Text.h - Layouts from text -------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text forms: 8, _8, (4,8), ((4,8),(2,2)):((32,1),(16,8)), and
// Sw<3,4,3> o 0 o (8,64):(64,1), or 152 o 8:1 without a swizzle. A shape
// without strides is column-major. The functions throw a LayoutError with the
// column, and the line if there are several, of the first character that does
// not fit.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_TEXT_H
#define FMHA_LAYOUT_ALGEBRA_TEXT_H

#include "fmha/Layout/Algebra/Swizzle.h"

#include <string_view>

namespace fmha::layout::algebra {

IntTuple parseIntTuple(std::string_view text);
Layout parseLayout(std::string_view text);
ComposedLayout parseComposedLayout(std::string_view text);

/// The characters of a text and how far they have been read.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}
  /// Returns true and passes `word` if the rest begins with it; blanks before
  /// it are passed.
  bool accept(std::string_view word);
  void expect(std::string_view word);
  bool startsWith(std::string_view word);
  bool atEnd();
  /// Returns the position of the next character that is no blank.
  size_t position();
  /// Returns the next characters of letters, digits and underscores.
  std::string_view word();
  /// Throws an error at the position, with `expected` in it.
  [[noreturn]] void fail(const std::string &expected);
  /// Throws an error at `position`.
  [[noreturn]] void failAt(size_t position, const std::string &message) const;

  int64_t integer();
  IntTuple intTuple();
  Layout layout();
  /// Returns the layout of `shape` if strides follow, else a column-major one.
  Layout layoutOf(const IntTuple &shape);
  ComposedLayout composedLayout();

private:
  IntTuple intTuple(unsigned depth);
  std::string_view text;
  size_t at = 0;
};

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_TEXT_H

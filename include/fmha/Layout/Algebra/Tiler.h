//===- Tiler.h - What a layout is divided by --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_TILER_H
#define FMHA_LAYOUT_ALGEBRA_TILER_H

#include "fmha/Layout/Algebra/Layout.h"

namespace fmha::layout::algebra {

/// A layout, an integer N for N:1, a tuple of tilers that apply to one mode
/// each, or _ for a mode that remains as it is.
class Tiler {
public:
  enum class Kind { Keep, Whole, ByMode };
  Tiler() = default;
  Tiler(Layout layout) : tag(Kind::Whole), tile(std::move(layout)) {}
  static Tiler byMode(std::vector<Tiler> modes);
  /// Returns a leaf as N:1 and a tuple by mode.
  static Tiler ofShape(const IntTuple &shape);

  Kind kind() const { return tag; }
  const Layout &layout() const { return tile; }
  const std::vector<Tiler> &modes() const { return children; }
  /// Returns "(8:1,_)".
  std::string str() const;
  bool operator==(const Tiler &) const = default;

private:
  Kind tag = Kind::Keep;
  Layout tile;
  std::vector<Tiler> children;
};

/// Throws unless `layout` has a mode for each mode of `tiler`.
void expectModesFor(const char *operation, const Layout &layout,
                    const Tiler &tiler);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_TILER_H

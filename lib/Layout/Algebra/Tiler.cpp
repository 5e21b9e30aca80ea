//===- Tiler.cpp - What a layout is divided by ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Tiler.h"

#include "fmha/Layout/Algebra/Error.h"

namespace fmha::layout::algebra {

Tiler Tiler::byMode(std::vector<Tiler> modes) {
  Tiler tiler;
  tiler.tag = Kind::ByMode;
  tiler.children = std::move(modes);
  return tiler;
}

Tiler Tiler::ofShape(const IntTuple &shape) {
  if (shape.isLeaf())
    return Layout(shape, 1);
  std::vector<Tiler> modes;
  for (const IntTuple &mode : shape.modes())
    modes.push_back(ofShape(mode));
  return byMode(std::move(modes));
}

std::string Tiler::str() const {
  if (tag == Kind::Keep)
    return "_";
  if (tag == Kind::Whole)
    return tile.str();
  std::string text = "(";
  for (const Tiler &child : children)
    text += (&child == &children.front() ? "" : ",") + child.str();
  return text + ")";
}

void expectModesFor(const char *operation, const Layout &layout,
                    const Tiler &tiler) {
  if (tiler.modes().size() > layout.rank())
    throw LayoutError(std::string(operation) + ": expected at most " +
                      std::to_string(layout.rank()) + " tilers for the " +
                      "modes of " + layout.str() + ", got " + tiler.str());
}

} // namespace fmha::layout::algebra

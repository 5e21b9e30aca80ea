//===- TilePicture.h - Tiles of a kernel, for readers -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_PRINT_TILEPICTURE_H
#define FMHA_LAYOUT_PRINT_TILEPICTURE_H

#include "fmha/Layout/Print/Picture.h"

namespace fmha::layoutprint {

/// An address in tensor memory, as tmemTile() returns it.
struct TmemLayout {
  Layout layout;
  int64_t bits = 32;
};

/// A tile of a kernel in one place: registers, shared memory or tensor memory.
struct TilePicture {
  /// A name for expressions, such as S_registers, and a title.
  std::string name, title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::variant<ThreadValue, ComposedLayout, TmemLayout> layout;
};

/// Returns the facts as comments and the layout as a definition, a text that
/// fmha-layout evaluates.
std::string definitionOf(const TilePicture &tile);
/// Returns the picture of the first rows and columns of the tile, which its
/// other rows and columns repeat.
Picture pictureOf(const TilePicture &tile);

} // namespace fmha::layoutprint

#endif // FMHA_LAYOUT_PRINT_TILEPICTURE_H

//===- TmaBox.cpp - Tensor-map boxes that fill a tile -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/TmaBox.h"

using namespace fmha::layout;

/// Returns the largest number of rows of a box that divides the tile.
static unsigned boxRows(unsigned rows) {
  constexpr unsigned mostRows = 256; // boxDim limit of cuTensorMapEncodeTiled
  unsigned parts = (rows + mostRows - 1) / mostRows;
  while (rows % parts)
    ++parts;
  return rows / parts;
}

/// Returns whether all rows of one span are adjacent, so that a box may have
/// more than one group of them.
static bool groupsTouch(const SmemTile &tile) {
  return tile.groupPitch == spanBytes(tile.mode) * groupRows(tile.mode);
}

TmaBox fmha::layout::tmaBox(const SmemTile &tile) {
  unsigned span = spanBytes(tile.mode), group = groupRows(tile.mode);
  TmaBox box;
  box.inner = span / tile.elementBytes;
  box.outer = groupsTouch(tile) ? boxRows(tile.across()) : group;
  box.bytesPerBox = span * box.outer;
  box.boxes = tile.bytes() / box.bytesPerBox;
  box.swizzle = tensorMapCode(tile.mode);
  return box;
}

BoxOrigin fmha::layout::tmaBoxOrigin(const SmemTile &tile, unsigned index) {
  TmaBox box = tmaBox(tile);
  if (groupsTouch(tile)) {
    unsigned down = tile.across() / box.outer;
    return {index / down * box.inner, index % down * box.outer};
  }
  unsigned along = tile.contiguous() / box.inner;
  return {index % along * box.inner, index / along * box.outer};
}

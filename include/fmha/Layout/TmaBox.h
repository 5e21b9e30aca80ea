//===- TmaBox.h - Tensor-map boxes that fill a tile -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The TMA boxes of an SmemTile. The inner box dimension is one span of the
// swizzle (cuTensorMapEncodeTiled rejects more); the outer one is the number of
// rows at consecutive addresses, at most 256. The boxes of a tile are adjacent
// in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_TMABOX_H
#define FMHA_LAYOUT_TMABOX_H

#include "fmha/Layout/SmemTile.h"

#include <array>

namespace fmha::layout {

struct TmaBox {
  /// Elements along the contiguous direction of the tensor, and rows.
  unsigned inner = 0, outer = 0;
  /// Number of instructions for the whole tile, and bytes that each writes: box
  /// b starts at b * bytesPerBox. The mbarrier expects boxes * bytesPerBox,
  /// including rows out of bounds.
  unsigned boxes = 0, bytesPerBox = 0;
  /// CUtensorMapSwizzle.
  unsigned swizzle = 0;

  unsigned bytes() const { return boxes * bytesPerBox; }
  /// Returns the box of the rank-4 map over [batch, heads, length, dim] in the
  /// order of the driver, innermost first: {inner, outer, 1, 1}.
  std::array<uint32_t, 4> rank4() const { return {inner, outer, 1, 1}; }
};

/// Returns the boxes of `tile`, which must pass its check().
TmaBox tmaBox(const SmemTile &tile);

/// Returns the first element and the first row of box `box` in the tile.
struct BoxOrigin {
  unsigned inner = 0, outer = 0;
};
BoxOrigin tmaBoxOrigin(const SmemTile &tile, unsigned box);

} // namespace fmha::layout

#endif // FMHA_LAYOUT_TMABOX_H

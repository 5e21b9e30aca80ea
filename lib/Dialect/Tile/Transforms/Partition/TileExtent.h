//===- TileExtent.h - The memory of all stages of a tile --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEEXTENT_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEEXTENT_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include <cstdint>

namespace fmha::tile {

/// The columns of tensor memory, or the bytes of shared memory, of all stages
/// of a tile.
struct TileExtent {
  bool inTmem;
  int64_t begin, end;
  /// The first lane, and whether the tile is in one half of each warp's lanes.
  unsigned lane = 0;
  bool halfLanes = false;

  /// Returns the extent of a tile in memory.
  static TileExtent of(TileType tile) {
    int64_t rest = int64_t(tile.getStages() - 1) * tile.getStagePitch();
    if (TmemAttr tmem = tile.getTmem())
      return {true, tmem.getColumn(),
              tmem.getColumn() + rest + tile.getTmemColumns(), tmem.getLane(),
              tile.hasHalfLanes()};
    int64_t begin = tile.getSmem().getOffset();
    return {false, begin, begin + rest + tile.getBytes()};
  }
  /// Returns whether both have bytes, or columns of a lane, in common. Tiles in
  /// half of the lanes have the same ones or none in common.
  bool overlaps(const TileExtent &other) const {
    bool sameLanes = !halfLanes || !other.halfLanes || lane == other.lane;
    return inTmem == other.inTmem && sameLanes && begin < other.end &&
           other.begin < end;
  }
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_PARTITION_TILEEXTENT_H

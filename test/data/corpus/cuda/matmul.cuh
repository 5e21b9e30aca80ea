// What the matmuls share: D[128][n] = A * B with bf16 or f16 operands in tiles
// of 64 columns, 128 bytes, of the sum's dimension.
#pragma once
#include "ptx.cuh"

constexpr u32 TileK = 64, RowBytes = 2 * TileK;

// The sum over one pair of tiles: four instructions of 16 each.
template <int Group = 1>
INLINE void mmaTile(u32 d, const void *a, const void *b, u32 kind, bool accumulate) {
  const u64 left = kMajor(a), right = kMajor(b);
  for (u32 k = 0; k < TileK / 16; ++k)
    mma<Group>(d, left + 2 * k, right + 2 * k, kind, accumulate || k);
}

// This warp's 32 rows of a sum of n columns, to rows of `pitch` floats.
INLINE void storeRows(u32 address, u32 warp, u32 n, float *out, u32 pitch) {
  const u32 row = 32 * (warp % 4) + laneIndex();
  for (u32 column = 0; column < n; column += 32) {
    u32 r[32];
    load(r, address + lanesOf(warp) + column);
    waitLoad(r);
    for (u32 i = 0; i < 32; ++i)
      out[row * pitch + column + i] = __uint_as_float(r[i]);
  }
}

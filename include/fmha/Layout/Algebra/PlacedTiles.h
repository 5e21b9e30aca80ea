//===- PlacedTiles.h - Layouts of the tiles of a kernel ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts by which the compiler places and distributes the tiles of a
// kernel: the places #tile.fragment, #tile.registers, #tile.smem and #tile.tmem
// of the tile dialect. Registers belong to a warpgroup of 128 threads.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_PLACEDTILES_H
#define FMHA_LAYOUT_ALGEBRA_PLACEDTILES_H

#include "fmha/Layout/Algebra/Swizzle.h"
#include "fmha/Layout/Algebra/ThreadValue.h"

namespace fmha::layout::algebra {

/// Returns the accumulator of mma.sync and wgmma: 16 rows of every 64 for each
/// warp, and for each 8 columns the fragment of C of m16n8. A tile of 128 rows
/// is two of 64, one after the other. With 16-bit elements it is an operand A
/// as well.
ThreadValue fragmentTile(int64_t rows, int64_t columns);
/// Returns rows as tcgen05.ld loads them: thread r has row r of 128. Of 64
/// rows, lanes l and 16 + l of warp w have the halves of row 16 w + l, or the
/// halves of each of `slices` parts of its columns. With a distance of 64 in
/// place of 16, threads t and 64 + t have the halves of row t.
ThreadValue rowTile(int64_t rows, int64_t columns, int64_t slices = 1,
                    int64_t distance = 16);
/// Returns the offset in shared memory, in elements of 16 bits: panels of 64
/// columns next to each other, with the 128-byte swizzle.
ComposedLayout panelTile(int64_t rows, int64_t columns);
/// Returns the address in tensor memory, lane << 16 | column, in elements of
/// `bits`: two of 16 bits share a column, and the lane counts 2^17 of them.
/// With a `distance`, the right half of each row is that many lanes below the
/// left one.
Layout tmemTile(int64_t rows, int64_t columns, int64_t bits,
                int64_t distance = 0);

/// The row and the column of a thread or a value: what it adds to the place of
/// its other coordinate.
struct MatrixPlace {
  Layout rows, columns;
};
MatrixPlace placeOfThreads(const ThreadValue &tile);
MatrixPlace placeOfValues(const ThreadValue &tile);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_PLACEDTILES_H

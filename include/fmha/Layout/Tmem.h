//===- Tmem.h - Addresses and operands in tensor memory ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor memory is 128 lanes x 512 columns x 32 bits; an address is
// lane << 16 | column (PTX ISA 9.7.16.1). Adding to an address moves along
// columns, adding n << 16 along lanes.
//
// Accumulators of cta_group::1 (PTX ISA 9.7.16.10.5): for M = 128 row m is in
// lane m; for M = 64 in lane 32*(m/16) + m%16, or 16 lanes further if its
// address has lane 16. Element (m, n) is in column n for every type of D. A
// operands use the lane of the D row and pack elements along K: 16-bit element
// k is in column k/2, even k in the low half (PTX ISA 9.7.16.10.4). Each K step
// of 32 bytes therefore takes 8 columns.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_TMEM_H
#define FMHA_LAYOUT_TMEM_H

#include <cstdint>

namespace fmha::layout {

constexpr unsigned tmemLanes = 128;
constexpr unsigned tmemColumns = 512;
/// Number of lanes that one warp can access: warp w has 32*(w % 4) .. +31.
constexpr unsigned tmemWarpLanes = 32;
/// First lane of each warp's second half. A tile of 64 rows uses one half of
/// the lanes, so that two tiles share the same columns.
constexpr unsigned tmemHalfLanes = 16;
/// Distance in lanes of the halves of a row if a pair of CTAs computes an
/// accumulator of 64 rows in each: row m has columns 0 .. N/2 - 1 in lane m and
/// the others in lane 64 + m, from the same column on.
constexpr unsigned tmemPairLanes = 64;
constexpr unsigned tmemColumnsPerKStep = 8;

constexpr uint32_t tmemAddress(unsigned lane, unsigned column) {
  return lane << 16 | column;
}
constexpr unsigned tmemLane(uint32_t address) { return address >> 16; }
constexpr unsigned tmemColumn(uint32_t address) { return address & 0xFFFF; }

/// Returns the offset that warp `warp` of the CTA adds to the address of an
/// allocation to address its lanes.
constexpr uint32_t tmemWarpOffset(unsigned warp) {
  return tmemAddress(warp % 4 * tmemWarpLanes, 0);
}

/// Returns the lane of row `row` of an accumulator or A operand of `m` rows (64
/// or 128) in cta_group::1.
constexpr unsigned tmemRowLane(unsigned m, unsigned row) {
  return m == 64 ? row / 16 * 32 + row % 16 : row;
}

/// Position of one element: its column, and its lowest bit there.
struct TmemElement {
  unsigned column = 0, bit = 0;
};

/// Returns the position of element k of a packed A row (8, 16 or 32 bits).
constexpr TmemElement tmemPackedElement(unsigned elementBits, unsigned k) {
  unsigned perColumn = 32 / elementBits;
  return {k / perColumn, k % perColumn * elementBits};
}
/// Returns the columns of an A operand with `k` elements per row.
constexpr unsigned tmemPackedColumns(unsigned elementBits, unsigned k) {
  return k * elementBits / 32;
}

/// Returns the number of columns to allocate with tcgen05.alloc for `columns`:
/// the next power of two, at least 32 (PTX ISA 9.7.16.7.1). 0 if it exceeds
/// 512.
unsigned tmemAllocation(unsigned columns);

} // namespace fmha::layout

#endif // FMHA_LAYOUT_TMEM_H

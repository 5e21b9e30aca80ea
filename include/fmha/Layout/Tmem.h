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
// Accumulators of cta_group::1 (PTX ISA 9.7.16.10.5): for M = 128 row m lies in
// lane m, for M = 64 in lane 32*(m/16) + m%16, or 16 lanes further if its
// address says so; element (m, n) lies in column n, whatever the type of D. A
// operands use the lane of the D row, and pack elements along K: 16-bit element
// k lies in column k/2, even k in the low half (PTX ISA 9.7.16.10.4). So each K
// step of 32 bytes takes 8 columns.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_TMEM_H
#define FMHA_LAYOUT_TMEM_H

#include <cstdint>

namespace fmha::layout {

constexpr unsigned tmemLanes = 128;
constexpr unsigned tmemColumns = 512;
/// Lanes that one warp can reach: warp w of the CTA has 32*(w % 4) .. +31.
constexpr unsigned tmemWarpLanes = 32;
/// Lanes of each warp's that a tile of 64 rows takes: those from 0 on, or those
/// from here on. So two of them lie in the same columns.
constexpr unsigned tmemHalfLanes = 16;
constexpr unsigned tmemColumnsPerKStep = 8;

constexpr uint32_t tmemAddress(unsigned lane, unsigned column) {
  return lane << 16 | column;
}
constexpr unsigned tmemLane(uint32_t address) { return address >> 16; }
constexpr unsigned tmemColumn(uint32_t address) { return address & 0xFFFF; }

/// What warp `warp` of the CTA adds to an allocation's address to name the
/// lanes that it may touch.
constexpr uint32_t tmemWarpOffset(unsigned warp) {
  return tmemAddress(warp % 4 * tmemWarpLanes, 0);
}

/// Lane of row `row` of an accumulator, or of an A operand, of `m` rows (64 or
/// 128) in cta_group::1.
constexpr unsigned tmemRowLane(unsigned m, unsigned row) {
  return m == 64 ? row / 16 * 32 + row % 16 : row;
}

/// Place of one element inside a column: `bit` is its lowest.
struct TmemElement {
  unsigned column = 0, bit = 0;
};

/// Element k of a row of a packed A operand (8, 16 or 32-bit elements).
constexpr TmemElement tmemPackedElement(unsigned elementBits, unsigned k) {
  unsigned perColumn = 32 / elementBits;
  return {k / perColumn, k % perColumn * elementBits};
}
/// Columns of an A operand with `k` elements a row.
constexpr unsigned tmemPackedColumns(unsigned elementBits, unsigned k) {
  return k * elementBits / 32;
}

/// What tcgen05.alloc must be asked for to have `columns`: the next power of
/// two, at least 32 (PTX ISA 9.7.16.7.1). 0 if there are not as many.
unsigned tmemAllocation(unsigned columns);

} // namespace fmha::layout

#endif // FMHA_LAYOUT_TMEM_H

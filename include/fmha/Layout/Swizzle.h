//===- Swizzle.h - Shared-memory swizzles -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A swizzle permutes 16-byte (or 32-byte) chunks inside a repeating pattern of
// shared memory, so that a column of a tile touches every bank. It is an XOR on
// bits of the absolute byte address; TMA writes with it and tcgen05.mma reads
// with it (PTX ISA 5.5.7 "Swizzling modes" and 9.7.16.10.6).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_SWIZZLE_H
#define FMHA_LAYOUT_SWIZZLE_H

#include <cstdint>

namespace fmha::layout {

/// Bytes128Atom32 moves 32-byte chunks; MN-major 32-bit operands need it.
enum class Swizzle { None, Bytes32, Bytes64, Bytes128, Bytes128Atom32 };

/// Returns the swizzled address of the byte at linear address `a`:
/// a[6:4] ^= a[9:7] for Bytes128, a[5:4] ^= a[8:7] for Bytes64, a[4] ^= a[7]
/// for Bytes32, a[6:5] ^= a[8:7] for Bytes128Atom32. Each is its own inverse.
uint32_t swizzle(Swizzle mode, uint32_t a);

constexpr uint32_t swizzle128(uint32_t a) { return a ^ ((a >> 3) & 0x70); }
constexpr uint32_t swizzle64(uint32_t a) { return a ^ ((a >> 3) & 0x30); }
constexpr uint32_t swizzle32(uint32_t a) { return a ^ ((a >> 3) & 0x10); }

/// Returns the bytes that are contiguous before swizzling: 16 (None), 32, 64 or
/// 128. This is also the pitch of the rows of the pattern.
unsigned spanBytes(Swizzle mode);

/// Returns the rows after which the pattern repeats: 8; 4 for Bytes128Atom32.
unsigned groupRows(Swizzle mode);

/// Returns the alignment of a tile's start at which the pattern begins: 16
/// (None), 256, 512 or 1024; 512 for Bytes128Atom32.
unsigned patternBytes(Swizzle mode);

/// Returns bits 61-63 of the tcgen05 matrix descriptor (PTX ISA 9.7.16.4.1).
unsigned descriptorCode(Swizzle mode);

/// Returns the CUtensorMapSwizzle of cuTensorMapEncodeTiled.
unsigned tensorMapCode(Swizzle mode);

} // namespace fmha::layout

#endif // FMHA_LAYOUT_SWIZZLE_H

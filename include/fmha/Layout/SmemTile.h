//===- SmemTile.h - Matrix tiles in shared memory ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix operand of tcgen05.mma in shared memory. It is divided into spans
// (the bytes that the swizzle keeps contiguous: 16, 32, 64 or 128) along the
// contiguous direction, and into groups of 8 rows across it:
//
//   address(c, r) = X(start + (c*e / span)*spanPitch + (c*e) % span
//                           + (r / 8)*groupPitch     + (r % 8)*span)
//
// e is the element size, X the swizzle; c and r are k and mn of a K-major
// operand, mn and k of an MN-major one. Both pitches are fields of the 64-bit
// matrix descriptor (PTX ISA 9.7.16.4.1 and the canonical layouts of
// 9.7.16.3.3), where LBO and SBO depend on the form:
//
//   major  swizzle   LBO          SBO
//   K      none      spanPitch    groupPitch
//   K      32-128B   unused, 16   groupPitch
//   MN     none      groupPitch   spanPitch
//   MN     32-128B   spanPitch    groupPitch
//
// Because X uses final address bits, a step along K inside a span is a plain
// addition to the start address (worked example: K-major, 128-byte swizzle, row
// 5, 32-byte steps: linear 0x280 2A0 2C0 2E0 lies at 0x2D0 2F0 290 2B0).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_SMEMTILE_H
#define FMHA_LAYOUT_SMEMTILE_H

#include "fmha/Layout/Swizzle.h"

#include <optional>
#include <string>

namespace fmha::layout {

/// The contiguous index: k, or the row or column index of the result.
enum class Major { K, MN };

/// The order of atoms (8 rows of one span): an atom is followed by the next
/// group of rows (Across, as one TMA box per span writes them), or by the next
/// span of the same rows (Along).
enum class AtomOrder { Across, Along };

/// Bytes of K that one tcgen05.mma reads: 16 elements of 16 bits.
constexpr unsigned kStepBytes = 32;

struct SmemTile {
  Major major = Major::K;
  Swizzle mode = Swizzle::Bytes128;
  unsigned elementBytes = 2;
  /// Extents in elements.
  unsigned mn = 0, k = 0;
  /// Pitches in bytes, see above.
  unsigned spanPitch = 0, groupPitch = 0;

  /// Returns the dense tile of mn x k elements. Unless the extents are known to
  /// fit, call check() before use.
  static SmemTile make(Major major, Swizzle mode, unsigned elementBytes,
                       unsigned mn, unsigned k,
                       AtomOrder order = AtomOrder::Across);

  /// Returns a sentence that names the extent that is no multiple, or nullopt.
  std::optional<std::string> check() const;

  unsigned contiguous() const { return major == Major::K ? k : mn; }
  unsigned across() const { return major == Major::K ? mn : k; }
  unsigned bytes() const { return mn * k * elementBytes; }

  /// Returns the bytes from the tile's start to element (mn, k), unswizzled.
  uint32_t linearOffset(unsigned mnIndex, unsigned kIndex) const;
  /// Returns the same after swizzling, for a tile whose start is a multiple of
  /// patternBytes(mode).
  uint32_t offset(unsigned mnIndex, unsigned kIndex) const {
    return swizzle(mode, linearOffset(mnIndex, kIndex));
  }

  /// Returns the K elements of one instruction: 16 for 16-bit types.
  unsigned kPerStep() const { return kStepBytes / elementBytes; }
  unsigned kSteps() const { return k / kPerStep(); }
  /// Returns the offset of K step `step` from the start address, in bytes.
  uint32_t kStepOffset(unsigned step) const {
    return linearOffset(0, step * kPerStep());
  }
  /// Returns the offset of the subtile that begins at `mnStart` (a multiple of
  /// 8 rows if K-major, of one span if MN-major).
  uint32_t mnOffset(unsigned mnStart) const { return linearOffset(mnStart, 0); }

  /// Returns the descriptor with start address 0. Code that computes addresses
  /// at run time ORs in (address >> 4) & 0x3FFF.
  uint64_t descriptorFields() const;
  /// Returns the complete descriptor of a tile at offset `start` in shared
  /// memory (below 256 KiB, a multiple of 16).
  uint64_t descriptor(uint32_t start) const;
};

/// Returns a tcgen05 matrix descriptor; offsets in bytes, multiples of 16.
/// Worked: start 0x400, LBO 16, SBO 1024, 128-byte swizzle gives
/// 0x4000404000010040.
uint64_t smemDescriptor(uint32_t start, uint32_t leadingBytes,
                        uint32_t strideBytes, Swizzle mode);

/// A tile of rows x columns 16-bit elements as TMA writes it with the 128-byte
/// swizzle: panels of 64 columns side by side, each with all rows at a pitch of
/// 128 bytes. Q, K and P are read K-major (columns are k), V is read MN-major
/// (rows, the keys, are k). The last panel is whole even if the tile fills only
/// a part of it.
struct PanelTile {
  static constexpr unsigned panelColumns = 64;
  static constexpr unsigned rowBytes = 128;
  static constexpr unsigned chunkBytes = 16;
  static constexpr unsigned chunkElements = 8;
  static constexpr unsigned alignment = 1024;

  unsigned rows = 128, columns = 128;

  unsigned panels() const {
    return (columns + panelColumns - 1) / panelColumns;
  }
  unsigned panelBytes() const { return rows * rowBytes; }
  unsigned bytes() const { return panels() * panelBytes(); }

  /// Returns all panels as an operand.
  SmemTile kMajor() const {
    return SmemTile::make(Major::K, Swizzle::Bytes128, 2, rows,
                          panels() * panelColumns);
  }
  SmemTile mnMajor() const {
    return SmemTile::make(Major::MN, Swizzle::Bytes128, 2,
                          panels() * panelColumns, rows);
  }

  /// Returns the byte offset of element (row, column).
  uint32_t offset(unsigned row, unsigned column) const {
    return swizzle128(column / panelColumns * panelBytes() + row * rowBytes +
                      column % panelColumns * 2);
  }
  /// Returns the byte offset of the 16-byte chunk with elements (row, 8*chunk
  /// .. 8*chunk+7). A thread that owns a row computes it as
  ///   chunkRowOffset(row) + (chunkConstant(chunk) ^ chunkXor(row))
  /// where only the middle term depends on the chunk.
  uint32_t chunkOffset(unsigned row, unsigned chunk) const {
    return offset(row, chunk * chunkElements);
  }
  static constexpr uint32_t chunkRowOffset(unsigned row) {
    return row * rowBytes;
  }
  static constexpr uint32_t chunkXor(unsigned row) {
    return row % 8 * chunkBytes;
  }
  uint32_t chunkConstant(unsigned chunk) const {
    return chunk / 8 * panelBytes() + chunk % 8 * chunkBytes;
  }
};

} // namespace fmha::layout

#endif // FMHA_LAYOUT_SMEMTILE_H

//===- SmemTile.h - Matrix tiles in shared memory ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix operand of tcgen05.mma in shared memory. It is cut into spans (as
// many bytes as the swizzle keeps together: 16, 32, 64 or 128) along the
// direction that is contiguous, and into groups of 8 rows across it:
//
//   address(c, r) = X(start + (c*e / span)*spanPitch + (c*e) % span
//                           + (r / 8)*groupPitch     + (r % 8)*span)
//
// e is the element size, X the swizzle; c and r are k and mn of a K-major
// operand, mn and k of an MN-major one. Both pitches go into the 64-bit matrix
// descriptor (PTX ISA 9.7.16.4.1 and the canonical layouts of 9.7.16.3.3),
// where the names LBO and SBO change sides between the forms:
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
  /// Bytes, see above.
  unsigned spanPitch = 0, groupPitch = 0;

  /// The dense tile of mn x k elements. Check it before use where the numbers
  /// are not known to fit.
  static SmemTile make(Major major, Swizzle mode, unsigned elementBytes,
                       unsigned mn, unsigned k,
                       AtomOrder order = AtomOrder::Across);

  /// The sentence that says which extent is no multiple of what, or nothing.
  std::optional<std::string> check() const;

  unsigned contiguous() const { return major == Major::K ? k : mn; }
  unsigned across() const { return major == Major::K ? mn : k; }
  unsigned bytes() const { return mn * k * elementBytes; }

  /// Bytes from the tile's start to element (mn, k) before swizzling.
  uint32_t linearOffset(unsigned mnIndex, unsigned kIndex) const;
  /// The same after swizzling: the element's place in a tile whose start is a
  /// multiple of patternBytes(mode).
  uint32_t offset(unsigned mnIndex, unsigned kIndex) const {
    return swizzle(mode, linearOffset(mnIndex, kIndex));
  }

  /// K elements of one instruction: 16 for 16-bit types.
  unsigned kPerStep() const { return kStepBytes / elementBytes; }
  unsigned kSteps() const { return k / kPerStep(); }
  /// What the start address grows by for K step `step`, in bytes.
  uint32_t kStepOffset(unsigned step) const {
    return linearOffset(0, step * kPerStep());
  }
  /// What the start address grows by for the sub-tile that begins at `mnStart`
  /// (a multiple of 8 rows K-major, of one span MN-major).
  uint32_t mnOffset(unsigned mnStart) const { return linearOffset(mnStart, 0); }

  /// The descriptor with start address 0: code that computes addresses at run
  /// time ORs (address >> 4) & 0x3FFF in.
  uint64_t descriptorFields() const;
  /// The whole descriptor for a tile that starts `start` bytes into shared
  /// memory (below 256 KiB, a multiple of 16).
  uint64_t descriptor(uint32_t start) const;
};

/// Packs a tcgen05 matrix descriptor; offsets in bytes, multiples of 16.
/// Worked: start 0x400, LBO 16, SBO 1024, 128-byte swizzle gives
/// 0x4000404000010040.
uint64_t smemDescriptor(uint32_t start, uint32_t leadingBytes,
                        uint32_t strideBytes, Swizzle mode);

/// A tile of rows x columns 16-bit elements as TMA writes it with the 128-byte
/// swizzle: panels of 64 columns side by side, each with all rows at a pitch of
/// 128 bytes. Q, K and P are read K-major (columns are k), V is read MN-major
/// (rows, the keys, are k). The last panel is whole however few columns the
/// tile has there.
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

  /// All of the panels as an operand.
  SmemTile kMajor() const {
    return SmemTile::make(Major::K, Swizzle::Bytes128, 2, rows,
                          panels() * panelColumns);
  }
  SmemTile mnMajor() const {
    return SmemTile::make(Major::MN, Swizzle::Bytes128, 2,
                          panels() * panelColumns, rows);
  }

  /// Byte of element (row, column) from the start of the tile.
  uint32_t offset(unsigned row, unsigned column) const {
    return swizzle128(column / panelColumns * panelBytes() + row * rowBytes +
                      column % panelColumns * 2);
  }
  /// Byte of the 16-byte chunk that holds elements (row, 8*chunk .. 8*chunk+7).
  /// A thread that owns a row computes it as
  ///   chunkRowOffset(row) + (chunkConstant(chunk) ^ chunkXor(row))
  /// with only the middle term depending on the chunk.
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

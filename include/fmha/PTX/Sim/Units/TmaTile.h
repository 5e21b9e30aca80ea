//===- TmaTile.h - What one tensor copy moves -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Tensor copies" and "Tensor-map". A tensor copy is planned as rows:
// each row is contiguous in global memory and, but for the swizzle, in shared
// memory. A plan says nothing about when the bytes move.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_TMATILE_H
#define FMHA_PTX_SIM_UNITS_TMATILE_H

#include "fmha/PTX/Sim/Units/TensorMap.h"

#include <algorithm>
#include <vector>

namespace ptxsim {

/// One row of the box.
struct TileRow {
  /// Global address of byte `validBegin` of the row; meaningless when empty.
  uint64_t global = 0;
  /// Distance of the row from the box's start in shared memory, before the
  /// swizzle.
  uint32_t shared = 0;
  /// The part of the row, in bytes of global memory, that lies in the tensor.
  /// The rest is filled by loads and dropped by stores.
  uint32_t validBegin = 0, validEnd = 0;

  uint32_t validBytes() const { return validEnd - validBegin; }
};

enum class TileDirection : uint8_t { Load, Store };

/// The faults that silicon raises for a tensor copy (illegal instruction), and
/// what the simulator lacks.
enum class TileFault : uint8_t {
  None,
  InnerUnaligned, ///< Coordinate 0 times the element size is no multiple of 16.
  NegativeStore,  ///< A store or reduction starts at a negative coordinate.
  WrongMode,      ///< The map's kind or rank does not fit the instruction.
  Unsupported,    ///< Interleaved layouts.
};
const char *describe(TileFault fault);

struct TilePlan {
  TileFault fault = TileFault::None;
  std::vector<TileRow> rows;
  /// Bytes of one row in global memory, and its distance from the next row in
  /// shared memory.
  uint32_t rowBytes = 0, pitch = 0;
  /// Packed sub-byte types: every `pieceGlobal` bytes of global memory take 16
  /// bytes of shared memory. 16 for all others.
  uint32_t pieceGlobal = 16;
  /// Bytes that the copy counts on its mbarrier.
  uint32_t txBytes = 0;
  /// Bytes of shared memory from the first to behind the last row.
  uint32_t footprint = 0;
  MapType type = MapType::U8;
  MapSwizzle swizzle = MapSwizzle::None;
  bool nanFill = false;
  /// The map's address.
  uint64_t address = 0;

  /// Whether no byte of the box lies in the tensor.
  bool isOutside() const;
  /// Bytes of one row's image in shared memory.
  uint32_t imageBytes() const { return rowBytes / pieceGlobal * 16; }
};

/// cp.async.bulk.tensor in .tile mode; `coordinates` has one entry per
/// dimension, the contiguous one first.
TilePlan planTile(const TensorMap &map, std::span<const int32_t> coordinates,
                  TileDirection direction);
/// .tile::gather4 and .tile::scatter4: {column, row0, row1, row2, row3}.
TilePlan planGather4(const TensorMap &map, std::span<const int32_t> coordinates,
                     TileDirection direction);
/// .im2col loads: coordinates {c, w, (h, (d,)) n}, offsets {w, (h, (d))}.
TilePlan planIm2col(const TensorMap &map, std::span<const int32_t> coordinates,
                    std::span<const uint16_t> offsets);

/// The image of one row in shared memory before the swizzle: `valid` (the
/// row's valid bytes from global memory) between fill, rounded to tf32 where
/// the type asks for it. `image` has imageBytes() bytes; padding bytes of
/// sub-byte types are left alone.
void loadRowImage(const TilePlan &plan, const TileRow &row,
                  std::span<const uint8_t> valid, std::span<uint8_t> image);

/// Calls `visit(shared address, offset in the row image, bytes)` for every
/// piece of a row that stays contiguous under the swizzle, for a box at the
/// absolute shared address `base`.
template <typename Visit>
void forEachPiece(const TilePlan &plan, const TileRow &row, uint32_t base,
                  Visit visit);

} // namespace ptxsim

#include "fmha/PTX/Sim/Units/Swizzle.h"

namespace ptxsim {

template <typename Visit>
void forEachPiece(const TilePlan &plan, const TileRow &row, uint32_t base,
                  Visit visit) {
  uint32_t step = plan.swizzle == MapSwizzle::B128Atom32Flip8 ? 8 : 16;
  uint32_t bytes = plan.imageBytes();
  if (plan.swizzle == MapSwizzle::None)
    step = bytes;
  for (uint32_t at = 0; at < bytes; at += step)
    visit(swizzleAddress(plan.swizzle, base + row.shared + at), at,
          std::min(step, bytes - at));
}

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_TMATILE_H

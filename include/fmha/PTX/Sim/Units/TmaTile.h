//===- TmaTile.h - The bytes that one tensor copy moves ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Tensor copies" and "Tensor-map". A tensor copy is planned as rows:
// each row is contiguous in global memory and, except for the swizzle, in
// shared memory. A plan does not specify when the bytes move.
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
  /// Global address of byte `validBegin` of the row; undefined if the row is
  /// empty.
  uint64_t global = 0;
  /// Distance of the row from the box's start in shared memory, before the
  /// swizzle.
  uint32_t shared = 0;
  /// The part of the row, in bytes of global memory, that is inside the tensor.
  /// Loads fill the rest; stores drop it.
  uint32_t validBegin = 0, validEnd = 0;

  uint32_t validBytes() const { return validEnd - validBegin; }
};

enum class TileDirection : uint8_t { Load, Store };

/// The faults that hardware raises for a tensor copy (illegal instruction), and
/// forms that the simulator does not support.
enum class TileFault : uint8_t {
  None,
  InnerUnaligned, ///< Coordinate 0 times the element size must be a multiple of
                  ///< 16.
  NegativeStore,  ///< A store or reduction starts at a negative coordinate.
  WrongMode,      ///< The map's kind or rank does not fit the instruction.
  Unsupported,    ///< Interleaved layouts.
};
const char *describe(TileFault fault);

struct TilePlan {
  TileFault fault = TileFault::None;
  std::vector<TileRow> rows;
  /// Bytes of one row in global memory, and its distance to the next row in
  /// shared memory.
  uint32_t rowBytes = 0, pitch = 0;
  /// Packed sub-byte types: every `packedBytes` bytes of global memory take 16
  /// bytes of shared memory. 16 for all others.
  uint32_t packedBytes = 16;
  /// Bytes that the copy completes on its mbarrier.
  uint32_t txBytes = 0;
  /// Bytes of shared memory from the first row to the end of the last.
  uint32_t sharedBytes = 0;
  MapType type = MapType::U8;
  MapSwizzle swizzle = MapSwizzle::None;
  bool nanFill = false;
  /// The map's address.
  uint64_t address = 0;

  /// Returns true if no byte of the box is inside the tensor.
  bool isOutside() const;
  /// Returns the size of one row's image in shared memory.
  uint32_t imageBytes() const { return rowBytes / packedBytes * 16; }
};

/// Plans cp.async.bulk.tensor in .tile mode; `coordinates` has one entry per
/// dimension, the contiguous one first.
TilePlan planTile(const TensorMap &map, std::span<const int32_t> coordinates,
                  TileDirection direction);
/// Plans .tile::gather4 and .tile::scatter4: {column, row0, row1, row2, row3}.
TilePlan planGather4(const TensorMap &map, std::span<const int32_t> coordinates,
                     TileDirection direction);
/// Plans .im2col loads: coordinates {c, w, (h, (d,)) n}, offsets {w, (h, (d))}.
TilePlan planIm2col(const TensorMap &map, std::span<const int32_t> coordinates,
                    std::span<const uint16_t> offsets);

/// Writes the image of one row in shared memory before the swizzle: `valid`
/// (the row's valid bytes from global memory) surrounded by fill, rounded to
/// tf32 if the type requires it. `image` has imageBytes() bytes; padding bytes
/// of sub-byte types are not written.
void loadRowImage(const TilePlan &plan, const TileRow &row,
                  std::span<const uint8_t> valid, std::span<uint8_t> image);

/// Calls `visit(shared address, offset in the row image, bytes)` for every
/// chunk of a row that stays contiguous under the swizzle, for a box at the
/// absolute shared address `base`.
template <typename Visit>
void forEachChunk(const TilePlan &plan, const TileRow &row, uint32_t base,
                  Visit visit);

} // namespace ptxsim

#include "fmha/PTX/Sim/Units/Swizzle.h"

namespace ptxsim {

template <typename Visit>
void forEachChunk(const TilePlan &plan, const TileRow &row, uint32_t base,
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

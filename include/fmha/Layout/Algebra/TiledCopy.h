//===- TiledCopy.h - Copies of a tile by many threads -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_TILEDCOPY_H
#define FMHA_LAYOUT_ALGEBRA_TILEDCOPY_H

#include "fmha/Layout/Algebra/CopyAtoms.h"
#include "fmha/Layout/Algebra/ThreadValue.h"

namespace fmha::layout::algebra {

/// A copy instruction repeated over threads and values, so that it covers a
/// tile. `map` has the values of each thread in the order of the atom's
/// reference.
class TiledCopy {
public:
  /// Arranges `threads` threads of `values` values each: tile extents are the
  /// products of theirs. With (8,16):(16,1) and (1,8) the tile is (8,128) and
  /// the map ((16,8),8):((64,1),8). Throws if the values do not fill the atom.
  static TiledCopy make(const CopyAtom &atom, int64_t valueBits,
                        const Layout &threads, const Layout &values);
  /// Uses a given map, such as that of an operand of a TiledMma.
  TiledCopy(CopyAtom atom, int64_t valueBits, ThreadValue map);

  const CopyAtom &atom() const { return instruction; }
  int64_t valueBits() const { return bits; }
  const ThreadValue &map() const { return tiled; }
  const IntTuple &tile() const { return tiled.tile; }
  int64_t threads() const { return tiled.threads(); }

  /// Returns which thread reads and writes what of a tile: for ldmatrix the
  /// source is the row that a lane addresses.
  ThreadValue source() const;
  ThreadValue destination() const;

  /// Returns what a thread reads or writes of a tensor, as
  /// ((values of an atom, atoms of a tile), tiles of mode 0, tiles of mode 1).
  Partition partitionS(const Layout &tensor, int64_t thread) const;
  Partition partitionD(const Layout &tensor, int64_t thread) const;

  /// Returns the registers of a thread that another partition, (V, M, N),
  /// arranges, in the order in which this copy takes them.
  Layout retile(const Layout &registers) const;

  /// Returns the instruction, the map and the tile, and bits other than 16:
  /// "cp_async_128, ((16,8),8):((64,1),8), (8,128)".
  std::string str() const;
  bool operator==(const TiledCopy &) const = default;

private:
  /// Returns (thread, value) -> tile for the side `target` of the atom.
  Layout arrange(const Layout &target) const;
  Partition partition(const Layout &tensor, int64_t thread,
                      const Layout &target) const;
  int64_t atomValues() const { return instruction.bits() / bits; }
  /// Returns a layout of the atom in values.
  Layout inValues(const Layout &layout) const;

  CopyAtom instruction;
  int64_t bits;
  ThreadValue tiled;
};

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_TILEDCOPY_H

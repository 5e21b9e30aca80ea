//===- TiledMma.h - Products of a tile by many threads ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_TILEDMMA_H
#define FMHA_LAYOUT_ALGEBRA_TILEDMMA_H

#include "fmha/Layout/Algebra/MmaAtoms.h"
#include "fmha/Layout/Algebra/ThreadValue.h"
#include "fmha/Layout/Algebra/TiledCopy.h"
#include "fmha/Layout/Algebra/Tiler.h"

namespace fmha::layout::algebra {

/// An instruction that multiplies matrices, repeated over groups of threads
/// along M, N and K. `permutation` sets how much of M, N and K a tile spans, or
/// in which order; _ leaves it to the atoms.
class TiledMma {
public:
  /// `atoms` arranges the groups of threads, such as (4,1,1). Throws unless it
  /// has three modes and the permutation has three tilers.
  TiledMma(MmaAtom atom, const Layout &atoms,
           Tiler permutation = Tiler::byMode({{}, {}, {}}));

  const MmaAtom &atom() const { return instruction; }
  /// Returns (thread of an atom, M, N, K) -> thread.
  const Layout &threadLayout() const { return threadMap; }
  int64_t threads() const { return threadMap.size(); }
  /// Returns the extent of a tile along M, N or K.
  int64_t tileSize(size_t dimension) const;
  /// Returns the extents of the tile of an operand.
  IntTuple tile(Operand operand) const;

  /// Returns which thread holds what of the operand's tile.
  ThreadValue map(Operand operand) const;
  /// Returns a tensor as ((thread of an atom, (threads along both modes)),
  /// (values of an atom, (atoms along both modes))).
  Layout threadFragments(Operand operand, const Layout &tensor) const;
  /// Returns what a thread has of a tensor, as (values, atoms, atoms).
  Partition partition(Operand operand, const Layout &tensor,
                      int64_t thread) const;
  /// Returns a copy that fills the operand's registers.
  TiledCopy copyOf(Operand operand, const CopyAtom &atom,
                   int64_t valueBits) const;

  /// Returns the instruction, its groups of threads along M, N and K, and the
  /// permutation: "mma_m16n8k8_f32_f16, (4,1,1):(1,0,0), (64:1,16:1,16:1)".
  std::string str() const;
  bool operator==(const TiledMma &) const = default;

private:
  MmaAtom instruction;
  Layout groups, threadMap;
  Tiler permutation;
};

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_TILEDMMA_H

//===- Axes.h - The levels of the tree of candidates ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_PLAN_AXES_H
#define FMHA_LIB_SCHEDULE_PLAN_AXES_H

#include "Families/Family.h"
#include "Rules/Check.h"

#include "fmha/Schedule/Model/Overrides.h"

#include <span>

namespace fmha::schedule {

using Values = std::vector<unsigned>;

/// One level of the tree. `decides` are the rules of check() that depend only
/// on fields of this level and of those above it.
struct Axis {
  Values values;
  Rules decides;
  void (*set)(Schedule &, unsigned);
};

/// Returns 0 ("all") and the sizes of parts of `whole` to consider: powers of
/// two from `least` that are smaller, the large ones first.
Values parts(unsigned whole, unsigned least, unsigned most);

/// The levels, as the family of the target adds them. A requested value of a
/// field replaces the values of its level.
struct Axes {
  Axes(const Problem &problem, const Overrides &overrides,
       const target::Target *gpu)
      : problem(problem), overrides(overrides), gpu(gpu) {}

  /// Adds a level for the field of that name.
  void add(std::string_view name, Values values, Rules decides);
  /// Adds the level q_tiles, for tiles of `rows` rows. With lists of blocks,
  /// the rows of a CTA lie in one block of rows if that is possible.
  void addTiles(Values tiles, unsigned rows, Rules decides);
  /// Adds the level kv_block. With lists of blocks, only those of `blocks` that
  /// divide block_keys are tried.
  void addBlocks(Values blocks, Rules decides);
  void addPacking();
  void addPlacement(std::vector<PPlacement> placements, Rules decides);
  /// Sets the numbers of slices of P.
  void addSlices(Values values);

  const Problem &problem;
  const Overrides &overrides;
  /// Null for an unknown target.
  const target::Target *gpu;
  std::vector<Axis> levels;
  /// The level below which the rows of a tile are known.
  size_t lastOfTiles = 0;
  /// Numbers of slices of P. They are not a level: rings do not depend on them.
  Values slices;

private:
  /// Returns the numbers of heads to pack: 1 and, if lengths and group are
  /// known, those that divide the group, and the one that holds all of it.
  Values packings() const;
};

/// What the planner asks of a kernel family.
struct FamilyCandidates {
  /// The values of these fields above their levels.
  unsigned qTileRows;
  PPlacement pPlacement;
  void (*addAxes)(Axes &axes);
  /// The fewest stages of a ring in which loads and products overlap.
  unsigned leastStages;
  /// O keeps a maximum until it has grown by rescale_threshold.
  bool delaysRescales;
  /// P is multiplied by scales of pages before it is rounded to 16 bits.
  bool roundsScaledP;
  /// Returns the number of bytes above which larger KV rings of a CTA of
  /// `schedule` gain nothing, or 0 if there is no such bound. The stages of
  /// `schedule` are not set yet. Null if kernels of the family have no rings.
  uint64_t (*ringBytes)(const Problem &problem, const Schedule &schedule,
                        const target::Target &gpu);
  /// Shares of emulated exponentials, in per cent, to compare by their steps
  /// (Tuning.h). Empty if they were measured and are not faster.
  std::span<const unsigned> emulatedShares = {};
};

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_PLAN_AXES_H

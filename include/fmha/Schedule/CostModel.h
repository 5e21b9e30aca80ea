//===- CostModel.h - Modelled clocks of one KV block ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long each unit of an SM is busy with one KV block of all query tiles of a
// CTA. It ranks schedules and explains them; it is a model of throughputs, no
// measurement, and no latency is in it. Rates come from the target's record
// (Targets.td). For every query tile of R rows, KV block of N keys, head dims d
// (K) and v (V), 16-bit elements:
//
//   MMA    per step of 32 bytes of K, max(columns of D / 2, operand bytes from
//          shared memory / 128): d/16 steps of N columns and N/16 steps of v
//          columns. Fits public measurements of 128-row tcgen05.mma to a clock
//          (64.6 for 128x128, 48.6 for 128x64 with both operands in SMEM).
//   MUFU   one ex2 per score, one per row for the rescale factor.
//   SMEM   operands of both products (A: R rows, or none if P is in tensor
//          memory; B: N x d and N x v), K and V written by TMA, P written and
//          read where it is in SMEM, the row factors written and read.
//   TMEM   S read once, P written where it is there, O read and written in the
//          tenth of the blocks whose maximum grows by more than the threshold
//          ("90 % of rescales avoided", FlashAttention-4; all blocks if the
//          threshold is 0). What the MMA itself moves has a port of its own.
//   FMA    three f32 operations a score: scale and subtract, maximum, sum.
//
// With two tiles softmax of one overlaps the products of the other, so the
// busiest unit bounds the block; with one tile MMA and softmax take turns,
// since each needs the other's result.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_COSTMODEL_H
#define FMHA_SCHEDULE_COSTMODEL_H

#include "fmha/Schedule/Schedule.h"

#include <array>

namespace fmha::schedule {

enum class Unit { Mufu, Mma, Smem, Tmem, Fma };
constexpr unsigned unitCount = 5;
/// "exp", "MMA", "SMEM", "TMEM", "FMA".
std::string_view stringify(Unit unit);

struct Cost {
  /// Clocks that each unit is busy, by Unit, for one KV block of all tiles.
  std::array<double, unitCount> busy = {};
  /// Clocks until the block is done.
  double clocks = 0;
  /// MMA and softmax take turns, and that takes longer than the busiest unit.
  bool serial = false;
  /// Clocks per query tile that has rows: what schedules are ranked by.
  double clocksPerTile = 0;

  double of(Unit unit) const { return busy[unsigned(unit)]; }
  /// The unit that is busy longest; the first in the order of Unit if several
  /// are.
  Unit bound() const;
};

/// `schedule` must pass check(). `problem.qLenHint` says how many tiles have
/// rows.
Cost modelCost(const Problem &problem, const Schedule &schedule);

/// "exp-bound (modelled; MMA and SMEM within 5 %): per KV block of 2 query
/// tiles 2064 clk exp, 2048 clk MMA, ...".
std::string describe(const Cost &cost, const Schedule &schedule);

/// Whether `a` is the better one: fewer clocks per tile, and among equals the
/// one whose busiest unit has more slack.
bool isCheaper(const Cost &a, const Cost &b);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_COSTMODEL_H

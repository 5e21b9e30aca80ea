//===- CostModel.h - Modelled clocks of one KV block ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long each unit of an SM is busy with one KV block of all query tiles of a
// CTA, and how long one tile waits for itself. It ranks schedules and explains
// them; it is a model, no measurement. Rates and latencies come from the
// target's record (Targets.td), none is fitted to a kernel. Of wgmma kernels
// that holds for what keeps the units busy; how long one consumer alone, a
// block and a launch take is fitted to measured launches there (CostWgmma.h).
// For every query tile of R rows in this CTA, KV blocks of N keys, head dims d
// (K) and v (V, or the columns of O that the CTA computes), elements of e
// bytes:
//
//   MMA    chains of instructions, each of r rows (Target::mmaRows) and at most
//          256 columns of D and 32 bytes of K: per instruction
//          max(FLOP / rate, operand bytes from shared memory / 128) and what it
//          takes to start. Both operands of QK are there; of PV only V where P
//          is in tensor memory or in registers. Fits public measurements of
//          128-row tcgen05.mma to a tenth of a clock (64.6 for 128x128, 48.6
//          for 128x64 with both in SMEM). A pair of CTAs halves the bytes of B
//          that each reads, and 64 rows run at the full rate there instead of
//          at half.
//   exp    one ex2 per score that is not emulated, one per row for the factor.
//   SMEM   those operands, K and V written by TMA once for all tiles, P written
//          where it is there, the row factors written and read.
//   TMEM   S read once, P written where it is there, O read and written in the
//          tenth of the blocks whose maximum grows by more than the threshold
//          ("90 % of rescales avoided", FlashAttention-4; all blocks if the
//          threshold is 0). What the MMA itself moves has a port of its own.
//   FMA    scale and subtract, and sum: two f32 operations a score, six more
//   for
//          an emulated ex2 (range reduction and a polynomial of degree 3,
//          FlashAttention-4), one per element of O that is rescaled.
//   ALU    half a 3-input maximum a score, three operations for an emulated
//   ex2;
//          half a conversion a score (two scores an instruction).
//   L2     K and V, once for all tiles of the CTA; one of the two where they
//   are
//          one message, half of each in a pair of CTAs.
//   loads  no unit: with F bytes of the ring free to be filled, a block of B
//          bytes cannot come faster than B * latency / F (Little's law). One
//          message is being read, the rest of the ring is in flight.
//
// The busiest unit bounds a block from one side. From the other it is the chain
// of one tile: QK, its wait, the load of S, softmax, the store of P, PV, since
// P lies over S. A second S takes QK out of the chain. P in s slices lets the
// product of a slice begin when that slice is stored, but softmax waits for
// each store before it goes on: with softmax of E clocks, a hand-over of L
// (latency of P, and the fence between the proxies where P is in shared memory)
// and a product of M, P V is done
//
//   max(E/s + L + M, E + s L + M/s)
//
// clocks after S is in registers, by the first slice or by the last one. (Not
// so with wgmma, where the chain is what one consumer alone was measured to
// take.)
//
//   turns  the softmax roles of the tiles take turns at the exp unit, each with
//          the waits between its slices: tiles * (E + (s-1) L). No tile is
//          taken to fill the waits of another.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_COST_COSTMODEL_H
#define FMHA_SCHEDULE_COST_COSTMODEL_H

#include "fmha/Schedule/Model/Schedule.h"

#include <array>

namespace fmha::schedule {

enum class Unit { Mufu, Mma, Smem, Tmem, Fma, Alu, L2 };
constexpr unsigned unitCount = 7;
/// "exp", "MMA", "SMEM", "TMEM", "FMA", "ALU", "L2".
std::string_view stringify(Unit unit);

/// What the model looks at: made from a schedule, or filled in for a kernel
/// that no schedule can express (fp8, a second S, block scales).
struct KernelModel {
  std::string target = "sm_100a";
  /// Query tiles of a CTA, and rows of each that this CTA has.
  unsigned tiles = 2, tileRows = 128;
  /// Query heads of a group that share the rows of a tile.
  unsigned packHeads = 1;
  unsigned keys = 128;
  /// Columns of K, and of O that the CTA computes.
  unsigned headDim = 128, headDimV = 128;
  /// CTAs that share the rows of a query tile, each with columns of its own.
  unsigned passes = 1;
  unsigned elementBytes = 2;
  unsigned ctaGroup = 1;
  /// CTAs that an SM has at once.
  unsigned ctasPerSm = 1;
  PPlacement pPlacement = PPlacement::Tmem;
  unsigned pSlices = 1;
  /// S buffers of each tile.
  unsigned scoreStages = 1;
  double rescaleThreshold = 8;
  /// Share of ex2 on FMA units, 0 to 1.
  double emulated = 0;
  bool shareKv = false;
  /// Elements that have one scale (microscaling formats); 0: none has.
  unsigned scaleBlock = 0;
  /// Bytes of all rings in this CTA and of the largest message in them; 0 where
  /// loads are taken to come in time.
  unsigned ringBytes = 0, messageBytes = 0;
  /// A CTA takes the next query tiles when it is done with some.
  bool persistent = false;
  /// CTAs that share the KV blocks of a row block.
  unsigned splits = 1;
  /// The most CTAs that a host launches; 0: one for each tile.
  unsigned mostCtas = 0;
};

/// The kernel that `schedule` describes, whether or not check() takes it. Head
/// dims are rounded up to the 16 elements of an MMA.
KernelModel modelOf(const Problem &problem, const Schedule &schedule);

/// Bytes of one KV block of all tiles of a CTA.
struct Traffic {
  double smemRead = 0, smemWritten = 0;
  double tmemRead = 0, tmemWritten = 0;
  double l2Read = 0;
};

struct Cost {
  /// Clocks that each unit is busy, by Unit, for one KV block of all tiles.
  std::array<double, unitCount> busy = {};
  Traffic traffic;
  /// Clocks of one tile alone: each product, softmax, and a rescale of O where
  /// it happens.
  double qkClocks = 0, pvClocks = 0, softmaxClocks = 0, rescaleClocks = 0;
  /// Clocks of one hand-over of P, or of a slice of it.
  double handOver = 0;
  /// Clocks from one block to the next of a tile that has the SM for itself.
  double chain = 0;
  /// Clocks in which the softmax roles of all tiles had their turns.
  double turns = 0;
  /// Clocks in which the rings can bring a block.
  double loads = 0;
  /// Clocks until the block is done: the busiest unit, the chain, the turns or
  /// the loads; with wgmma what was fitted, or the loads.
  double clocks = 0;
  /// The chain takes longer than the busiest unit, the turns and the loads.
  bool serial = false;
  /// The clocks follow measured launches, so that any difference tells.
  bool measured = false;
  /// Clocks per query row that exists and 128 keys, all passes together.
  double clocksPerRow = 0;
  /// Clocks of the whole launch (Estimate.h), 0 where the problem has not all
  /// hints.
  double launchClocks = 0;

  double of(Unit unit) const { return busy[unsigned(unit)]; }
  /// The unit that is busy longest; the first in the order of Unit if several
  /// are.
  Unit bound() const;
};

/// The costs of a block. `kernel.target` must be in Targets.td.
Cost modelCost(const KernelModel &kernel);

/// The same for a schedule, whose target must be known; check() need not take
/// it. The problem's hints say how many rows exist and how many CTAs there are.
Cost modelCost(const Problem &problem, const Schedule &schedule);

class Launches;
/// The same for many schedules of one problem. `launches` is of that problem's
/// workload, or null where a hint is missing.
Cost modelCost(const Problem &problem, const Schedule &schedule,
               Launches *launches);

/// "exp-bound (modelled; MMA and SMEM within 5 %)", or that the chain, the
/// turns or the loads bound it.
std::string boundBy(const Cost &cost);

/// "exp-bound (modelled; MMA and SMEM within 5 %): per KV block of 2 query
/// tiles 2064 clk exp, 2048 clk MMA, ...".
std::string describe(const Cost &cost, const Schedule &schedule);

/// Whether `a` is the better one: fewer clocks per row, and among equals the
/// one whose busiest unit has more slack.
bool isCheaper(const Cost &a, const Cost &b);

/// Launches that differ by less are equal: the model can tell no better.
constexpr double launchTolerance = 0.05;

/// The places of `costs`, the best first, equals in their order. Where all know
/// the clocks of their launch, those within the tolerance of the shortest come
/// first, by isCheaper: of two equally long launches the one that takes less
/// time of the SMs. The others follow by their launches.
std::vector<size_t> rankByCost(const std::vector<Cost> &costs);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_COST_COSTMODEL_H

//===- CostModel.h - Modeled clocks of one KV block -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long each unit of an SM is busy with one KV block of all query tiles of a
// CTA, and the critical path of one tile. It ranks schedules and explains them;
// it is a model, not a measurement. Rates and latencies come from the target's
// record (Targets.td); none is fitted to a kernel. With wgmma that holds for
// the units only: the time of one consumer alone, of a block and of a launch is
// fitted to measured launches (lib/Schedule/Families/Wgmma). For every query
// tile of R rows in
// this CTA, KV blocks of N keys, head dims d (K) and v (V, or the columns of O
// that the CTA computes), elements of e bytes:
//
//   MMA    sequences of instructions, each of r rows (Target::mmaRows) and at
//          most 256 columns of D and 32 bytes of K: per instruction
//          max(FLOP / rate, operand bytes from shared memory / 128) and the
//          start-up time. Both operands of QK are in shared memory; of PV only
//          V if P is in tensor memory or in registers. Agrees with public
//          measurements of 128-row tcgen05.mma to a tenth of a clock (64.6 for
//          128x128, 48.6 for 128x64 with both in SMEM). A pair of CTAs halves
//          the bytes of B that each reads, and 64 rows run at the full rate
//          instead of half of it.
//   exp    one ex2 per score that is not emulated, one per row for the factor.
//   SMEM   those operands, K and V written by TMA once for all tiles, P written
//          if it is in SMEM, the row factors written and read.
//   TMEM   S read once, P written if it is in TMEM, O read and written in the
//          tenth of the blocks whose maximum grows by more than the threshold
//          ("90 % of rescales avoided", FlashAttention-4; all blocks if the
//          threshold is 0). Accesses of the MMA itself have a separate port.
//   FMA    scale and subtract, and sum: two f32 operations per score, six more
//          for an emulated ex2 (range reduction and a polynomial of degree 3,
//          FlashAttention-4), one per element of O that is rescaled.
//   ALU    half a 3-input maximum per score, three operations for an emulated
//          ex2, half a conversion per score (two scores per instruction).
//   L2     K and V, once for all tiles of the CTA; one of the two if one
//          message is both, half of each in a pair of CTAs.
//   loads  not a unit: with F bytes of the ring free, a block of B bytes cannot
//          arrive faster than B * latency / F (Little's law). One message is
//          being read, the rest of the ring is in flight.
//
// The busiest unit is one bound of a block. The other is the critical path of
// one tile: QK, its wait, the load of S, softmax, the store of P, PV, since P
// lies over S. A second S takes QK off the critical path. With P in s slices
// the product of a slice starts when that slice is stored, but softmax waits
// for each store before it continues: with softmax of E clocks, a hand-off of L
// (latency of P, and the fence between the proxies if P is in shared memory)
// and a product of M, P V is done
//
//   max(E/s + L + M, E + s L + M/s)
//
// clocks after S is in registers, limited by the first or by the last slice.
// (With wgmma the critical path is the measured time of one consumer alone.)
//
// These count units, not the order of instructions. For kernels whose SASS was
// read, `ordered` replaces softmax and its hand-offs by the clocks F and L from
// S to the signals of the first and the last slice (SoftmaxStreams.def), which
// contain the load of S, the maximum, alpha and the stores of P. A block takes
//
//   QK + 136 + max(F + M, L + M/s) + 120 [+ 136] = T
//
// clocks: the wait for S, the signal of P, and with mma_order = commit the wait
// for P V before the next QK. The warps of two tiles share a sub-partition: in
// max(0, 2 B - T) of these clocks both are busy, where B is the whole loop, and
// one in four instructions waits for the other warp. So emulated exponentials
// are compared by T + max(0, 2 B - T) / 4.
//
//   turns  the softmax roles of the tiles take turns at the exp unit, each with
//          the waits between its slices: tiles * (E + (s-1) L). The waits of
//          one tile are not filled by another.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_COST_COSTMODEL_H
#define FMHA_SCHEDULE_COST_COSTMODEL_H

#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Model/Schedule.h"

#include <array>

namespace fmha::schedule {

enum class Unit { Mufu, Mma, Smem, Tmem, Fma, Alu, L2 };
constexpr unsigned unitCount = 7;
/// "exp", "MMA", "SMEM", "TMEM", "FMA", "ALU", "L2".
std::string_view stringify(Unit unit);

/// The input of the model: computed from a schedule, or filled in for a kernel
/// that no schedule can express (fp8, block scales).
struct KernelModel {
  std::string target = "sm_100a";
  FamilyKind family = FamilyKind::Mma;
  /// Query tiles of a CTA, and rows of each that this CTA has.
  unsigned tiles = 2, tileRows = 128;
  /// Query heads of a group that share the rows of a tile.
  unsigned packHeads = 1;
  unsigned keys = 128;
  /// Columns of K, and of O that the CTA computes.
  unsigned headDim = 128, headDimV = 128;
  /// CTAs that share the rows of a query tile, each with different columns.
  unsigned passes = 1;
  /// Consumers of a CTA that share those columns.
  unsigned consumers = 1;
  /// Bytes of an element of K and V in memory.
  unsigned elementBytes = 2;
  /// Instructions that convert such an element on its way to shared memory,
  /// where it has 16 bits; 0 if it is copied as it is.
  double conversionsPerElement = 0;
  unsigned ctaGroup = 1;
  /// CTAs that an SM runs at once.
  unsigned ctasPerSm = 1;
  PPlacement pPlacement = PPlacement::Tmem;
  unsigned pSlices = 1;
  /// S buffers of each tile.
  unsigned scoreStages = 1;
  /// Whether the MMA role waits until P·V is complete before Q·K overwrites P.
  bool waitsForProducts = false;
  /// Whether Q.K of the next block waits for softmax alone, as P does not lie
  /// over S.
  bool probabilitiesApart = false;
  double rescaleThreshold = 8;
  /// Whether the MMA role waits for each product before it issues another one
  /// that overwrites its operands.
  bool commits = false;
  /// Share of ex2 on FMA units, 0 to 1.
  double emulated = 0;
  /// The compiler makes the kernel, without a score region and relative to any
  /// maximum, so that the order of its softmax may be known
  /// (SoftmaxStreams.def), and has registers for emulation; some blocks have a
  /// mask.
  bool compiled = false, masked = false;
  /// One message is K and V of a block; device memory has them once, whether
  /// or not they share messages.
  bool shareKv = false, valueInKey = false;
  /// Elements per scale (microscaling formats); 0 without scales.
  unsigned scaleBlock = 0;
  /// Bytes of all rings in this CTA and of their largest message; 0 if loads
  /// are assumed to arrive in time.
  unsigned ringBytes = 0, messageBytes = 0;
  /// The rings of which those are the bytes.
  Rings rings;
  /// A CTA processes several query tiles, one after another, and begins each
  /// with new barriers: nothing of two tiles overlaps.
  bool persistent = false, restarts = false;
  /// A CTA draws its tiles one by one, the longest first.
  bool draws = false;
  /// The batch is packed sequences, each with lengths of its own.
  bool packedSequences = false;
  /// CTAs that share the KV blocks of a row block.
  unsigned splits = 1;
  /// The most CTAs that a host launches; 0: one per tile.
  unsigned mostCtas = 0;
};

/// Returns the model of the kernel of `schedule`, whether or not check()
/// accepts it. Head dims are rounded up to the 16 elements of an MMA.
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
  /// Clocks of one tile alone: each product, softmax, and a rescale of O if it
  /// happens.
  double qkClocks = 0, pvClocks = 0, softmaxClocks = 0, rescaleClocks = 0;
  /// Clocks of one hand-off of P, or of a slice of it.
  double handOver = 0;
  /// The critical path: clocks per block of a tile alone on the SM.
  double chain = 0;
  /// Clocks in which the softmax roles of all tiles have each had a turn.
  double turns = 0;
  /// Clocks in which the rings can load a block.
  double loads = 0;
  /// Clocks of the block: the largest of the busiest unit, the critical path,
  /// the turns and the loads; with wgmma of the fitted clocks and the loads.
  double clocks = 0;
  /// Clocks of the block by the order in which ptxas emits softmax, which
  /// compares shares of emulated exponentials; 0 if it was not read.
  double ordered = 0;
  /// The critical path determines the clocks.
  bool serial = false;
  /// The clocks are fitted to launches, so small differences count as well.
  bool measured = false;
  /// Clocks per existing query row and 128 keys, all head_dim_v tiles together.
  double clocksPerRow = 0;
  /// Clocks of the whole launch (Estimate.h), 0 if a hint is missing.
  double launchClocks = 0;

  double of(Unit unit) const { return busy[unsigned(unit)]; }
  /// Returns the busiest unit; of several the first in the order of Unit.
  Unit bound() const;
};

/// Returns the cost of a block. `kernel.target` must be in Targets.td.
Cost modelCost(const KernelModel &kernel);

/// Returns the same for a schedule, whose target must be known; check() need
/// not accept it. Hints give the number of existing rows and of CTAs.
Cost modelCost(const Problem &problem, const Schedule &schedule);

class Launches;
/// Returns the same, for many schedules of one problem. `launches` is for that
/// problem's workload, or null if a hint is missing.
Cost modelCost(const Problem &problem, const Schedule &schedule,
               Launches *launches);

/// Returns "exp-bound (modeled; MMA and SMEM within 5 %)", or that the
/// critical path, the turns or the loads are the bound.
std::string boundBy(const Cost &cost);

/// Returns "exp-bound (modeled; MMA and SMEM within 5 %): per KV block of 2
/// query tiles 2064 clk exp, 2048 clk MMA, ...".
std::string describe(const Cost &cost, const Schedule &schedule);

/// Returns whether `a` takes fewer clocks per row or, among equals, has more
/// slack in its busiest unit.
bool isCheaper(const Cost &a, const Cost &b);

/// Launches that differ by less are equal within the accuracy of the model.
constexpr double launchTolerance = 0.05;

/// Returns the indices of `costs`, the best first, equals in their order. If
/// the launch of all is known, those within the tolerance of the shortest come
/// first, ordered by isCheaper: of two equally long launches the one that takes
/// less SM time. The others follow by the length of their launches.
std::vector<size_t> rankByCost(const std::vector<Cost> &costs);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_COST_COSTMODEL_H

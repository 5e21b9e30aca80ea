//===- Footprint.h - Sizes of the on-chip tiles of a schedule ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that check(), layOut() and verify() share. 64-bit, because check() uses
// them before anything is known to fit.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_MODEL_FOOTPRINT_H
#define FMHA_LIB_SCHEDULE_MODEL_FOOTPRINT_H

#include "Families/Family.h"

#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace fmha::schedule {

/// Every tile is 16-bit; a panel is 64 columns, one row of the 128-byte
/// swizzle.
constexpr unsigned elementBytes = 2;
constexpr unsigned panelColumns = layout::PanelTile::panelColumns;
constexpr unsigned tileAlignment = layout::PanelTile::alignment;
/// The deepest schedule uses fewer; a fixed number keeps the map independent of
/// the lowering of channels.
constexpr unsigned barrierSlots = 64;
constexpr unsigned barrierBytes = 8;
/// Row statistics go from thread to thread: the warpgroups of softmax and of
/// correction, or two consumers, distribute rows in the same way.
constexpr unsigned statsPerTile = 128;
/// Stages of the ring of page scales, a power of two: as many as the deepest KV
/// ring has blocks.
constexpr unsigned factorStages = 4;
/// Returns the bytes of the scales of the keys and values of a block, in whole
/// vectors of 128 numbers; 0 if pages have none.
inline uint64_t factorBytes(const Problem &problem, const Schedule &schedule) {
  constexpr uint64_t numbers = 128;
  uint64_t all = 2 * uint64_t(schedule.kvBlock);
  return problem.scalePerPage ? (all + numbers - 1) / numbers * numbers * 4 : 0;
}
/// Returns the bytes of "next_tile", 0 if roles do not read the next tile.
inline unsigned nextTileBytes(const Schedule &schedule) {
  if (drawsTiles(schedule))
    return DrawnTiles::bytes;
  bool announced = schedule.scheduler != Scheduler::Single &&
                   familyOf(schedule).kernel.announcesNextTile;
  return announced ? NextTile::bytes : 0;
}
/// Ends of the map are rounded up to this, and small regions start at it.
constexpr unsigned smallAlignment = 16;

/// Returns the panels that hold `columns`.
constexpr uint64_t panelsOf(uint64_t columns) {
  return (columns + panelColumns - 1) / panelColumns;
}

/// Returns the bytes of a tile of `columns` 16-bit elements in whole panels.
constexpr uint64_t panelTileBytes(uint64_t rows, uint64_t columns) {
  return panelsOf(columns) * rows * panelColumns * elementBytes;
}

/// Returns the shared memory that a CTA can request. The hardware reserves some
/// for each CTA on an SM.
inline uint64_t smemOfCta(const target::Target &gpu, const Schedule &schedule) {
  constexpr uint64_t kept = 1024;
  uint64_t ofSm = gpu.smemBytesPerCta + kept;
  return ofSm / std::max(schedule.ctasPerSm, 1u) / kept * kept - kept;
}

/// Returns the regions of staged outputs apart from queries, if they fit.
inline unsigned outputStages(const Schedule &schedule) {
  auto stages = familyOf(schedule).kernel.outputStages;
  return stages ? stages(schedule) : 0;
}
/// Returns whether the output is staged in a separate region, so that the next
/// tile's queries need not wait for the store: in kernels that loop over tiles,
/// if the family does so, it fits, and a ring of two blocks fits with it.
bool stagesOutputApart(const Problem &problem, const Schedule &schedule);

/// Returns the columns of P of a query tile in tensor memory.
inline uint64_t probabilityColumns(const Schedule &schedule) {
  return uint64_t(schedule.kvBlock) * elementBytes / 4;
}
/// Returns whether P of two query tiles has columns of its own and does not lie
/// over S: if tensor memory has room, and the rings hold a block. Then Q.K of
/// the next block need not wait for P.V of this one.
bool putsApart(const Problem &problem, const Schedule &schedule);

struct Footprint {
  /// Columns of S, of O, and of P in tensor memory.
  uint64_t sColumns, oColumns, pColumns;
  /// The value of putsApart().
  bool pApart;
  /// Column of S where P starts: its upper half, so that the other half of the
  /// row stays readable while P is written.
  uint64_t pColumnInS;
  /// First lane of S: 16 if O leaves it no columns from lane 0 on.
  unsigned sLane;
  /// Bytes of one query tile, one stage of the ring that K is in, one of V's
  /// separate ring (0 if it has none), one P, one staged output, one row
  /// statistic of all threads.
  uint64_t qBytes, kvStageBytes, vStageBytes, pBytes, outBytes, statsBytes;
  /// Bytes by which threads of two warps exchange numbers of the halves of a
  /// row, one per thread; 0 if a warp has both halves.
  uint64_t halvesBytes;
  /// Bytes of the scales of one block.
  uint64_t factorBytes;
  /// Whether S, O and the statistics are handed off outside of registers.
  bool inTensorMemory;
  /// Whether statistics of rows are in shared memory.
  bool statsInSmem;
  /// Whether the staged output has a separate region instead of the queries'.
  bool outApart;
  /// The separate regions of staged outputs, at most one per query tile.
  unsigned outStages;

  Footprint(const Problem &problem, const Schedule &schedule);
  /// Returns the sizes with the output staged apart from queries or over them.
  Footprint(const Problem &problem, const Schedule &schedule, bool outApart);

  /// Returns the columns used, before rounding to an allocation.
  uint64_t tmemColumns(const Schedule &schedule) const;
  uint64_t smemBytes(const Schedule &schedule) const;
  /// Returns the bytes of the region of a tile's queries.
  uint64_t queryBytes() const {
    return outApart || qBytes > outBytes ? qBytes : outBytes;
  }
  /// Returns the region in which the output of a tile is staged, "" for one of
  /// its own.
  std::string outputOver(unsigned tile) const {
    if (!outApart)
      return "Q" + std::to_string(tile);
    return tile < outStages ? "" : "out" + std::to_string(tile % outStages);
  }
};

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_MODEL_FOOTPRINT_H

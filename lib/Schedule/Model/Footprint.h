//===- Footprint.h - Sizes of what a schedule keeps on chip -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that check(), layOut() and verify() agree on. 64-bit, because check()
// asks before anything is known to fit.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_MODEL_FOOTPRINT_H
#define FMHA_LIB_SCHEDULE_MODEL_FOOTPRINT_H

#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cstdint>

namespace fmha::schedule {

/// Every tile here is 16-bit; a panel is 64 columns, one row of the 128-byte
/// swizzle.
constexpr unsigned elementBytes = 2;
constexpr unsigned panelColumns = layout::PanelTile::panelColumns;
constexpr unsigned tileAlignment = layout::PanelTile::alignment;
/// Channels of the deepest schedule use fewer; a fixed number keeps the map
/// independent of how channels are lowered.
constexpr unsigned barrierSlots = 64;
constexpr unsigned barrierBytes = 8;
/// A row statistic travels from thread to thread: the warpgroups of softmax and
/// of correction share the rows out alike.
constexpr unsigned statsPerTile = 128;
/// Where a CTA does several tiles, what says which comes next.
inline unsigned nextTileBytes(const Schedule &schedule) {
  bool told = schedule.scheduler != Scheduler::Single && !usesWgmma(schedule);
  return told ? NextTile::bytes : 0;
}
/// Ends of the map are rounded to this, and small regions start at it.
constexpr unsigned smallAlignment = 16;

/// Panels that hold `columns`.
constexpr uint64_t panelsOf(uint64_t columns) {
  return (columns + panelColumns - 1) / panelColumns;
}

/// Bytes of a tile of `columns` 16-bit elements: whole panels.
constexpr uint64_t panelTileBytes(uint64_t rows, uint64_t columns) {
  return panelsOf(columns) * rows * panelColumns * elementBytes;
}

/// Shared memory that a CTA can ask for. Of each one on an SM the hardware
/// keeps some for itself.
inline uint64_t smemOfCta(const target::Target &gpu, const Schedule &schedule) {
  constexpr uint64_t kept = 1024;
  uint64_t ofSm = gpu.smemBytesPerCta + kept;
  return ofSm / std::max(schedule.ctasPerSm, 1u) / kept * kept - kept;
}

/// Whether the output is staged in a place of its own, so that the next tile's
/// queries need not wait until it is written: where roles of wgmma kernels go
/// from tile to tile, and a ring of two blocks is left.
bool stagesOutputApart(const Problem &problem, const Schedule &schedule);

struct Footprint {
  /// Columns of S, of O, and of P where it lies over S.
  uint64_t sColumns, oColumns, pColumns;
  /// Where P begins inside S: its upper half, so that the row's other half
  /// stays readable while P is written.
  uint64_t pColumnInS;
  /// Lane that S begins at: 16 where O leaves it no columns from lane 0 on.
  unsigned sLane;
  /// Bytes of one query tile, one stage of the ring that K is in, one of V's
  /// own ring (0 if it has none), one P, one staged output, one row statistic
  /// of all threads.
  uint64_t qBytes, kvStageBytes, vStageBytes, pBytes, outBytes, statsBytes;
  /// Whether S, O and the hand-over of statistics are outside of registers.
  bool inTensorMemory;
  /// Whether the staged output has a place of its own, and not the queries'.
  bool outApart;

  Footprint(const Problem &problem, const Schedule &schedule);

  /// Columns used, before rounding to what can be allocated.
  uint64_t tmemColumns(const Schedule &schedule) const;
  uint64_t smemBytes(const Schedule &schedule) const;
  /// Bytes of the region of a tile's queries.
  uint64_t queryBytes() const {
    return outApart || qBytes > outBytes ? qBytes : outBytes;
  }
};

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_MODEL_FOOTPRINT_H

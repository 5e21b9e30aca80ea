//===- AccessHistory.h - The last accesses of each range --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SYNC_ACCESSHISTORY_H
#define FMHA_LIB_SYNC_ACCESSHISTORY_H

#include "fmha/Sync/Synchronization.h"

#include <array>
#include <utility>

namespace fmha::schedule::sync {

using Tick = uint32_t;

/// Rows of each half of the lanes, or of each strip. Two accesses of the same
/// columns or bytes overlap if these do.
using PartRows = uint32_t;

/// An access that later ones must be ordered after. It is complete once a clock
/// has `tick` in `lane`.
struct Record {
  uint32_t event;
  uint32_t agent;
  /// Index in the agent's order.
  uint32_t at;
  uint32_t lane;
  Tick tick;
  Unit unit;
  bool write;
  PartRows rows;
};

/// Memory, divided into cells at the bounds of all events of the program, so
/// that each event covers whole cells.
class AccessHistory {
public:
  explicit AccessHistory(const Program &program);

  /// Returns the cells [first, last) of an access.
  std::pair<uint32_t, uint32_t> cellsOf(uint32_t event) const {
    return ranges[event];
  }
  std::vector<Record> &records(uint32_t cell) { return cells[cell]; }
  /// Replaces the records that `record` makes redundant.
  void add(uint32_t cell, const Record &record);

private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  std::vector<std::vector<Record>> cells;
};

} // namespace fmha::schedule::sync

#endif // FMHA_LIB_SYNC_ACCESSHISTORY_H

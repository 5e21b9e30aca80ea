//===- AccessHistory.h - Who last touched each part of memory ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SYNC_ACCESSHISTORY_H
#define FMHA_LIB_SYNC_ACCESSHISTORY_H

#include "fmha/Sync/Synchronisation.h"

#include <array>
#include <utility>

namespace fmha::schedule::sync {

using Tick = uint32_t;

/// Rows of each half of the lanes, or of each strip: two accesses of the same
/// columns or bytes meet where these do.
using PartRows = uint32_t;

/// An access that later ones have to be ordered behind: over once a clock has
/// `tick` in `lane`.
struct Record {
  uint32_t event;
  uint32_t agent;
  /// Place in the agent's order.
  uint32_t at;
  uint32_t lane;
  Tick tick;
  Unit unit;
  bool write;
  PartRows rows;
};

/// Memory cut at every bound that an event of the program names, so that an
/// event covers whole cells.
class AccessHistory {
public:
  explicit AccessHistory(const Program &program);

  /// Cells [first, last) of an access.
  std::pair<uint32_t, uint32_t> cellsOf(uint32_t event) const {
    return ranges[event];
  }
  std::vector<Record> &records(uint32_t cell) { return cells[cell]; }
  /// Puts `record` in the place of those that it makes needless.
  void add(uint32_t cell, const Record &record);

private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  std::vector<std::vector<Record>> cells;
};

} // namespace fmha::schedule::sync

#endif // FMHA_LIB_SYNC_ACCESSHISTORY_H

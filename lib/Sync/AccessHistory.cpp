//===- AccessHistory.cpp - The last accesses of each range ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AccessHistory.h"

#include <algorithm>

using namespace fmha::schedule::sync;

AccessHistory::AccessHistory(const Program &program) {
  constexpr size_t memories = size_t(Memory::Registers) + 1;
  std::array<std::vector<uint32_t>, memories> bounds;
  for (const Event &event : program.events)
    if (event.action == Action::Access) {
      auto &own = bounds[unsigned(event.memory)];
      // The steps of one MMA repeat the same bounds.
      if (own.size() >= 2 && own.end()[-2] == event.begin &&
          own.back() == event.stop)
        continue;
      own.push_back(event.begin);
      own.push_back(event.stop);
    }
  for (auto &own : bounds) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  auto cellAt = [&](Memory memory, uint32_t bound) {
    auto &own = bounds[unsigned(memory)];
    uint32_t base = 0;
    for (unsigned before = 0; before < unsigned(memory); ++before)
      base += bounds[before].size();
    return base + uint32_t(std::lower_bound(own.begin(), own.end(), bound) -
                           own.begin());
  };
  ranges.resize(program.events.size());
  for (size_t i = 0; i < program.events.size(); ++i)
    if (const Event &event = program.events[i]; event.action == Action::Access)
      ranges[i] = {cellAt(event.memory, event.begin),
                   cellAt(event.memory, event.stop)};
  size_t all = 0;
  for (const auto &own : bounds)
    all += own.size();
  cells.resize(all);
}

/// A write makes all earlier accesses of its rows redundant, since it is
/// ordered after them; a read only makes earlier reads in the same lane so.
void AccessHistory::add(uint32_t cell, const Record &record) {
  std::vector<Record> &own = cells[cell];
  for (Record &old : own)
    if (record.write || (!old.write && old.lane == record.lane))
      old.rows &= ~record.rows;
  std::erase_if(own, [](const Record &old) { return old.rows == 0; });
  own.push_back(record);
}

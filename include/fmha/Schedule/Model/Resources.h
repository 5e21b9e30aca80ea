//===- Resources.h - The resources of an SM that a schedule uses *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The resource model: how much a schedule needs of each resource that an SM has
// a fixed amount of, also for schedules that check() rejects. For those that it
// accepts the numbers are those of layOut().
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_RESOURCES_H
#define FMHA_SCHEDULE_MODEL_RESOURCES_H

#include "fmha/Schedule/Model/Schedule.h"

#include <cstdint>

namespace fmha::schedule {

/// The rings that load K and V of one CTA; messages are padded to whole panels
/// of 64 columns.
struct Rings {
  /// Bytes of one message of K, and of V; 0 if K's message is both.
  uint64_t keyBytes = 0, valueBytes = 0;
  unsigned stages = 0;
  /// Stages of a separate ring of V, 0 if the two share one.
  unsigned valueStages = 0;
  /// Messages of a block of K, and of V; none of V if K's message is both.
  unsigned keyMessages = 1, valueMessages = 1;

  /// Returns the bytes of all stages. Each begins at a multiple of 1024 bytes;
  /// one of a shared ring has the size of the larger message.
  uint64_t bytes() const;
  /// Returns whether each ring has a stage for every message of a block.
  bool holdBlock() const;
};
Rings ringsOf(const Problem &problem, const Schedule &schedule);

struct Resources {
  /// Columns of S and O of all tiles, and of P if it does not lie over S, and
  /// the count that tcgen05.alloc requests: a power of two from the target's
  /// unit; 0 if there are not enough. Tiles of 64 rows keep S and O in
  /// different lanes of the same columns.
  uint64_t tmemColumns = 0, tmemAllocated = 0;
  /// Dynamic shared memory: tiles at the 1024-byte pattern of the swizzle, row
  /// statistics, barriers, the word that tcgen05.alloc writes.
  uint64_t smemBytes = 0;
  /// Registers of all warpgroups, after setmaxnreg.
  uint64_t registers = 0;
  unsigned threads = 0;
  /// Barriers of bar.sync.
  unsigned namedBarriers = 1;
};
Resources resourcesOf(const Problem &problem, const Schedule &schedule);

/// Returns "tensor memory: 768 columns needed, 512 available", or nothing if
/// the target has enough of everything. An unknown target counts as such.
std::optional<std::string> exceeded(const Resources &resources,
                                    std::string_view target);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_RESOURCES_H

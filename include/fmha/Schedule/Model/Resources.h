//===- Resources.h - What a schedule takes of an SM -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The resource model: what a schedule needs of each thing that an SM has a
// fixed amount of, also of schedules that check() refuses. For those that it
// takes the numbers are those of layOut().
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_RESOURCES_H
#define FMHA_SCHEDULE_MODEL_RESOURCES_H

#include "fmha/Schedule/Model/Schedule.h"

#include <cstdint>

namespace fmha::schedule {

/// The rings that bring K and V to one CTA; messages are padded to whole panels
/// of 64 columns.
struct Rings {
  /// Bytes of one message of K, and of V; 0 where K's message is both.
  uint64_t keyBytes = 0, valueBytes = 0;
  unsigned stages = 0;
  /// Stages of V's own ring, 0 where the two share one.
  unsigned valueStages = 0;

  /// Every stage begins at a multiple of 1024 bytes; one of a shared ring takes
  /// the larger message.
  uint64_t bytes() const;
};
Rings ringsOf(const Problem &problem, const Schedule &schedule);

struct Resources {
  /// Columns of S and O of all tiles (P lies over S), and what tcgen05.alloc is
  /// asked for: a power of two from the target's unit; 0 if there are not as
  /// many. Tiles of 64 rows keep S and O in different lanes of the same
  /// columns.
  uint64_t tmemColumns = 0, tmemAllocated = 0;
  /// Dynamic shared memory: tiles at the 1024-byte pattern of the swizzle, row
  /// statistics, barriers, the word that tcgen05.alloc writes.
  uint64_t smemBytes = 0;
  /// Of all warpgroups, after setmaxnreg.
  uint64_t registers = 0;
  unsigned threads = 0;
  /// Barriers that bar.sync names.
  unsigned namedBarriers = 1;
};
Resources resourcesOf(const Problem &problem, const Schedule &schedule);

/// "tensor memory: 768 columns needed, 512 there", or nothing if the target has
/// all of it. An unknown target has everything.
std::optional<std::string> exceeded(const Resources &resources,
                                    std::string_view target);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_RESOURCES_H

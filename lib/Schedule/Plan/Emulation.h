//===- Emulation.h - Whether FMA units compute exponentials -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The share of emulated exponentials is not a level of the tree: the clocks of
// units, which rank schedules of different shapes, do not know in which order
// ptxas emits softmax, and without that order every share would gain. So the
// share, and the slices of P with it, are chosen for the best schedule, by the
// clocks of the softmax that was read (Cost::ordered). So are two slices of P
// where no emulation gains.
//
// Likewise, smaller KV blocks have more clocks of units, and their products do
// not wait for each other if P has columns of its own in tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_PLAN_EMULATION_H
#define FMHA_LIB_SCHEDULE_PLAN_EMULATION_H

#include "fmha/Schedule/Model/Overrides.h"

#include <optional>
#include <string>
#include <vector>

namespace fmha::schedule {

struct Emulation {
  /// The schedule that emulates, has two slices of P, or smaller KV blocks, if
  /// that gains enough.
  std::optional<Schedule> schedule;
  /// "; exp2_emulated = 25: ...", or nothing if no order was read.
  std::string reason;
};

/// Compares the first of `ranked` with schedules that differ from it in
/// exp2_emulated and p_slices only, unless `overrides` fix these, and with
/// those of the first one of `ranked` that has smaller KV blocks.
Emulation chooseEmulation(const Problem &problem,
                          const std::vector<Schedule> &ranked,
                          const Overrides &overrides);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_PLAN_EMULATION_H

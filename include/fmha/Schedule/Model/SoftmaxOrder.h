//===- SoftmaxOrder.h - The order of the ops of softmax ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_SOFTMAXORDER_H
#define FMHA_SCHEDULE_MODEL_SOFTMAXORDER_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// Returns whether passes put the ops of softmax, and its waits for free slots,
/// in the order in which the stores of P need them. It pays where FMA units
/// compute a part of the exponentials: ptxas then has work of both units to
/// interleave. Without emulation it was modeled and does not pay
/// (results/blackwell-planner-choice-2026-11-29.md).
inline bool ordersSoftmaxByStores(const Schedule &schedule) {
  return schedule.exp2EmulatedPercent > 0;
}

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_SOFTMAXORDER_H

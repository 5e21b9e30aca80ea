//===- Turns.h - When products of query tiles take turns --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_TURNS_H
#define FMHA_SCHEDULE_MODEL_TURNS_H

#include "fmha/Target/Target.h"

#include <cstdint>

namespace fmha::schedule {

/// Returns the multiplications per score from which on the tensor core bounds a
/// loop, so that the products of query tiles take turns: the tensor core takes
/// as long for these as an SM for the exponential of the score.
constexpr int64_t multiplicationsOfTurns(const target::Target &gpu) {
  return gpu.mmaFlopsPerClock / 2 / gpu.mufuPerClock;
}

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_TURNS_H

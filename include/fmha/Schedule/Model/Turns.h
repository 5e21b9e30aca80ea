//===- Turns.h - When products of query tiles take turns --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_TURNS_H
#define FMHA_SCHEDULE_MODEL_TURNS_H

#include <cstdint>

namespace fmha::schedule {

/// The multiplications for each score from which the tensor core bounds a loop,
/// so that the products of query tiles take turns: an SM does 4096
/// multiplications and 16 exponentials per clock. SMs with 32 exponentials per
/// clock have the same order; another one was not modeled.
constexpr int64_t multiplicationsOfTurns = 4096 / 16;

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_TURNS_H

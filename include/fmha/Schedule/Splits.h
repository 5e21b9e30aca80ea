//===- Splits.h - KV blocks shared out to several CTAs ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_SPLITS_H
#define FMHA_SCHEDULE_SPLITS_H

#include "fmha/Schedule/Schedule.h"

namespace fmha::schedule {

/// More parts than this are more to combine than there is to compute.
constexpr unsigned mostSplits = 256;

/// What the kernel of `schedule` computes: the problem, or parts of it.
Problem kernelProblem(const Problem &problem, const Schedule &schedule);

struct SplitChoice {
  unsigned splits = 1;
  /// Why, in a sentence; empty where nothing is known of the launch.
  std::string reason;
};

/// How many CTAs are to share the KV blocks of a row block, by what the hints
/// say of the launch. The rule of the field (FlashAttention's and FlashInfer's
/// heuristics, in short): none where the CTAs fill the GPU or a row block has
/// at most 4 KV blocks, else as many as fill it, and no more than blocks.
SplitChoice chooseSplits(const Problem &problem, const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_SPLITS_H

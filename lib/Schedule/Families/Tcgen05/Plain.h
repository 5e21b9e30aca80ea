//===- Plain.h - Problems without further features --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_FAMILIES_TCGEN05_PLAIN_H
#define FMHA_LIB_SCHEDULE_FAMILIES_TCGEN05_PLAIN_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// 50 MB, as FlashAttention-4 uses; the L2 of a B200 has 126 MB. This was not
/// measured.
inline constexpr uint64_t bytesOfKeysInL2 = 50 << 20;

/// Returns whether a problem has no feature but a causal mask and an LSE, and
/// both head dims are equal and at most 128. Loops over tiles were modeled for
/// such kernels (results/blackwell-ahead-2026-11-29.md); with a window ptxas
/// 13.0 spills 144 bytes of one of them (sm_103a, head dim 64, f16, an LSE).
inline bool isPlain(const Problem &problem) {
  constexpr unsigned widest = 128;
  Problem plain;
  plain.dtype = problem.dtype;
  plain.headDim = plain.headDimV = problem.headDim;
  plain.mask = problem.mask;
  plain.lse = problem.lse;
  bool isWindow = problem.mask.left || problem.mask.right;
  return problem.headDim <= widest && !isWindow &&
         withoutHints(problem) == plain;
}

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_FAMILIES_TCGEN05_PLAIN_H

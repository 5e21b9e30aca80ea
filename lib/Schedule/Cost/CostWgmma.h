//===- CostWgmma.h - Measured clocks of wgmma kernels -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unlike those of tensor memory, these clocks were fitted to launches: 3048 of
// them on an H200 (`benchmark/hopper.py search`, 2026-11-22: head dims 64, 128
// and 256, causal and not, lengths 512 to 16384, all candidates with a ring of
// two blocks), with weight on those near the fastest; one constant was then
// adjusted by hand, within 3 %, where two candidates were equal in the model.
// Those of several CTAs per SM were fitted separately, to 360 launches
// (2026-11-23). The mean error of the planner's choices is 2 % (results).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_COST_COSTWGMMA_H
#define FMHA_LIB_SCHEDULE_COST_COSTWGMMA_H

#include "fmha/Schedule/Cost/Estimate.h"

namespace fmha::schedule {

/// Clocks of a KV block: of one consumer alone on the SM, and of all of a CTA,
/// or its share if an SM has several CTAs. The waits of the first pass once,
/// while others work; the time of the units adds up over consumers.
struct WgmmaBlock {
  double alone, all;
};
WgmmaBlock wgmmaBlock(const KernelModel &kernel, double mma,
                      double exponentials);

/// Returns the clocks of a launch from those of a block.
double wgmmaLaunch(const KernelModel &kernel, const Cost &cost,
                   const Workload &workload, const Blocks &blocks, double heads,
                   double sms);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_COST_COSTWGMMA_H

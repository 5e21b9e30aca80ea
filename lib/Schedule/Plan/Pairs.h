//===- Pairs.h - Whether two CTAs share each product ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair of CTAs is not a level of the tree for two query tiles: it halves the
// operands that products read from shared memory, which decides nothing as long
// as the chain of a tile does. So the best schedule of pairs is compared with
// the best one of single CTAs by the clocks of the softmax that was read
// (Cost::ordered), of whole launches if the hints give them. A pair goes
// through the blocks that any of its rows sees, and its loop was not compared
// where a mask hides some: kernels with a mask have pairs on request.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_PLAN_PAIRS_H
#define FMHA_LIB_SCHEDULE_PLAN_PAIRS_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// Replaces `plan`, whose CTAs are single, by that of pairs if that gains
/// enough, unless `overrides` fix cta_group.
void pairWhereWorthIt(const Problem &problem, std::string_view target,
                      Overrides overrides, Plan &plan);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_PLAN_PAIRS_H

//===- Relax.h - The smallest change that makes a plan possible -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_PLAN_RELAX_H
#define FMHA_LIB_SCHEDULE_PLAN_RELAX_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// plan() without proposals.
std::optional<Plan> planStrictly(const Problem &problem,
                                 std::string_view target,
                                 const Overrides &overrides,
                                 std::string &error);

/// Returns changes that help if nothing can be planned: "kv_stages = 5, or
/// q_tiles = 1", up to three fields whose change alone helps, each with the
/// value nearest to the requested one; every proposal has been planned.
/// Overrides come first (those that alter a kernel least before the rest), then
/// overrides that have to change together ("q_tile_rows = 64 and kv_stages =
/// 2"), since the problem is given, then head dims (padding upwards before
/// downwards), then both ("v_stages = 0 and head_dim = head_dim_v = 1152"),
/// then the target. Returns nothing if none of that helps.
///
/// Values are tried one by one, since those that can be planned are not an
/// interval: fewer than 1200 plans, usually a few.
std::optional<std::string> closestChange(const Problem &problem,
                                         std::string_view target,
                                         const Overrides &overrides);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_PLAN_RELAX_H

//===- Relax.h - The smallest change that makes a plan possible -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RELAX_H
#define FMHA_LIB_SCHEDULE_RELAX_H

#include "fmha/Schedule/Schedule.h"

namespace fmha::schedule {

/// plan() without advice.
std::optional<Plan> planStrictly(const Problem &problem,
                                 std::string_view target,
                                 const Overrides &overrides,
                                 std::string &error);

/// Where nothing can be planned: "kv_stages = 5", the one field that has to
/// change and the value closest to what was asked for, trying overrides (what
/// alters a kernel least first), then head dims (padding upwards before
/// downwards), then the target. Nothing if no single change helps.
std::optional<std::string> closestChange(const Problem &problem,
                                         std::string_view target,
                                         const Overrides &overrides);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_RELAX_H

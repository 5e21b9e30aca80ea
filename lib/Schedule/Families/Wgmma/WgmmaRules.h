//===- WgmmaRules.h - Registers of schedules with wgmma ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_FAMILIES_WGMMA_WGMMARULES_H
#define FMHA_LIB_SCHEDULE_FAMILIES_WGMMA_WGMMARULES_H

#include "Rules/CheckRules.h"

namespace fmha::schedule {

/// Returns the consumers of a CTA: one for each query tile, or several that
/// share the columns of O of one tile.
unsigned consumersOf(const Schedule &s);
/// Returns the registers per thread of a consumer in the planner's roles.
unsigned consumerRegisters(const Schedule &s);
/// Checks that S, O and P fit them.
Violation checkAccumulators(const Case &c);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_FAMILIES_WGMMA_WGMMARULES_H

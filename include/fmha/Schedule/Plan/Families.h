//===- Families.h - The family that a plan takes ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_PLAN_FAMILIES_H
#define FMHA_SCHEDULE_PLAN_FAMILIES_H

#include "fmha/Schedule/Model/Schedule.h"

#include <string_view>

namespace fmha::schedule {

class Overrides;

/// Returns the family that `overrides` names. Otherwise returns plain threads
/// if they are faster for the launch, or if tensor cores might not append its
/// new keys (plan.C8), or the first family that serves the
/// target and takes the types of the problem.
FamilyKind chooseFamily(const Problem &problem, std::string_view target,
                        const Overrides &overrides);

/// Returns whether every CTA reads new keys from key_new, so that one of them
/// may append for all; otherwise a CTA has all rows that see a new key.
bool readsNewKeys(const Schedule &schedule);

/// Returns whether the family that would be chosen without new keys has kernels
/// that append them in this launch, as far as it is known. For caches of 8
/// bits, which fmha.append does not take, returns whether any family has.
bool appendsNewKeys(const Problem &problem, std::string_view target,
                    const Overrides &overrides);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_PLAN_FAMILIES_H

//===- Check.h - Subsets of the rules of check() ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the planner, which checks thousands of schedules: only the rules that the
// fields chosen so far determine.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RULES_CHECK_H
#define FMHA_LIB_SCHEDULE_RULES_CHECK_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// A set of the rules of check() by their numbers.
using Rules = unsigned;
constexpr Rules rule(unsigned number) { return 1u << number; }
/// All rules but those of roles, which the planner's own roles satisfy.
constexpr Rules rulesWithoutRoles = rule(9) - rule(1);

struct RuleViolation {
  std::string text;
  unsigned rule = 0;
  /// Index of the rule in the order of check(): a schedule with a higher one
  /// satisfies more rules.
  unsigned place = 0;
};

/// Returns the first of `rules` that `schedule` violates, in the order of
/// check(). With `terse` the text may be the rule's id alone.
std::optional<RuleViolation> firstViolation(const Problem &problem,
                                            const Schedule &schedule,
                                            Rules rules, bool terse = false);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_RULES_CHECK_H

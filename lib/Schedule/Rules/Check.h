//===- Check.h - Some of the rules of check() -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the planner, which asks about thousands of schedules: only what the
// fields that it has decided so far settle.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RULES_CHECK_H
#define FMHA_LIB_SCHEDULE_RULES_CHECK_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// A set of the rules of check() by their numbers.
using Rules = unsigned;
constexpr Rules rule(unsigned number) { return 1u << number; }
/// All but those of roles, which the planner's own keep.
constexpr Rules rulesWithoutRoles = rule(9) - rule(1);

struct Refusal {
  std::string text;
  unsigned rule = 0;
  /// Place among the rules in the order of check(): a schedule that is refused
  /// later has kept more of them.
  unsigned place = 0;
};

/// The first of `rules` that `schedule` breaks, in the order of check(). With
/// `terse` the text may say no more than the rule's number.
std::optional<Refusal> refusal(const Problem &problem, const Schedule &schedule,
                               Rules rules, bool terse = false);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_RULES_CHECK_H

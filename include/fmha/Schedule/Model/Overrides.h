//===- Overrides.h - The fields that a person may fix -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list for flags of tools, options of passes, keywords of Python, and the
// planner itself. P placement, which has a value "auto" of its own, stands
// apart.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_OVERRIDES_H
#define FMHA_SCHEDULE_MODEL_OVERRIDES_H

#include "fmha/Schedule/Model/Schedule.h"

#include <span>

namespace fmha::schedule {

struct ScheduleField {
  Choice choice;
  /// "kv_stages" in #fmha.schedule, "kv-stages" on command lines.
  std::string_view name;
  std::string flag;
  std::string_view help;
  /// The largest value that parse() takes; rules may say less.
  unsigned most;
  /// 0 is a choice of its own ("all of it"), not the lack of one.
  bool zeroChooses;
  /// Values are 0 and 1, spelled false and true.
  bool isSwitch;
  /// Heads of a group: "on" stands for all of them, "off" for 1.
  bool isPacking;
  /// How values from 0 on are spelled; empty for numbers.
  std::span<const std::string_view> words;
  unsigned (*get)(const Schedule &);
  void (*set)(Schedule &, unsigned);

  /// The word of a switch or a choice, "on" for the whole group, digits for a
  /// number.
  std::string print(unsigned value) const;
  /// Takes what print() gives, or "auto" for no value; false if `text` is
  /// neither, or is out of range.
  bool parse(std::string_view text, std::optional<unsigned> &value) const;
  /// Fixes the field in `overrides` instead.
  bool parse(std::string_view text, Overrides &overrides) const;
  /// What parse() takes: "auto or a number from 1 to 65536".
  std::string expected() const;
};

/// All of them, those whose change alters a kernel least first.
std::span<const ScheduleField> scheduleFields();

/// "q_tiles = 2, kv_block = 128": all that is fixed; "" for nothing.
std::string print(const Overrides &overrides);

/// "name = value" of the first field that `overrides` fixes and `schedule` has
/// otherwise, as the schedule has it and as it is asked for.
struct Contradiction {
  std::string name, flag, got, wanted;
};
std::optional<Contradiction> contradiction(const Schedule &schedule,
                                           const Overrides &overrides);

/// What would have to change of a schedule that check() refuses: "kv_stages =
/// 5, or q_tiles = 1", each with the value nearest to that of the schedule.
/// Nothing if anything but fields and head dims is to blame.
std::optional<std::string> closestChange(const Problem &problem,
                                         const Schedule &schedule);

/// Puts what closestChange() found at the end of the refusal `error`, in place
/// of what the rule proposes: that keeps the rule, this keeps all.
void propose(const std::string &change, std::string &error);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_OVERRIDES_H

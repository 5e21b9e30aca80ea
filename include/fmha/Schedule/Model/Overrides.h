//===- Overrides.h - The fields that a user may fix -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list for flags of tools, options of passes, keywords of Python, and the
// planner itself. P placement is separate, since its type has the value "auto".
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
  /// The largest value that parse() accepts; rules may permit less.
  unsigned most;
  /// 0 is a value ("all"), not the absence of one.
  bool zeroChooses;
  /// Values are 0 and 1, spelled false and true.
  bool isSwitch;
  /// Heads of a group: "on" means all of them, "off" means 1.
  bool isPacking;
  /// The spellings of the values from 0 on; empty for numbers.
  std::span<const std::string_view> words;
  /// The accepted values, for help: "auto|N", "auto|on|off|N" or the words.
  std::string values;
  unsigned (*get)(const Schedule &);
  void (*set)(Schedule &, unsigned);

  /// Returns the name of a switch's or an enumerator's value, "on" for the
  /// whole group, digits for a number.
  std::string print(unsigned value) const;
  /// Parses what print() returns, or "auto" for no value. Returns false if
  /// `text` is neither, or is out of range.
  bool parse(std::string_view text, std::optional<unsigned> &value) const;
  /// Parses a value and fixes the field in `overrides`.
  bool parse(std::string_view text, Overrides &overrides) const;
  /// Describes the accepted values: "auto or a number from 1 to 65536".
  std::string expected() const;
};

/// Returns all fields, those whose change alters a kernel least first.
std::span<const ScheduleField> scheduleFields();

/// Returns all fixed fields, "q_tiles = 2, kv_block = 128"; "" for none.
std::string print(const Overrides &overrides);

/// Returns the overrides that permit only `schedule`.
Overrides fixAll(const Schedule &schedule);

/// Returns the fields of `schedule` that `other` has other values of:
/// "kv_block = 64, kv_stages = 4"; "" for none.
std::string differences(const Schedule &schedule, const Schedule &other);

/// "name = value" of the first field that `overrides` and `schedule` disagree
/// about, with the value of each.
struct Contradiction {
  std::string name, flag, got, wanted;
};
std::optional<Contradiction> contradiction(const Schedule &schedule,
                                           const Overrides &overrides);

/// Returns the changes that make a schedule acceptable to check(): "kv_stages =
/// 5, or q_tiles = 1", each with the value nearest to that of the schedule.
/// Returns nothing if the cause is neither a field nor a head dim.
std::optional<std::string> closestChange(const Problem &problem,
                                         const Schedule &schedule);

/// Replaces the proposal of the violated rule at the end of `error` by
/// `change`, which satisfies all rules and not that one alone.
void propose(const std::string &change, std::string &error);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_OVERRIDES_H

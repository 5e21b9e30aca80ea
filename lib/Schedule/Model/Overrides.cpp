//===- Overrides.cpp - The fields that a user may fix -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/Overrides.h"

#include <algorithm>

using namespace fmha::schedule;

namespace {

/// The permitted values of a field.
struct Values {
  unsigned most;
  bool zeroChooses = true, isPacking = false;
  std::span<const std::string_view> words = {};
};

/// Above any field of a schedule, and small enough that no product overflows.
constexpr unsigned mostOfField = 1 << 16;

constexpr Values positive(unsigned most = mostOfField) {
  return {most, /*zeroChooses=*/false};
}
constexpr Values fromZero(unsigned most = mostOfField) { return {most}; }
/// Returns the values of a number of heads in a group.
constexpr Values heads() {
  return {mostOfField, /*zeroChooses=*/false, /*isPacking=*/true};
}
constexpr Values oneOf(std::span<const std::string_view> words) {
  return {mostOfField, true, false, words};
}

template <auto Field> unsigned get(const Schedule &schedule) {
  return unsigned(schedule.*Field);
}
template <auto Field> void set(Schedule &schedule, unsigned value) {
  using Type = std::remove_reference_t<decltype(schedule.*Field)>;
  schedule.*Field = Type(value);
}

std::string listed(const Values &values) {
  if (values.words.empty())
    return values.isPacking ? "auto|on|off|N" : "auto|N";
  std::string list = "auto";
  for (std::string_view word : values.words)
    list += "|" + std::string(word);
  return list;
}

template <auto Field>
ScheduleField fieldOf(Choice choice, std::string_view name,
                      std::string_view help, const Values &values) {
  bool isSwitch = values.words.data() == switchNames;
  return {choice,       name,
          flagOf(name), help,
          values.most,  values.zeroChooses,
          isSwitch,     values.isPacking,
          values.words, listed(values),
          get<Field>,   set<Field>};
}

constexpr unsigned impacts[] = {
#define FMHA_CHOICE(choice, impact, ...) impact,
#include "fmha/Schedule/Model/Fields.def"
};

/// Returns all fields in the order of their enumerators.
const std::vector<ScheduleField> &fieldsByChoice() {
  static const std::vector<ScheduleField> fields = {
#define FMHA_CHOICE(choice, impact, type, member, name, value, values, help)   \
  fieldOf<&Schedule::member>(Choice::choice, name, help, values),
#include "fmha/Schedule/Model/Fields.def"
  };
  return fields;
}

} // namespace

std::optional<unsigned> Overrides::operator[](Choice choice) const {
  if (!fixed[unsigned(choice)])
    return std::nullopt;
  return fieldsByChoice()[unsigned(choice)].get(wanted);
}

Overrides &Overrides::fix(Choice choice, std::optional<unsigned> value) {
  const ScheduleField &field = fieldsByChoice()[unsigned(choice)];
  fixed[unsigned(choice)] = value.has_value();
  field.set(wanted, value ? *value : field.get(Schedule()));
  return *this;
}

std::string ScheduleField::print(unsigned value) const {
  if (value < words.size())
    return std::string(words[value]);
  if (isPacking && value == Overrides::wholeGroup)
    return "on";
  return std::to_string(value);
}

bool ScheduleField::parse(std::string_view text,
                          std::optional<unsigned> &value) const {
  value.reset();
  if (text == "auto")
    return true;
  if (!words.empty()) {
    auto word = std::find(words.begin(), words.end(), text);
    if (word != words.end())
      value = unsigned(word - words.begin());
    return value.has_value();
  }
  if (isPacking && (text == "on" || text == "off")) {
    value = text == "on" ? Overrides::wholeGroup : 1;
    return true;
  }
  unsigned number = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9')
      return false;
    number = std::min(10 * number + unsigned(digit - '0'), most + 1);
  }
  if (text.empty() || number > most || (number == 0 && !zeroChooses))
    return false;
  value = number;
  return true;
}

bool ScheduleField::parse(std::string_view text, Overrides &overrides) const {
  std::optional<unsigned> value;
  bool taken = parse(text, value);
  if (taken)
    overrides.fix(choice, value);
  return taken;
}

std::string ScheduleField::expected() const {
  if (!words.empty()) {
    std::string list = "auto";
    for (std::string_view word : words)
      list += " or " + std::string(word);
    return list;
  }
  return std::string(isPacking ? "auto, on, off" : "auto") +
         " or a number from " + (zeroChooses ? "0" : "1") + " to " +
         std::to_string(most);
}

std::span<const ScheduleField> fmha::schedule::scheduleFields() {
  static const std::vector<ScheduleField> fields = [] {
    std::vector<ScheduleField> sorted = fieldsByChoice();
    std::ranges::sort(sorted, {}, [](const ScheduleField &field) {
      return impacts[unsigned(field.choice)];
    });
    return sorted;
  }();
  return fields;
}

std::string fmha::schedule::print(const Overrides &overrides) {
  std::string text;
  auto add = [&](std::string_view name, std::string_view value) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " = ";
    text += value;
  };
  for (const ScheduleField &field : scheduleFields())
    if (std::optional<unsigned> wanted = overrides[field.choice])
      add(field.name, field.print(*wanted));
  if (overrides.pPlacement != PPlacement::Auto)
    add("p_placement", stringify(overrides.pPlacement));
  return text;
}

Overrides fmha::schedule::fixAll(const Schedule &schedule) {
  Overrides overrides;
  for (const ScheduleField &field : scheduleFields())
    overrides.fix(field.choice, field.get(schedule));
  overrides.pPlacement = schedule.pPlacement;
  return overrides;
}

std::string fmha::schedule::differences(const Schedule &schedule,
                                        const Schedule &other) {
  Overrides differing;
  for (const ScheduleField &field : scheduleFields())
    if (field.get(schedule) != field.get(other))
      differing.fix(field.choice, field.get(schedule));
  if (schedule.pPlacement != other.pPlacement)
    differing.pPlacement = schedule.pPlacement;
  return print(differing);
}

std::optional<Contradiction>
fmha::schedule::contradiction(const Schedule &schedule,
                              const Overrides &overrides) {
  for (const ScheduleField &field : scheduleFields()) {
    std::optional<unsigned> wanted = overrides[field.choice];
    // The whole group: more than one head if its size is unknown.
    if (field.isPacking && wanted == Overrides::wholeGroup &&
        schedule.packHeads > 1)
      continue;
    if (wanted && *wanted != field.get(schedule))
      return Contradiction{std::string(field.name), std::string(field.flag),
                           field.print(field.get(schedule)),
                           field.print(*wanted)};
  }
  if (overrides.pPlacement == PPlacement::Auto ||
      overrides.pPlacement == schedule.pPlacement)
    return std::nullopt;
  return Contradiction{"p_placement", "p-placement",
                       std::string(stringify(schedule.pPlacement)),
                       std::string(stringify(overrides.pPlacement))};
}

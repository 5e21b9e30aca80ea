//===- RegisterDemand.cpp - The rows of RegisterDemand.def ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Rules/RegisterDemand.h"

#include "CheckRules.h"
#include "DemandTable.h"

#include "fmha/Schedule/Model/Overrides.h"

#include <algorithm>
#include <iterator>

using namespace fmha;
using namespace fmha::schedule;
using namespace fmha::schedule::demand;

//===----------------------------------------------------------------------===//
// Quantities
//===----------------------------------------------------------------------===//

unsigned demand::tensorsPerKey(const Problem &problem) {
  unsigned matrices = 0;
  for (const Capture &capture : problem.captures)
    matrices += capture.rank > 1;
  return std::max(matrices, problem.captures.size() > 1 ? 2u : 1u);
}

namespace {

struct QuantityInfo {
  std::string_view text;
  std::string_view (*field)(const Schedule &s);
  unsigned (*value)(const Problem &p, const Schedule &s);
};

constexpr QuantityInfo quantities[] = {
#define FMHA_QUANTITY(NAME, FIELD, TEXT, VALUE)                                \
  {TEXT,                                                                       \
   []([[maybe_unused]] const Schedule &s) -> std::string_view {                \
     return FIELD;                                                             \
   },                                                                          \
   []([[maybe_unused]] const Problem &p,                                       \
      [[maybe_unused]] const Schedule &s) -> unsigned { return VALUE; }},
#include "fmha/Schedule/Rules/RegisterDemand.def"
};

const QuantityInfo &infoOf(Quantity quantity) {
  return quantities[unsigned(quantity)];
}

/// Returns "static" or "112".
std::string printValue(std::string_view name, unsigned value) {
  for (const ScheduleField &field : scheduleFields())
    if (field.name == name)
      return field.print(value);
  if (name == "p_placement")
    return std::string(stringify(PPlacement(value)));
  return str(value);
}

void replace(std::string &text, char mark, const std::string &by) {
  if (size_t at = text.find(mark); at != std::string::npos)
    text.replace(at, 1, by);
}

} // namespace

unsigned Term::actual(const Problem &problem, const Schedule &schedule) const {
  return infoOf(quantity).value(problem, schedule);
}

bool Term::holds(const Problem &problem, const Schedule &schedule) const {
  unsigned found = actual(problem, schedule);
  switch (comparison) {
  case Comparison::Above:
    return found > value;
  case Comparison::AtMost:
    return found <= value;
  case Comparison::Equal:
    return found == value;
  }
  return false;
}

std::string_view Term::field(const Schedule &schedule) const {
  return infoOf(quantity).field(schedule);
}

std::string Term::feature(const Problem &problem,
                          const Schedule &schedule) const {
  static constexpr std::string_view words[] = {"above ", "of at most ", "= "};
  std::string text(infoOf(quantity).text);
  bool isNumber = text.find('#') != std::string::npos;
  if (!isNumber && comparison == Comparison::AtMost)
    return "";
  replace(text, '#', std::string(words[unsigned(comparison)]) + str(value));
  replace(text, '@', printValue(field(schedule), actual(problem, schedule)));
  return text;
}

std::string Term::request(const Schedule &schedule) const {
  std::string name(field(schedule));
  // For values of 0 and 1 "at most" means one value.
  bool isOne = comparison == Comparison::Equal || value <= 1;
  return name + (isOne ? " = " : " of at most ") + printValue(name, value);
}

std::string Term::got(const Problem &problem, const Schedule &schedule) const {
  return printValue(field(schedule), actual(problem, schedule));
}

std::string Term::opposite(const Schedule &schedule) const {
  std::string name(field(schedule));
  bool has = !name.empty() && comparison == Comparison::Above && value <= 1;
  return has ? name + " = " + printValue(name, value) : "";
}

bool Condition::holds(const Problem &problem, const Schedule &schedule) const {
  return std::ranges::all_of(
      all(), [&](const Term &term) { return term.holds(problem, schedule); });
}

bool Condition::needsLoop() const {
  return std::ranges::any_of(all(), [](const Term &term) {
    return term.quantity == Quantity::scheduler &&
           term.comparison == Comparison::Above;
  });
}

std::string Condition::features(const Problem &problem,
                                const Schedule &schedule) const {
  std::vector<std::string> texts;
  for (const Term &term : all())
    if (std::string text = term.feature(problem, schedule); !text.empty())
      texts.push_back(text);
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i)
    joined += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
  return joined;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

using enum Quantity;

/// Returns the family that a row names, null for any.
constexpr const Family *pointerTo(const Family &family) { return &family; }
constexpr std::nullptr_t anyFamily = nullptr;
constexpr const Family *pointerTo(std::nullptr_t) { return nullptr; }

constexpr LimitRow limits[] = {
#define FMHA_LIMIT(NAME, FAMILY, ROLE, WHEN, LIMIT, SPILLED, EVIDENCE)         \
  {{#NAME, pointerTo(FAMILY##Family), WHEN, SPILLED, EVIDENCE}, ROLE, LIMIT},
#include "fmha/Schedule/Rules/RegisterDemand.def"
};

constexpr ReserveRow reserves[] = {
#define FMHA_RESERVE(NAME, FAMILY, PURPOSE, WHEN, REGISTERS, SPILLED,          \
                     EVIDENCE)                                                 \
  {{#NAME, pointerTo(FAMILY##Family), WHEN, SPILLED, EVIDENCE},                \
   Purpose::PURPOSE,                                                           \
   []([[maybe_unused]] int scores) -> int { return REGISTERS; }},
#include "fmha/Schedule/Rules/RegisterDemand.def"
};

constexpr WorkaroundRow workarounds[] = {
#define FMHA_WORKAROUND(NAME, WORKAROUND, FAMILY, WHEN, SPILLED, EVIDENCE)     \
  {{#NAME, pointerTo(FAMILY##Family), WHEN, SPILLED, EVIDENCE},                \
   Workaround::WORKAROUND},
#include "fmha/Schedule/Rules/RegisterDemand.def"
};

/// Calls `visit` with each row and the rule or pass that reads it.
template <typename Visit> void forEachRow(Visit visit) {
  for (const LimitRow &row : limits)
    visit(row, "plan.C8");
  for (const ReserveRow &row : reserves)
    visit(row, "plan.C2");
  for (const WorkaroundRow &row : workarounds)
    visit(row, "workaround");
}

/// Rows ignored in this process, set by a developer before anything is planned.
std::vector<std::string_view> &ignored() {
  static std::vector<std::string_view> names;
  return names;
}

} // namespace

std::span<const LimitRow> demand::limitRows() { return limits; }
std::span<const ReserveRow> demand::reserveRows() { return reserves; }

bool Row::applies(const Problem &problem, const Schedule &schedule) const {
  return when.holds(problem, schedule) &&
         std::ranges::find(ignored(), name) == ignored().end();
}

bool demand::needs(Workaround what, const Problem &problem,
                   const Schedule &schedule) {
  const Family &family = familyOf(schedule);
  return std::ranges::any_of(workarounds, [&](const WorkaroundRow &row) {
    return row.workaround == what && row.isOf(family) &&
           row.applies(problem, schedule);
  });
}

bool demand::ignoreRow(std::string_view name, bool ignore) {
  bool found = false;
  forEachRow([&](const Row &row, std::string_view) {
    if (row.name != name)
      return;
    found = true;
    std::erase(ignored(), name);
    if (ignore)
      ignored().push_back(row.name);
  });
  return found;
}

std::string demand::ignoredRows() {
  std::string names;
  for (std::string_view name : ignored())
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::string demand::listRows() {
  std::string text;
  forEachRow([&](const Row &row, std::string_view reader) {
    std::string_view family = row.family ? row.family->name : "any";
    for (std::string_view column : {row.name, reader, family})
      text += std::string(column) + '\t';
    text += str(row.spilled) + '\t' + std::string(row.evidence) + '\n';
  });
  return text;
}

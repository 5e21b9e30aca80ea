//===- Facts.h - What is so of a problem, or not ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts.def as a struct and as a table. The planner, manifests and their
// readers, and the options of merges all have this struct.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_FACTS_H
#define FMHA_SCHEDULE_MODEL_FACTS_H

#include <string>
#include <string_view>

namespace fmha::schedule {

/// Facts.def says what each of them is.
struct Facts {
#define FMHA_FACT(kind, member, ...) bool member = false;
#include "fmha/Schedule/Model/Facts.def"

  bool operator==(const Facts &) const = default;
};

/// Facts.def describes the kinds.
enum class FactKind { Row, List, FloatList, Switch, Implied, Internal };

struct Fact {
  FactKind kind;
  const char *name;
  bool Facts::*there;
  bool ofMerge;
  const char *help;

  /// Whether it comes with a tensor of that name.
  constexpr bool isTensor() const { return isRow() || isList(); }
  constexpr bool isRow() const { return kind == FactKind::Row; }
  constexpr bool isList() const {
    return kind == FactKind::List || kind == FactKind::FloatList;
  }
  /// Whether an attribute of the op states it: that V lies in K, operands say.
  constexpr bool isAttribute() const {
    return kind == FactKind::Switch && there != &Facts::vInK;
  }
  /// Whether launch manifests state it.
  constexpr bool isStated() const { return kind != FactKind::Internal; }
};

inline constexpr Fact facts[] = {
#define FMHA_FACT(kind, member, name, value, ofMerge, help)                    \
  {FactKind::kind, name, &Facts::member, ofMerge, help},
#include "fmha/Schedule/Model/Facts.def"
};

/// The fact of that name, or null.
constexpr const Fact *findFact(std::string_view name) {
  for (const Fact &fact : facts)
    if (name == fact.name)
      return &fact;
  return nullptr;
}

/// "kv_lens" as command lines spell it, "kv-lens".
inline std::string flagOf(std::string_view name) {
  std::string flag(name);
  for (char &letter : flag)
    letter = letter == '_' ? '-' : letter;
  return flag;
}

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_FACTS_H

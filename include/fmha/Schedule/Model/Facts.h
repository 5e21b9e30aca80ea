//===- Facts.h - Boolean properties of a problem ----------------*- C++ -*-===//
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

/// Facts.def describes each member.
struct Facts {
#define FMHA_FACT(kind, member, ...) bool member = false;
#include "fmha/Schedule/Model/Facts.def"

  bool operator==(const Facts &) const = default;
};

/// Facts.def describes the kinds.
enum class FactKind {
  Row,
  List,
  Table,
  QueryTable,
  BlockCounts,
  BlockLists,
  FloatList,
  Switch,
  Implied,
  Internal
};

struct Fact {
  FactKind kind;
  const char *name;
  bool Facts::*there;
  bool ofMerge;
  const char *help;

  /// Returns whether the fact has a tensor of the same name.
  constexpr bool isTensor() const { return isRow() || isList(); }
  constexpr bool isRow() const { return kind == FactKind::Row; }
  constexpr bool isList() const {
    return kind == FactKind::List || kind == FactKind::Table ||
           kind == FactKind::QueryTable || kind == FactKind::BlockCounts ||
           kind == FactKind::BlockLists || kind == FactKind::FloatList;
  }
  /// Returns whether an attribute of the op states it, and not its operands.
  constexpr bool isAttribute() const {
    return kind == FactKind::Switch && there != &Facts::vInK;
  }
  /// Returns whether launch manifests state it.
  constexpr bool isStated() const { return kind != FactKind::Internal; }
};

inline constexpr Fact facts[] = {
#define FMHA_FACT(kind, member, name, value, ofMerge, help)                    \
  {FactKind::kind, name, &Facts::member, ofMerge, help},
#include "fmha/Schedule/Model/Facts.def"
};

/// Returns the fact of that name, or null.
constexpr const Fact *findFact(std::string_view name) {
  for (const Fact &fact : facts)
    if (name == fact.name)
      return &fact;
  return nullptr;
}

/// Returns the spelling on command lines: "kv-lens" for "kv_lens".
inline std::string flagOf(std::string_view name) {
  std::string flag(name);
  for (char &letter : flag)
    letter = letter == '_' ? '-' : letter;
  return flag;
}

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_FACTS_H

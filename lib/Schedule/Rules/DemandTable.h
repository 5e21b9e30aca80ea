//===- DemandTable.h - Conditions and rows of RegisterDemand.def *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RULES_DEMANDTABLE_H
#define FMHA_LIB_SCHEDULE_RULES_DEMANDTABLE_H

#include "Families/Family.h"

#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Schedule/Rules/RegisterDemand.h"

#include <array>
#include <span>

namespace fmha::schedule::demand {

enum class Quantity : uint8_t {
#define FMHA_QUANTITY(NAME, FIELD, TEXT, VALUE) NAME,
#include "fmha/Schedule/Rules/RegisterDemand.def"
};

enum class Comparison : uint8_t { Above, AtMost, Equal };

/// "pack_heads is above 1".
struct Term {
  Quantity quantity = {};
  Comparison comparison = Comparison::Above;
  unsigned value = 0;

  constexpr Term() = default;
  /// The quantity is above 0.
  constexpr Term(Quantity quantity) : quantity(quantity) {}
  constexpr Term(Quantity quantity, Comparison comparison, unsigned value)
      : quantity(quantity), comparison(comparison), value(value) {}

  unsigned actual(const Problem &problem, const Schedule &schedule) const;
  bool holds(const Problem &problem, const Schedule &schedule) const;
  /// Returns the field of the schedule that sets it, "" if none does.
  std::string_view field(const Schedule &schedule) const;
  /// Returns the term as a feature of a kernel: "packed heads", "a head dim
  /// above 256"; "" for the absence of one.
  std::string feature(const Problem &problem, const Schedule &schedule) const;
  /// Returns the term as a request: "q_tiles = 1", "kv_block of at most 112".
  std::string request(const Schedule &schedule) const;
  /// Returns the actual value, as the field spells it.
  std::string got(const Problem &problem, const Schedule &schedule) const;
  /// Returns the request for the opposite, "" if no field sets it.
  std::string opposite(const Schedule &schedule) const;
};

constexpr Term operator>(Quantity quantity, unsigned value) {
  return {quantity, Comparison::Above, value};
}
constexpr Term operator<=(Quantity quantity, unsigned value) {
  return {quantity, Comparison::AtMost, value};
}
constexpr Term operator==(Quantity quantity, unsigned value) {
  return {quantity, Comparison::Equal, value};
}

/// A conjunction of terms.
struct Condition {
  static constexpr size_t most = 5;
  std::array<Term, most> terms = {};
  size_t count = 0;

  std::span<const Term> all() const { return std::span(terms).first(count); }
  bool holds(const Problem &problem, const Schedule &schedule) const;
  /// Returns whether the condition requires a loop over tiles.
  bool needsLoop() const;
  /// Returns "packed heads, varlen metadata and a score_mod that reads".
  std::string features(const Problem &problem, const Schedule &schedule) const;
};

template <typename... Terms> constexpr Condition all(Terms... terms) {
  static_assert(sizeof...(terms) <= Condition::most);
  return {{Term(terms)...}, sizeof...(terms)};
}

/// Uses of a wgmma consumer's registers. Those from HeldLong on hold values of
/// a score region, at most as many as S has.
enum class Purpose : uint8_t {
  Softmax,
  MovingP,
  Code,
  CodeBesideWideScores,
  Reads,
  Long,
  LongReads,
  HeldLong,
  HeldVectors,
};
constexpr unsigned purposes = unsigned(Purpose::HeldVectors) + 1;

/// The common part of all rows.
struct Row {
  std::string_view name;
  /// Null for all families.
  const Family *family;
  Condition when;
  /// Bytes that ptxas spills of the evidence without the row.
  unsigned spilled;
  std::string_view evidence;

  bool isOf(const Family &other) const { return !family || family == &other; }
  /// Returns whether the row applies to this kernel of its family.
  bool applies(const Problem &problem, const Schedule &schedule) const;
};

struct LimitRow : Row {
  std::string_view role;
  Term limit;
};
struct ReserveRow : Row {
  Purpose purpose;
  int (*registers)(int scores);
};
struct WorkaroundRow : Row {
  Workaround workaround;
};

/// Returns the number of tensors that a score region reads per key: all
/// matrices, and one more if a vector (ALiBi) makes it necessary.
unsigned tensorsPerKey(const Problem &problem);

std::span<const LimitRow> limitRows();
std::span<const ReserveRow> reserveRows();

} // namespace fmha::schedule::demand

#endif // FMHA_LIB_SCHEDULE_RULES_DEMANDTABLE_H

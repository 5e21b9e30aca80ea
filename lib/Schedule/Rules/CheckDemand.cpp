//===- CheckDemand.cpp - Apply the limits of RegisterDemand.def -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rejects kernels that ptxas would spill, with a message that names a schedule
// that it does not spill.
//
//===----------------------------------------------------------------------===//

#include "CheckRules.h"
#include "DemandTable.h"

using namespace fmha;
using namespace fmha::schedule;
using namespace fmha::schedule::demand;

/// Returns "softmax needs 188 registers per thread, 184 are available".
/// Descriptors of products are in uniform registers, which belong to a warp.
static std::string shortage(const Case &c, const LimitRow &row) {
  constexpr unsigned bytes = sizeof(uint32_t);
  unsigned more = (row.spilled + bytes - 1) / bytes;
  if (row.role == "mma")
    return "the MMA role has too few uniform registers for descriptors";
  Schedule planned = c.schedule;
  planned.roles.clear();
  planned = withRoles(std::move(planned));
  const Role *role = planned.findRole(row.role);
  unsigned there = role ? role->registers : 0;
  std::string name(row.role);
  while (name.back() >= '0' && name.back() <= '9')
    name.pop_back();
  if (name == "consumer")
    name = "a consumer";
  return name + " needs " + str(there + more) + " registers per thread, " +
         str(there) + " are available";
}

/// Returns the message for a row: "expected q_tiles = 1 with packed heads,
/// where softmax needs 188 registers per thread, 184 are available (row
/// packedLists of RegisterDemand.def), got 2; take q_tiles = 1 or pack_heads =
/// 1".
static std::string reject(const Case &c, const LimitRow &row) {
  const Problem &p = c.problem;
  const Schedule &s = c.schedule;
  std::string limit = row.limit.request(s);
  std::vector<std::string> ways = {limit};
  for (const Term &term : row.when.all())
    if (std::string way = term.opposite(s); !way.empty())
      ways.push_back(way);
  std::string features = row.when.features(p, s);
  return "expected " + limit +
         (c.family.rules.limitsNameTarget ? " on " + s.target : "") +
         (features.empty() ? "" : " with " + features) + ", where " +
         shortage(c, row) + " (row " + std::string(row.name) +
         " of RegisterDemand.def), got " + row.limit.got(p, s) + "; take " +
         anyOf(ways);
}

static Violation checkRows(const Case &c, bool ofLoops) {
  for (const LimitRow &row : limitRows())
    if (row.isOf(c.family) && row.when.needsLoop() == ofLoops &&
        !row.limit.holds(c.problem, c.schedule) &&
        row.applies(c.problem, c.schedule))
      return c.terse ? "" : reject(c, row);
  return std::nullopt;
}

Violation fmha::schedule::checkDemand(const Case &c) {
  return checkRows(c, /*ofLoops=*/false);
}

Violation fmha::schedule::checkLoopDemand(const Case &c) {
  return checkRows(c, /*ofLoops=*/true);
}

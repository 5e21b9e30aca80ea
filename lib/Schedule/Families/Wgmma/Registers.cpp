//===- Registers.cpp - Registers of a consumer ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules/DemandTable.h"
#include "WgmmaRules.h"

#include <algorithm>
#include <array>

using namespace fmha;
using namespace fmha::schedule;
using demand::Purpose;

namespace {

/// 32-bit registers per thread. The scores of the next block are computed while
/// P of this one is multiplied, so S, O and P are live at once, together with
/// the values that a score region keeps per score.
struct WgmmaRegisters {
  unsigned scores, outputs, probabilities = 0, captured = 0;
  /// The registers of a consumer minus those that RegisterDemand.def reserves.
  unsigned there = 0;

  WgmmaRegisters(const Problem &problem, const Schedule &s);
  unsigned all() const { return scores + outputs + probabilities + captured; }
};

} // namespace

/// Returns the largest row of each purpose.
static std::array<int, demand::purposes>
reservedFor(const Problem &problem, const Schedule &s, unsigned scores) {
  std::array<int, demand::purposes> reserved = {};
  for (const demand::ReserveRow &row : demand::reserveRows()) {
    if (!row.isOf(wgmmaFamily) || !row.applies(problem, s))
      continue;
    int &most = reserved[unsigned(row.purpose)];
    int registers = row.registers(int(scores));
    most = most ? std::max(most, registers) : registers;
  }
  return reserved;
}

WgmmaRegisters::WgmmaRegisters(const Problem &problem, const Schedule &s) {
  constexpr unsigned threadsOfRowPair = 4;
  scores = s.kvBlock * 2 / threadsOfRowPair;
  outputs = consumerColumns(problem, s) * 2 / threadsOfRowPair;
  if (s.pPlacement == PPlacement::Registers)
    probabilities = scores / 2;
  if (problem.scoreByKey)
    captured = scores * demand::tensorsPerKey(problem);
  int left = int(consumerRegisters(s));
  std::array<int, demand::purposes> reserved = reservedFor(problem, s, scores);
  for (unsigned purpose = 0; purpose < reserved.size(); ++purpose)
    if (Purpose(purpose) < Purpose::HeldLong)
      left -= reserved[purpose];
    else
      captured += reserved[purpose];
  there = unsigned(std::max(left, 0));
}

/// Proposes head_dim_v tiles of `columns`, without a loop if plan.C8 rejects
/// it.
static std::string passesOf(const Schedule &s, unsigned columns) {
  bool loops = s.scheduler != Scheduler::Single;
  bool sharesSm = s.qTiles > 1 || s.ctasPerSm > 1;
  return "o_columns of at most " + str(columns) +
         (loops && sharesSm ? " with the scheduler single" : "");
}

/// Returns the registers that each thread starts with in a CTA of `consumers`
/// consumers, the warpgroup of loads and, if there is one, that of conversions.
static unsigned atLaunch(const Schedule &s, unsigned consumers,
                         unsigned ctasPerSm) {
  constexpr unsigned group = 128;
  unsigned others = s.kvCopy == KvCopy::Convert ? 2 : 1;
  return registersAtLaunch((others + consumers) * group, ctasPerSm);
}

/// Returns the largest accumulator: ptxas 13.0 compiles a CTA for the registers
/// that its threads start with, and needs 30 of them in addition to an
/// accumulator.
static unsigned mostAccumulators(const Schedule &s, unsigned consumers,
                                 unsigned ctasPerSm) {
  constexpr unsigned others = 30;
  return atLaunch(s, consumers, ctasPerSm) - others;
}

static Violation checkWidest(const Schedule &s, const WgmmaRegisters &sizes) {
  constexpr unsigned panel = 64, step = 16;
  unsigned consumers = consumersOf(s);
  unsigned most = mostAccumulators(s, consumers, s.ctasPerSm);
  unsigned widest = std::max(sizes.scores, sizes.outputs);
  if (widest <= most)
    return std::nullopt;
  std::vector<std::string> ways;
  if (s.ctasPerSm > 1)
    ways.push_back("fewer ctas_per_sm");
  else if (s.qTiles > 2 && widest <= mostAccumulators(s, 2, 1))
    ways.push_back("two query tiles");
  else if (s.qTiles == 2 && widest <= mostAccumulators(s, 1, 1))
    ways.push_back("one query tile");
  std::string narrower;
  if (sizes.outputs > most)
    narrower = passesOf(s, 2 * most / panel * panel);
  if (sizes.scores > most)
    narrower += (narrower.empty() ? "" : " and ") +
                ("kv_block of at most " + str(2 * most / step * step));
  ways.push_back(narrower);
  return "a thread starts with " + str(atLaunch(s, consumers, s.ctasPerSm)) +
         " registers where " +
         (s.ctasPerSm > 1  ? "an SM has " + str(s.ctasPerSm) + " CTAs"
          : consumers == 1 ? std::string("a CTA has one consumer")
                           : "a CTA has " + str(consumers) + " consumers") +
         (s.kvCopy == KvCopy::Convert ? " and a warpgroup that converts" : "") +
         ", of which ptxas leaves " + str(most) + " to S or O, got " +
         str(widest) + " (one for each 2 columns); take " + anyOf(ways);
}

/// Proposes changes that leave a consumer more registers.
static std::vector<std::string> waysToFit(const Case &c, unsigned outputs) {
  constexpr unsigned panel = 64;
  std::vector<std::string> ways;
  if (c.schedule.qTiles == 3)
    ways.push_back("two query tiles");
  else if (c.schedule.ctasPerSm > 1)
    ways.push_back("fewer ctas_per_sm");
  if (c.schedule.kvBlock > leastKeys)
    ways.push_back("a smaller kv_block");
  // A head_dim_v tile is whole panels.
  if (unsigned columns = (2 * outputs - 1) / panel * panel)
    ways.push_back(passesOf(c.schedule, columns));
  if (ways.empty())
    ways.push_back("fewer tensors for a score_mod");
  return ways;
}

/// Returns the rows that reserve registers: "softmax, movingP".
static std::string rowsOf(const Case &c) {
  std::string names;
  for (const demand::ReserveRow &row : demand::reserveRows())
    if (row.isOf(c.family) && row.applies(c.problem, c.schedule))
      names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

Violation fmha::schedule::checkAccumulators(const Case &c) {
  WgmmaRegisters sizes(c.problem, c.schedule);
  if (Violation violation = checkWidest(c.schedule, sizes))
    return violation;
  unsigned needed = sizes.all(), there = sizes.there;
  if (needed <= there)
    return std::nullopt;
  if (c.terse)
    return "";
  return "a consumer needs " + str(needed) + " registers per thread (S " +
         str(sizes.scores) + ", O " + str(sizes.outputs) + " and P " +
         str(sizes.probabilities) +
         (sizes.captured ? ", for a score_mod " + str(sizes.captured) : "") +
         "), " + str(there) + " are available besides those of softmax" +
         (c.problem.score ? " and a score_mod" : "") + " (rows " + rowsOf(c) +
         " of RegisterDemand.def); take " + anyOf(waysToFit(c, sizes.outputs));
}

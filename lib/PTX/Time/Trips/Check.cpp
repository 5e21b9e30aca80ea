//===- Check.cpp - Rules that suit their instructions ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Codes.h"
#include "Walk.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>

namespace ptxsim::timing {
namespace {

using sass::Instruction;
using Names = std::vector<std::string_view>;

std::string listed(const auto &names) {
  std::string list;
  for (const auto &name : names)
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

/// Returns the members that a rule has.
Names membersOf(const StepRule &rule) {
  const std::pair<std::string_view, bool> members[] = {
      {"barrier", !rule.barriers.empty()},
      {"phase", rule.phase.has_value()},
      {"again", rule.isAgain},
      {"bytes", rule.bytes.has_value()},
      {"partial_rows", rule.partialRows.has_value()},
      {"extra_lines", rule.extraLines.has_value()},
      {"threads", rule.threads.has_value()},
      {"amount", rule.amount.has_value()},
      {"reaches", rule.reached.has_value()},
      {"direction", rule.direction.has_value()},
      {"shape", rule.shape.has_value()},
      {"warps", rule.warps.has_value()}};
  Names names;
  for (const auto &[name, isGiven] : members)
    if (isGiven)
      names.push_back(name);
  return names;
}

/// Returns the members that are read for an instruction.
Names membersFor(const Instruction &inst, const StepRule &rule) {
  const CostClass &of = sassClassOf(inst.opcode);
  switch (of.action) {
  case Action::Load:
  case Action::Store:
  case Action::Atomic:
  case Action::CpAsync:
    return {"amount", "reaches", "warps"};
  case Action::Signal:
  case Action::MmaCommit:
  case Action::CpArrive:
    return {"barrier", "phase", "warps"};
  case Action::Meet:
    if (inst.root() == "BAR")
      return {"barrier", "phase", "threads", "warps"};
    return {"warps"};
  case Action::Copy:
    if (rule.direction.value_or(directionOf(inst)) == CopyDirection::ToGlobal)
      return {"bytes", "partial_rows", "direction", "warps"};
    return {"barrier", "bytes",     "partial_rows", "extra_lines",
            "reaches", "direction", "warps"};
  case Action::TmemCopy:
    return {"bytes", "warps"};
  case Action::Mma:
    return {"shape", "warps"};
  default:
    if (of.name == "Wait" && !retries(inst))
      return {"barrier", "phase", "again", "warps"};
    return {"warps"};
  }
}

class Checker {
public:
  Checker(const SassKernel &kernel, const SassGraph &graph);
  void check(const std::string &where, const Rules &rules);
  void checkBarriers(const std::map<std::string, BarrierRule> &barriers) const;

private:
  const Instruction &find(const std::string &where, uint32_t address) const;

  const SassKernel &kernel;
  std::map<uint32_t, const Instruction *> instructions;
  /// Addresses of branches with several arms.
  std::set<uint32_t> branches;
  /// Barriers of instructions.
  std::set<std::string> used;
};

Checker::Checker(const SassKernel &kernel, const SassGraph &graph)
    : kernel(kernel) {
  for (const Instruction &of : kernel.function.instructions)
    instructions[of.address] = &of;
  for (uint32_t block = 0; block < kernel.blocks.size(); ++block) {
    Ending ending = graph.endingOf(block);
    if (ending == Ending::Chooses || ending == Ending::Table)
      branches.insert(graph.lastOf(block).address);
  }
}

[[noreturn]] void fail(const std::string &where, const std::string &expected,
                       const std::string &got) {
  throw Error(Error::Kind::Launch,
              where + ": expected " + expected + ", got " + got);
}

const Instruction &Checker::find(const std::string &where,
                                 uint32_t address) const {
  auto found = instructions.find(address);
  if (found == instructions.end())
    fail(where,
         "addresses of " + kernel.function.name + " from 0x0 to " +
             describe(kernel.function.instructions.back()),
         hex(address) + ": is the file for another build of the cubin?");
  return *found->second;
}

void Checker::check(const std::string &where, const Rules &rules) {
  for (const auto &[address, rule] : rules.branches)
    if (const Instruction &of = find(where, address);
        !branches.contains(address))
      fail(where,
           "a branch with a condition or a table for each rule of branches",
           describe(of));
  for (const auto &[address, rule] : rules.steps) {
    const Instruction &of = find(where, address);
    Names known = membersFor(of, rule);
    for (std::string_view member : membersOf(rule))
      if (std::ranges::find(known, member) == known.end())
        fail(where, "a member of " + listed(known) + " for " + describe(of),
             std::string(member));
    used.insert(rule.barriers.begin(), rule.barriers.end());
  }
}

void Checker::checkBarriers(
    const std::map<std::string, BarrierRule> &barriers) const {
  for (const auto &[name, rule] : barriers)
    if (!used.contains(name))
      fail("trips",
           "barriers that an instruction has (" +
               (used.empty() ? "none" : listed(used)) + ")",
           "'" + name + "'");
}

} // namespace

void checkRules(const Trips &trips, const SassKernel &kernel,
                const SassGraph &graph) {
  Checker checker(kernel, graph);
  checker.check("trips", trips.rules);
  for (const TripsRole &role : trips.roles)
    checker.check("trips of role '" + role.name + "'", role.rules);
  checker.checkBarriers(trips.barriers);
}

} // namespace ptxsim::timing

//===- Walk.cpp - The way of a role through SASS --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Walk.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>
#include <cstdio>

namespace ptxsim::timing {
namespace {

class Walker {
public:
  Walker(const SassKernel &kernel, const SassGraph &graph, const Trips &trips,
         const TripsRole &role)
      : kernel(kernel), graph(graph), trips(trips), role(role) {}
  std::vector<uint32_t> run(size_t most);

private:
  uint32_t leave(uint32_t block);
  uint32_t choose(uint32_t block);
  uint32_t take(uint32_t block, const Arm &arm) const;
  bool staysInLoop(uint32_t block, const Loop &loop, uint64_t most);
  void enterLoops(uint32_t from, uint32_t to);
  const BranchRule *ruleOf(uint32_t block) const;
  [[noreturn]] void fail(uint32_t block, const std::string &expected,
                         const std::string &got) const;

  const SassKernel &kernel;
  const SassGraph &graph;
  const Trips &trips;
  const TripsRole &role;
  /// How often a branch was reached, since its loop was entered if it has
  /// trips.
  struct Count {
    uint64_t times = 0;
    /// The loop that a branch with trips leaves.
    const Loop *loop = nullptr;
  };
  /// By block.
  std::map<uint32_t, Count> counts;
  /// By the register of BSSY: where BSYNC continues.
  std::map<std::string, uint32_t> joins;
};

void Walker::fail(uint32_t block, const std::string &expected,
                  const std::string &got) const {
  throw Error(Error::Kind::Launch,
              "trips of role '" + role.name + "': expected " + expected +
                  " for " + describe(graph.lastOf(block)) + ", got " + got);
}

const BranchRule *Walker::ruleOf(uint32_t block) const {
  uint32_t address = graph.lastOf(block).address;
  for (const Rules *rules : {&role.rules, &trips.rules})
    if (auto found = rules->branches.find(address);
        found != rules->branches.end())
      return &found->second;
  return nullptr;
}

uint32_t Walker::take(uint32_t block, const Arm &arm) const {
  const sass::Instruction &last = graph.lastOf(block);
  bool isTable = last.root() == "BRX";
  if (arm.kind == Arm::Kind::Falls && !isTable)
    return graph.fallsOf(block);
  if (arm.kind == Arm::Kind::Taken && !isTable)
    return graph.takenOf(block);
  auto isThere = [&](uint32_t target) {
    return target != sass::kNoTarget &&
           kernel.function.instructions[target].address == arm.address;
  };
  if (arm.kind == Arm::Kind::Address) {
    if (isThere(last.target))
      return graph.takenOf(block);
    for (uint32_t target : last.targets)
      if (isThere(target))
        return graph.blockOf(target);
  }
  fail(block,
       isTable ? "the address of one of its targets"
               : "an arm that it "
                 "has",
       arm.kind == Arm::Kind::Address ? "another address" : "taken or falls");
}

/// Counts a visit of the branch and returns whether it is not the last one.
bool Walker::staysInLoop(uint32_t block, const Loop &loop, uint64_t most) {
  Count &count = counts[block];
  count.loop = &loop;
  if (++count.times < most)
    return true;
  count.times = 0;
  return false;
}

/// Starts the trips of the loops whose head a warp reaches from outside: it may
/// have left them by another branch.
void Walker::enterLoops(uint32_t from, uint32_t to) {
  for (auto &[block, count] : counts)
    if (count.loop && count.loop->head == to && !count.loop->has[from])
      count.times = 0;
}

uint32_t Walker::choose(uint32_t block) {
  const BranchRule *rule = ruleOf(block);
  if (rule && rule->trips) {
    const Loop *loop = graph.loopLeftBy(block);
    if (!loop)
      fail(block, "an arm, since it leaves no loop,", "trips");
    if (!*rule->trips)
      fail(block, "at least one trip, since it is reached,", "0");
    bool takes = staysInLoop(block, *loop, *rule->trips) ==
                 graph.takenStaysIn(*loop, block);
    return takes ? graph.takenOf(block) : graph.fallsOf(block);
  }
  if (rule && !rule->arms.empty()) {
    uint64_t time = counts[block].times++;
    size_t at = 0;
    for (; at + 1 < rule->arms.size() && time >= rule->arms[at].times; ++at)
      time -= rule->arms[at].times;
    return take(block, rule->arms[at]);
  }
  if (graph.endingOf(block) == Ending::Chooses)
    if (auto taken = graph.takenAfterWait(block))
      return *taken ? graph.takenOf(block) : graph.fallsOf(block);
  bool leaves = graph.loopLeftBy(block);
  fail(block, leaves ? "trips or an arm" : "an arm, taken or falls,",
       rule ? "null" : "none");
}

/// Returns the next block, kNoBlock at the end.
uint32_t Walker::leave(uint32_t block) {
  switch (graph.endingOf(block)) {
  case Ending::Falls:
    return graph.fallsOf(block);
  case Ending::Jumps:
    return graph.takenOf(block);
  case Ending::Chooses:
  case Ending::Table:
    return choose(block);
  case Ending::Joins: {
    const sass::Instruction &last = graph.lastOf(block);
    auto found = joins.find(last.operands);
    if (found == joins.end())
      fail(block, "a BSSY before it", "none");
    return graph.blockOf(found->second);
  }
  case Ending::Exits:
    break;
  }
  return kNoBlock;
}

std::vector<uint32_t> Walker::run(size_t most) {
  std::vector<uint32_t> path;
  size_t steps = 0;
  for (uint32_t block = 0; block != kNoBlock;) {
    const Block &of = kernel.blocks[block];
    path.push_back(block);
    for (uint32_t i = of.first; i < of.end; ++i) {
      const sass::Instruction &inst = kernel.function.instructions[i];
      if (inst.root() == "BSSY")
        joins[inst.operands.substr(0, inst.operands.find(','))] = inst.target;
    }
    steps += of.end - of.first;
    if (steps > most)
      fail(block, "a path of at most " + std::to_string(most) + " instructions",
           "more: a loop does not end, or has too many trips for its warps");
    uint32_t next = leave(block);
    enterLoops(block, next);
    block = next;
  }
  return path;
}

} // namespace

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

std::string describe(const sass::Instruction &inst) {
  return "'" + inst.guard + (inst.guard.empty() ? "" : " ") + inst.opcode +
         (inst.operands.empty() ? "" : " ") + inst.operands + "' at " +
         hex(inst.address);
}

std::vector<uint32_t> walk(const SassKernel &kernel, const SassGraph &graph,
                           const Trips &trips, const TripsRole &role,
                           size_t most) {
  if (kernel.blocks.empty())
    throw Error(Error::Kind::Launch, "expected instructions in the function " +
                                         kernel.function.name + ", got none");
  return Walker(kernel, graph, trips, role).run(most);
}

} // namespace ptxsim::timing

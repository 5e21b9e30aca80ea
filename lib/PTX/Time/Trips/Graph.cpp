//===- Graph.cpp - Branches and loops of SASS -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>

namespace ptxsim::timing {
namespace {

using sass::Instruction;

/// Returns the predicate that a branch tests, "P0" or "!UP1"; empty for none.
/// BRA.U !UP0, `(.L_x_1) has it among its operands.
std::string conditionOf(const Instruction &inst) {
  if (!inst.guard.empty())
    return inst.guard.substr(1);
  if (inst.root() != "BRA" || inst.operands.starts_with('`'))
    return {};
  return inst.operands.substr(0, inst.operands.find(','));
}

/// Returns whether the instruction writes the predicate.
bool writes(const Instruction &inst, std::string_view predicate) {
  bool isUniform = predicate.starts_with('U');
  auto file = isUniform ? sass::File::UniformPredicate : sass::File::Predicate;
  std::string digits(predicate.substr(isUniform ? 2 : 1));
  return std::ranges::any_of(inst.writes, [&](const sass::Registers &of) {
    return of.file == file && std::to_string(of.first) == digits;
  });
}

} // namespace

SassGraph::SassGraph(const SassKernel &kernel) : kernel(kernel) {
  for (uint32_t i = 0; i < kernel.blocks.size(); ++i)
    firsts[kernel.blocks[i].first] = i;
  findLoops();
}

const Instruction &SassGraph::lastOf(uint32_t block) const {
  return kernel.function.instructions[kernel.blocks[block].end - 1];
}

Ending SassGraph::endingOf(uint32_t block) const {
  const Instruction &last = lastOf(block);
  std::string_view root = last.root();
  bool hasCondition = !conditionOf(last).empty();
  if (root == "EXIT" || root == "RET")
    return hasCondition ? Ending::Chooses : Ending::Exits;
  if (root == "BRX")
    return Ending::Table;
  if (root == "BSYNC")
    return Ending::Joins;
  // Warps of one path never take BRA.DIV.
  bool jumps = (root == "BRA" || root == "JMP") &&
               last.target != sass::kNoTarget &&
               !last.opcode.starts_with("BRA.DIV");
  if (!jumps)
    return Ending::Falls;
  return hasCondition ? Ending::Chooses : Ending::Jumps;
}

uint32_t SassGraph::blockOf(uint32_t instruction) const {
  auto found = firsts.find(instruction);
  return found == firsts.end() ? kNoBlock : found->second;
}

uint32_t SassGraph::takenOf(uint32_t block) const {
  const Instruction &last = lastOf(block);
  return last.target == sass::kNoTarget ? kNoBlock : blockOf(last.target);
}

uint32_t SassGraph::fallsOf(uint32_t block) const {
  return blockOf(kernel.blocks[block].end);
}

/// Returns the blocks that can follow a block. For BSYNC, this is the next
/// block if a BSSY names it.
std::vector<uint32_t> SassGraph::nextOf(uint32_t block) const {
  std::vector<uint32_t> next;
  auto add = [&](uint32_t of) {
    if (of != kNoBlock)
      next.push_back(of);
  };
  switch (endingOf(block)) {
  case Ending::Falls:
    add(fallsOf(block));
    break;
  case Ending::Chooses:
    add(takenOf(block));
    add(fallsOf(block));
    break;
  case Ending::Jumps:
    add(takenOf(block));
    break;
  case Ending::Table:
    for (uint32_t target : lastOf(block).targets)
      add(blockOf(target));
    break;
  case Ending::Joins: {
    const std::vector<uint32_t> &joins = kernel.blocks[block].next;
    if (std::ranges::find(joins, fallsOf(block)) != joins.end())
      add(fallsOf(block));
    else
      next = joins;
    break;
  }
  case Ending::Exits:
    break;
  }
  return next;
}

/// Finds the loops by dominators: an edge to a block that dominates its origin
/// closes one.
void SassGraph::findLoops() {
  size_t count = kernel.blocks.size();
  std::vector<std::vector<uint32_t>> before(count);
  for (uint32_t block = 0; block < count; ++block)
    for (uint32_t next : nextOf(block))
      before[next].push_back(block);
  std::vector<std::vector<bool>> above(count, std::vector<bool>(count, true));
  if (count)
    above[0].assign(count, false), above[0][0] = true;
  for (bool changes = true; changes;) {
    changes = false;
    for (uint32_t block = 1; block < count; ++block) {
      std::vector<bool> common(count, true);
      for (uint32_t from : before[block])
        for (size_t i = 0; i < count; ++i)
          common[i] = common[i] && above[from][i];
      common[block] = true;
      changes |= common != above[block];
      above[block] = std::move(common);
    }
  }
  for (uint32_t block = 0; block < count; ++block)
    for (uint32_t next : nextOf(block))
      if (above[block][next] && above[block][0] &&
          !std::ranges::all_of(above[block], [](bool of) { return of; }))
        addLoop(block, next, before);
  std::ranges::sort(loops, {}, &Loop::size);
}

/// Adds the blocks that lead to `from` without passing `head`.
void SassGraph::addLoop(uint32_t from, uint32_t head,
                        const std::vector<std::vector<uint32_t>> &before) {
  auto known = std::ranges::find(loops, head, &Loop::head);
  if (known == loops.end()) {
    loops.push_back({head, 1, std::vector<bool>(before.size())});
    known = loops.end() - 1;
    known->has[head] = true;
  }
  std::vector<uint32_t> open = {from};
  while (!open.empty()) {
    uint32_t block = open.back();
    open.pop_back();
    if (known->has[block])
      continue;
    known->has[block] = true;
    ++known->size;
    open.insert(open.end(), before[block].begin(), before[block].end());
  }
}

bool SassGraph::takenStaysIn(const Loop &loop, uint32_t block) const {
  uint32_t taken = takenOf(block);
  return taken != kNoBlock && loop.has[taken];
}

const Loop *SassGraph::loopLeftBy(uint32_t block) const {
  for (const Loop &loop : loops) {
    uint32_t falls = fallsOf(block);
    bool fallStays = falls != kNoBlock && loop.has[falls];
    if (loop.has[block] && takenStaysIn(loop, block) != fallStays)
      return &loop;
  }
  return nullptr;
}

std::optional<bool> SassGraph::takenAfterWait(uint32_t block) const {
  std::string predicate = conditionOf(lastOf(block));
  bool isNegated = predicate.starts_with('!');
  if (isNegated)
    predicate.erase(0, 1);
  if (predicate.empty() || lastOf(block).root() != "BRA")
    return std::nullopt;
  const Block &of = kernel.blocks[block];
  for (uint32_t i = of.end - 1; i-- > of.first;) {
    const Instruction &inst = kernel.function.instructions[i];
    if (writes(inst, predicate))
      return inst.opcode.starts_with("SYNCS.PHASECHK")
                 ? std::optional(!isNegated)
                 : std::nullopt;
  }
  return std::nullopt;
}

std::vector<bool> SassGraph::reachable() const {
  std::vector<bool> seen(kernel.blocks.size());
  std::vector<uint32_t> open;
  if (!seen.empty())
    open.push_back(0);
  while (!open.empty()) {
    uint32_t block = open.back();
    open.pop_back();
    if (block == kNoBlock || seen[block])
      continue;
    seen[block] = true;
    if (auto taken = takenAfterWait(block))
      open.push_back(*taken ? takenOf(block) : fallsOf(block));
    else
      for (uint32_t next : nextOf(block))
        open.push_back(next);
  }
  return seen;
}

} // namespace ptxsim::timing

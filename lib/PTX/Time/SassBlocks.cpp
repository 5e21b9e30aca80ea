//===- SassBlocks.cpp - Basic blocks of SASS ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SassBlocks.h"

#include <algorithm>
#include <map>

namespace ptxsim::timing {
namespace {

using sass::Instruction;

bool isOneOf(std::string_view root,
             std::initializer_list<std::string_view> roots) {
  return std::ranges::find(roots, root) != roots.end();
}

bool endsBlock(const Instruction &inst) {
  return isOneOf(inst.root(),
                 {"BRA", "EXIT", "BSYNC", "RET", "BRX", "JMP", "BREAK"});
}

/// Returns whether the next instruction may follow.
bool mayFallThrough(const Instruction &inst) {
  std::string_view root = inst.root();
  if (!isOneOf(root, {"BRA", "EXIT", "RET", "BRX", "JMP", "BSYNC"}))
    return true;
  if (root == "BSYNC")
    return !inst.guard.empty();
  // BRA.U !UP0, `(.L_x_1) and BRA P1, `(.L_x_1) have their condition there.
  bool hasCondition = root == "BRA" && !inst.operands.starts_with('`');
  return !inst.guard.empty() || hasCondition;
}

/// Warps of one path never take BRA.DIV.
bool mayJump(const Instruction &inst) {
  return isOneOf(inst.root(), {"BRA", "JMP"}) &&
         inst.target != sass::kNoTarget && !inst.opcode.starts_with("BRA.DIV");
}

bool isWait(const Instruction &inst) {
  return inst.opcode.starts_with("SYNCS.PHASECHK");
}

class Builder {
public:
  explicit Builder(sass::Function &function) : list(function.instructions) {}
  std::vector<Block> run();

private:
  void cut();
  void link(Block &block);
  void dropRetries();
  const Instruction *waitOf(const Block &block) const;
  const Instruction *retryOf(const Block &block, uint32_t index,
                             bool mustGoOn) const;

  std::vector<Instruction> &list;
  std::vector<Block> blocks;
  std::map<uint32_t, uint32_t> indices;
  /// Where warps may continue after BSYNC, by barrier.
  std::multimap<std::string, uint32_t> joins;
};

void Builder::cut() {
  std::vector<bool> begins(list.size() + 1);
  begins[0] = true;
  for (size_t i = 0; i < list.size(); ++i) {
    begins[i + 1] = begins[i + 1] || endsBlock(list[i]);
    bool names = list[i].target != sass::kNoTarget;
    if (names && isOneOf(list[i].root(), {"BRA", "JMP", "BSSY"}))
      begins[list[i].target] = true;
    for (uint32_t target : list[i].targets)
      begins[target] = true;
    if (names && list[i].root() == "BSSY")
      joins.emplace(list[i].operands.substr(0, list[i].operands.find(',')),
                    list[i].target);
  }
  for (uint32_t i = 0; i < list.size(); ++i) {
    if (begins[i]) {
      indices[i] = uint32_t(blocks.size());
      blocks.push_back({i, i, {}, false});
    }
    blocks.back().end = i + 1;
  }
}

void Builder::link(Block &block) {
  const Instruction &last = list[block.end - 1];
  auto add = [&](uint32_t inst) {
    auto found = indices.find(inst);
    if (found != indices.end() &&
        std::ranges::find(block.next, found->second) == block.next.end())
      block.next.push_back(found->second);
  };
  block.exits = isOneOf(last.root(), {"EXIT", "RET"});
  if (mayFallThrough(last))
    add(block.end);
  if (mayJump(last))
    add(last.target);
  for (uint32_t target : last.targets)
    add(target);
  if (last.root() == "BSYNC") {
    auto [first, end] = joins.equal_range(last.operands);
    for (auto it = first; it != end; ++it)
      add(it->second);
  }
}

/// Returns the wait of a block that ends with a branch, null if there is none.
const Instruction *Builder::waitOf(const Block &block) const {
  const Instruction *wait = nullptr;
  for (uint32_t i = block.first; i < block.end; ++i)
    if (isWait(list[i]))
      wait = &list[i];
  return list[block.end - 1].root() == "BRA" ? wait : nullptr;
}

/// Returns the wait of the loop that repeats the wait of `block` until its
/// phase has ended; null if no such loop is at `index`. With a time limit,
/// ptxas copies the address of the mbarrier before that loop. With `mustGoOn`,
/// the loop has to lead to another successor of `block`.
const Instruction *Builder::retryOf(const Block &block, uint32_t index,
                                    bool mustGoOn) const {
  const Block *other = &blocks[index];
  bool leads = other->next.size() == 1 && !waitOf(*other);
  if (leads)
    other = &blocks[index = other->next[0]];
  auto goesOn = [&](uint32_t next) {
    return next != index && blocks[next].next.size() == 1 &&
           std::ranges::find(block.next, blocks[next].next[0]) !=
               block.next.end();
  };
  bool repeats = std::ranges::find(other->next, index) != other->next.end();
  // A block that repeats itself is its own loop, not the retry of another.
  if (!repeats || other == &block ||
      ((leads || mustGoOn) && std::ranges::none_of(other->next, goesOn)))
    return nullptr;
  return waitOf(*other);
}

void Builder::dropRetries() {
  for (Block &block : blocks) {
    const Instruction *wait = waitOf(block);
    if (!wait)
      continue;
    // The next wait may be a loop that ptxas has not peeled.
    bool mustGoOn = std::ranges::all_of(block.next, [&](uint32_t index) {
      return retryOf(block, index, /*mustGoOn=*/false) != nullptr;
    });
    std::erase_if(block.next, [&](uint32_t index) {
      const Instruction *retry = retryOf(block, index, mustGoOn);
      if (retry)
        list[size_t(wait - list.data())].line = retry->line;
      return retry != nullptr;
    });
  }
}

std::vector<Block> Builder::run() {
  if (list.empty())
    return {};
  cut();
  for (Block &block : blocks)
    link(block);
  dropRetries();
  return std::move(blocks);
}

} // namespace

std::vector<Block> blocksOf(sass::Function &function) {
  return Builder(function).run();
}

} // namespace ptxsim::timing

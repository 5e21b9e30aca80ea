//===- Facts.cpp - Facts about the registers of a function ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"

#include <algorithm>

using namespace ptxsim::syntax;

namespace ptxsim::mutate {
namespace {

void collect(const Block &block, std::vector<const Instruction *> &all) {
  for (const Statement &statement : block) {
    if (statement.kind == Statement::Kind::Instruction)
      all.push_back(&statement.instruction);
    if (statement.scope)
      collect(*statement.scope, all);
  }
}

/// Returns whether the instruction copies into this CTA with a signal. Copies
/// to several CTAs are excluded: they signal those that a register names.
bool isCopyIn(const Instruction &instruction) {
  return instruction.parts[0] == "cp" &&
         instruction.has("mbarrier::complete_tx::bytes") &&
         !instruction.has("multicast::cluster");
}

bool isAnnouncement(const Instruction &instruction) {
  return instruction.parts[0] == "mbarrier" && instruction.has("arrive") &&
         instruction.has("expect_tx") && instruction.operands.size() == 3;
}

/// Returns whether the instruction leaves the straight line, or synchronizes
/// with other threads.
bool interrupts(const Instruction &instruction) {
  constexpr std::string_view kinds[] = {
      "bar",   "barrier",  "bra",    "brx", "call", "elect", "exit",
      "fence", "mbarrier", "membar", "ret", "shfl", "trap",  "vote"};
  return std::ranges::find(kinds, instruction.parts[0]) != std::end(kinds);
}

bool overwrites(const Instruction &instruction, std::string_view name) {
  if (instruction.operands.empty() || name.empty())
    return false;
  const Operand &target = instruction.operands[0];
  return target.name == name ||
         std::ranges::any_of(target.elements, [&](const Operand &element) {
           return element.name == name;
         });
}

/// Returns the register or symbol that is the base of an address.
const Operand &baseOf(const Operand &address) {
  return address.elements.empty() ? address : address.elements[0];
}

/// Returns whether the same threads execute both, on the same barrier.
bool areOnOneBarrier(const Instruction &a, const Instruction &b) {
  size_t first = barrierOperand(a), second = barrierOperand(b);
  if (first >= a.operands.size() || second >= b.operands.size())
    return false;
  const Operand &left = baseOf(a.operands[first]);
  const Operand &right = baseOf(b.operands[second]);
  return left.kind == right.kind && left.name == right.name &&
         left.offset == right.offset && a.guard == b.guard &&
         a.guardNegated == b.guardNegated;
}

bool isMove(const Instruction &instruction) {
  return instruction.parts[0] == "mov" && instruction.operands.size() == 2;
}

} // namespace

std::vector<const Instruction *> instructionsOf(const Block &block) {
  std::vector<const Instruction *> all;
  collect(block, all);
  return all;
}

size_t barrierOperand(const Instruction &instruction) {
  if (instruction.parts[0] == "cp")
    return instruction.has("tensor") ? 2 : 3;
  if (instruction.parts[0] == "clusterlaunchcontrol")
    return 1;
  bool hasResult = instruction.has("arrive") || instruction.has("try_wait") ||
                   instruction.has("test_wait");
  return hasResult && instruction.parts[0] == "mbarrier" ? 1 : 0;
}

Facts::Facts(const Block &body) {
  const std::vector<const Instruction *> all = instructionsOf(body);
  for (const Instruction *instruction : all)
    if (!instruction->operands.empty())
      ++writes[instruction->operands[0].name];
  for (const Instruction *instruction : all)
    learn(*instruction);
  for (const Instruction *instruction : all)
    largest = std::max(largest, expected(*instruction).value_or(0));
  largest = largest ? largest : 1024;
  follow(body);
}

void Facts::follow(const Block &block) {
  for (const Statement &statement : block) {
    if (statement.kind == Statement::Kind::Label)
      open.clear();
    if (statement.kind == Statement::Kind::Instruction)
      follow(statement.instruction);
    if (statement.scope)
      follow(*statement.scope);
  }
}

void Facts::follow(const Instruction &instruction) {
  if (isAnnouncement(instruction)) {
    open.push_back(&instruction);
    return;
  }
  if (interrupts(instruction))
    open.clear();
  std::erase_if(open, [&](const Instruction *arrive) {
    const Operand &barrier = baseOf(arrive->operands[barrierOperand(*arrive)]);
    if (isCopyIn(instruction) && areOnOneBarrier(*arrive, instruction))
      announcing.insert(arrive);
    return overwrites(instruction, barrier.name) ||
           overwrites(instruction, arrive->guard);
  });
}

void Facts::learn(const Instruction &instruction) {
  if (instruction.operands.size() < 2)
    return;
  const Operand &target = instruction.operands[0];
  const Operand &source = instruction.operands[1];
  if (target.kind != Operand::Kind::Name || writes[target.name] != 1)
    return;
  if (isMove(instruction) && source.kind == Operand::Kind::Integer)
    constants[target.name] = source.bits;
  bool keepsBits = isMove(instruction) || instruction.parts[0] == "and";
  if (keepsBits && numbersThreads(source))
    threads.insert(target.name);
}

std::optional<uint64_t> Facts::constant(const Operand &operand) const {
  if (operand.kind == Operand::Kind::Integer)
    return operand.bits;
  auto found = constants.find(operand.name);
  if (found == constants.end())
    return std::nullopt;
  return found->second;
}

bool Facts::numbersThreads(const Operand &operand) const {
  return operand.name == "%tid.x" || operand.name == "%laneid" ||
         threads.count(operand.name);
}

std::optional<uint64_t> Facts::expected(const Instruction &instruction) const {
  if (instruction.parts[0] != "mbarrier" || !instruction.has("expect_tx") ||
      instruction.operands.empty())
    return std::nullopt;
  return constant(instruction.operands.back());
}

void Facts::reach(const Instruction &instruction) {
  stage = expected(instruction).value_or(stage);
}

} // namespace ptxsim::mutate

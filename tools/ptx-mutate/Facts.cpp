//===- Facts.cpp - What a function says of its registers ------------------===//
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

bool isMove(const Instruction &instruction) {
  return instruction.parts[0] == "mov" && instruction.operands.size() == 2;
}

} // namespace

std::vector<const Instruction *> instructionsOf(const Block &block) {
  std::vector<const Instruction *> all;
  collect(block, all);
  return all;
}

Facts::Facts(const std::vector<const Instruction *> &all) {
  for (const Instruction *instruction : all)
    if (!instruction->operands.empty())
      ++writes[instruction->operands[0].name];
  for (const Instruction *instruction : all)
    learn(*instruction);
  for (const Instruction *instruction : all)
    largest = std::max(largest, expected(*instruction).value_or(0));
  largest = largest ? largest : 1024;
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

//===- Snippet.cpp - Runs straight-line PTX on recorded arrays ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Snippet.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace ptxsim::scalar::test {
namespace {

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos)
    return {};
  size_t end = text.find_last_not_of(" \t\n");
  return std::string(text.substr(begin, end - begin + 1));
}

Row splat(uint64_t value) {
  Row row;
  row.fill(value);
  return row;
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32;
}

void signExtend(Row &row, unsigned from, unsigned to) {
  for (uint64_t &slot : row) {
    uint64_t extended = static_cast<uint64_t>(
        static_cast<int64_t>(slot << (64 - from)) >> (64 - from));
    slot = to == 64 ? extended : extended & ((uint64_t(1) << to) - 1);
  }
}

} // namespace

std::vector<Instruction> parseSnippet(std::string_view text) {
  std::vector<Instruction> instructions;
  std::string all(text), statement;
  for (std::stringstream stream(all); std::getline(stream, statement, ';');) {
    statement = trimmed(statement);
    if (statement.empty())
      continue;
    Instruction instruction;
    size_t space = statement.find(' ');
    instruction.opcode = statement.substr(0, space);
    std::string rest =
        space == std::string::npos ? "" : statement.substr(space);
    std::replace(rest.begin(), rest.end(), '|', ',');
    std::string operand;
    for (std::stringstream list(rest); std::getline(list, operand, ',');)
      instruction.operands.push_back(trimmed(operand));
    instructions.push_back(instruction);
  }
  return instructions;
}

bool execute(const Instruction &instruction, const Context &context,
             Registers &registers,
             const std::map<std::string, unsigned> &widths, LaneMask active) {
  const Form *form = find(instruction.opcode);
  if (!form)
    return false;
  unsigned given = instruction.operands.size();
  unsigned absent = form->numDst + form->numSrc - given;
  unsigned numDst =
      form->numDst - std::min<unsigned>(form->optionalDst, absent);
  std::array<Row *, 2> dst{};
  std::array<const Row *, 6> src{};
  std::array<Row, 6> immediates;
  for (unsigned i = 0; i < numDst; ++i)
    dst[i] = &registers[instruction.operands.at(i)];
  for (unsigned i = numDst; i < given; ++i) {
    const std::string &operand = instruction.operands[i];
    unsigned index = i - numDst;
    if (operand[0] == '%') {
      src[index] = &registers.at(operand);
    } else {
      immediates[index] = splat(std::strtoull(operand.c_str(), nullptr, 0));
      src[index] = &immediates[index];
    }
  }
  form->function(context, active, dst.data(), src.data());
  for (unsigned i = 0; i < numDst; ++i)
    if (auto width = widths.find(instruction.operands[i]);
        width != widths.end() && isSigned(form->dst[i]) &&
        width->second > bitWidth(form->dst[i]))
      signExtend(*dst[i], bitWidth(form->dst[i]), width->second);
  return true;
}

} // namespace ptxsim::scalar::test

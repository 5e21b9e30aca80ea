//===- Words.cpp - An instruction as editable words -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Words.h"

#include "fmha/PTX/Syntax/Lexer.h"

using namespace ptxsim::syntax;

namespace ptxsim::mutate {
namespace {

bool opens(const Token &token) {
  return token.is('[') || token.is('{') || token.is('(');
}

bool closes(const Token &token) {
  return token.is(']') || token.is('}') || token.is(')');
}

/// Returns the position of `modifier` in `opcode`, without its dot, or npos.
size_t findModifier(const std::string &opcode, std::string_view modifier) {
  for (size_t at = 0; at < opcode.size();) {
    size_t dot = std::min(opcode.find('.', at), opcode.size());
    if (std::string_view(opcode).substr(at, dot - at) == modifier)
      return at;
    at = dot + 1;
  }
  return std::string::npos;
}

} // namespace

Words::Words(const Instruction &instruction) : opcode(instruction.opcode) {
  if (!instruction.guard.empty())
    guard = std::string(instruction.guardNegated ? "@!" : "@") +
            std::string(instruction.guard) + " ";
  size_t start = size_t(instruction.opcode.data() - instruction.text.data()) +
                 instruction.opcode.size();
  Lexer lexer(instruction.text.substr(start), "instruction");
  unsigned depth = 0;
  for (Token token = lexer.next(); token.kind != Token::Kind::End;
       token = lexer.next()) {
    if (token.is(';'))
      break;
    depth += opens(token);
    depth -= closes(token);
    if (depth == 0 && token.is(',')) {
      operands.emplace_back();
      continue;
    }
    if (operands.empty())
      operands.emplace_back();
    operands.back() += token.text;
  }
}

std::string Words::text() const {
  std::string line = guard + opcode;
  for (size_t i = 0; i < operands.size(); ++i)
    line += (i ? ", " : " ") + operands[i];
  return line + ";";
}

bool Words::replaceModifier(std::string_view before, std::string_view after) {
  size_t at = findModifier(opcode, before);
  if (at == std::string::npos)
    return false;
  opcode.replace(at, before.size(), after);
  return true;
}

void Words::addModifierAfter(std::initializer_list<std::string_view> places,
                             std::string_view modifier) {
  for (std::string_view place : places) {
    size_t at = findModifier(opcode, place);
    if (at == std::string::npos)
      continue;
    opcode.insert(at + place.size(), "." + std::string(modifier));
    return;
  }
}

std::optional<std::string> moveAddress(const Operand &operand, int64_t bytes) {
  if (operand.kind != Operand::Kind::Address || operand.elements.size() != 1 ||
      operand.elements[0].kind != Operand::Kind::Name)
    return std::nullopt;
  const Operand &base = operand.elements[0];
  int64_t offset = int64_t(uint64_t(base.offset) + uint64_t(bytes));
  std::string sign = offset < 0 ? "" : "+";
  return "[" + std::string(base.name) + sign + std::to_string(offset) + "]";
}

} // namespace ptxsim::mutate

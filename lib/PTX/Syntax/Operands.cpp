//===- Operands.cpp - Operands and constant expressions ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include <array>
#include <bit>

using namespace ptxsim::syntax;

namespace {

/// Binary operators of constant expressions with C's precedence.
struct Binary {
  std::string_view symbol;
  int precedence;
};
constexpr std::array<Binary, 8> kBinary = {{{"|", 1},
                                            {"^", 2},
                                            {"&", 3},
                                            {"+", 5},
                                            {"-", 5},
                                            {"*", 6},
                                            {"/", 6},
                                            {"%", 6}}};

int precedenceOf(const Token &token) {
  if (token.kind == Token::Kind::Symbol)
    for (const Binary &entry : kBinary)
      if (entry.symbol == token.text)
        return entry.precedence;
  return -1;
}

uint64_t divide(char symbol, uint64_t a, uint64_t b) {
  // Two's complement makes min / -1 overflow; it wraps, as in the ISA.
  if (b == ~uint64_t(0))
    return symbol == '/' ? 0 - a : 0;
  return symbol == '/' ? uint64_t(int64_t(a) / int64_t(b))
                       : uint64_t(int64_t(a) % int64_t(b));
}

uint64_t apply(char symbol, uint64_t a, uint64_t b) {
  switch (symbol) {
  case '|':
    return a | b;
  case '^':
    return a ^ b;
  case '&':
    return a & b;
  case '+':
    return a + b;
  case '-':
    return a - b;
  case '*':
    return a * b;
  default:
    return divide(symbol, a, b);
  }
}

} // namespace

bool OperandParser::startsConstant() const {
  if (token.kind == Token::Kind::Integer || token.kind == Token::Kind::Float)
    return true;
  if (token.is('-') || token.is('+'))
    return ahead.kind == Token::Kind::Integer ||
           ahead.kind == Token::Kind::Float || ahead.is('(');
  return token.is('~') || token.is('(');
}

uint64_t OperandParser::parsePrimary() {
  Nesting nesting(*this);
  if (accept('-'))
    return 0 - parsePrimary();
  if (accept('+'))
    return parsePrimary();
  if (accept('~'))
    return ~parsePrimary();
  if (accept('!'))
    return !parsePrimary();
  if (accept('(')) {
    // A cast such as (.s64) has no effect in 64-bit arithmetic.
    if (token.kind == Token::Kind::Directive) {
      advance();
      expect(')', "after a cast");
      return parsePrimary();
    }
    uint64_t value = parseExpression();
    expect(')', "in a constant expression");
    return value;
  }
  return expectInteger("an integer constant");
}

uint64_t OperandParser::parseExpression(int precedence) {
  uint64_t value = parsePrimary();
  for (;;) {
    // Shifts are two tokens.
    if ((token.is('<') && ahead.is('<')) || (token.is('>') && ahead.is('>'))) {
      if (precedence > 4)
        return value;
      bool left = token.is('<');
      advance();
      advance();
      uint64_t by = parseExpression(5) & 63;
      value = left ? value << by : uint64_t(int64_t(value) >> by);
      continue;
    }
    int next = precedenceOf(token);
    if (next < precedence || next < 0)
      return value;
    char symbol = token.text[0];
    advance();
    uint64_t right = parseExpression(next + 1);
    if ((symbol == '/' || symbol == '%') && right == 0)
      failAt(token.line, "division by zero in a constant expression");
    value = apply(symbol, value, right);
  }
}

Operand OperandParser::parseConstant() {
  Operand operand;
  operand.line = token.line;
  bool minus = token.is('-') && ahead.kind == Token::Kind::Float;
  if (minus || (token.is('+') && ahead.kind == Token::Kind::Float))
    advance();
  if (token.kind == Token::Kind::Float) {
    operand.kind = Operand::Kind::Float;
    operand.floatBits = token.floatBits;
    operand.bits = token.bits;
    if (minus)
      operand.bits ^= uint64_t(1) << (token.floatBits - 1);
    advance();
    return operand;
  }
  operand.kind = Operand::Kind::Integer;
  operand.bits = parseExpression();
  return operand;
}

int64_t OperandParser::parseOffset() {
  int64_t offset = 0;
  while (token.is('+') || token.is('-')) {
    bool minus = token.is('-');
    advance();
    uint64_t value = parseExpression(6);
    offset =
        int64_t(minus ? uint64_t(offset) - value : uint64_t(offset) + value);
  }
  return offset;
}

Operand OperandParser::parseNameOperand() {
  Operand operand;
  operand.kind = Operand::Kind::Name;
  operand.line = token.line;
  operand.negated = accept('!');
  operand.minus = !operand.negated && accept('-');
  operand.name = expectWord("a register or symbol");
  if (operand.name == "_" && !operand.negated && !operand.minus)
    operand.kind = Operand::Kind::Sink;
  if (token.is('+') || token.is('-'))
    operand.offset = parseOffset();
  return operand;
}

Operand OperandParser::parseList(char close, Operand::Kind kind) {
  Operand operand;
  operand.kind = kind;
  operand.line = token.line;
  advance();
  if (accept(close))
    return operand;
  do
    operand.elements.push_back(parseOperand());
  while (accept(','));
  expect(close, kind == Operand::Kind::Vector ? "after a vector's elements"
                                              : "after a call's operands");
  return operand;
}

Operand OperandParser::parseAddress() {
  Operand operand;
  operand.kind = Operand::Kind::Address;
  operand.line = token.line;
  expect('[', "before an address");
  operand.elements.push_back(startsConstant() ? parseConstant()
                                              : parseNameOperand());
  while (accept(','))
    operand.elements.push_back(parseOperand());
  expect(']', "after an address");
  return operand;
}

Operand OperandParser::parseOperand() {
  Nesting nesting(*this);
  if (token.is('{'))
    return parseList('}', Operand::Kind::Vector);
  if (token.is('['))
    return parseAddress();
  if (startsConstant())
    return parseConstant();
  Operand first = parseNameOperand();
  if (!accept('|'))
    return first;
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.line = first.line;
  pair.elements.push_back(std::move(first));
  pair.elements.push_back(parseNameOperand());
  return pair;
}

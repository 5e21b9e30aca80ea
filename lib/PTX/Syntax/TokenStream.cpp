//===- TokenStream.cpp - Two tokens of look-ahead, and errors -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "fmha/PTX/Sim/Simulator.h"

using namespace ptxsim::syntax;
using ptxsim::Error;

std::string TokenStream::spell(const Token &token) {
  if (token.kind == Token::Kind::End)
    return "the end of the text";
  return "'" + std::string(token.text.substr(0, 40)) + "'";
}

TokenStream::TokenStream(Module &module)
    : module(module), lexer(module.text, module.name) {
  token = lexer.next();
  ahead = lexer.next();
}

void TokenStream::failAt(uint32_t line, const std::string &message) const {
  throw Error(Error::Kind::Syntax,
              module.name + ":" + std::to_string(line) + ": " + message, line);
}

void TokenStream::fail(const std::string &expected) const {
  failAt(token.line, "expected " + expected + ", got " + spell(token));
}

void TokenStream::advance() {
  token = ahead;
  if (ahead.kind != Token::Kind::End)
    ahead = lexer.next();
}

bool TokenStream::accept(char symbol) {
  if (!token.is(symbol))
    return false;
  advance();
  return true;
}

void TokenStream::expect(char symbol, const char *where) {
  if (!accept(symbol))
    fail(std::string("'") + symbol + "' " + where);
}

std::string_view TokenStream::expectWord(const char *what) {
  if (token.kind != Token::Kind::Word)
    fail(what);
  std::string_view text = token.text;
  advance();
  return text;
}

uint64_t TokenStream::expectInteger(const char *what) {
  if (token.kind != Token::Kind::Integer)
    fail(what);
  uint64_t bits = token.bits;
  advance();
  return bits;
}

uint32_t TokenStream::expectCount(const std::string &what, uint32_t least) {
  uint32_t line = token.line;
  uint64_t value = expectInteger(what.c_str());
  if (value < least || value > UINT32_MAX)
    failAt(line, "expected " + what + " from " + std::to_string(least) +
                     " to 2^32-1, got " + std::to_string(value));
  return uint32_t(value);
}

void TokenStream::skipTo(char symbol) {
  while (!token.is(symbol)) {
    if (token.kind == Token::Kind::End)
      fail(std::string("'") + symbol + "'");
    advance();
  }
  advance();
}

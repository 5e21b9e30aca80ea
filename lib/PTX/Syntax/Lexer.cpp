//===- Lexer.cpp - Tokens of PTX text ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Lexer.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>

using namespace ptxsim::syntax;
using ptxsim::Error;

namespace {

/// Character classes, looked up once per character.
enum CharClass : uint8_t { kStart = 1, kInner = 2, kDigit = 4, kHex = 8 };

constexpr std::array<uint8_t, 256> makeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    bool digit = c >= '0' && c <= '9';
    if (lower || upper || c == '_' || c == '$' || c == '%')
      classes[c] |= kStart | kInner;
    if (digit)
      classes[c] |= kInner | kDigit | kHex;
    if (c == '.')
      classes[c] |= kInner;
    if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
      classes[c] |= kHex;
  }
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = makeClasses();

bool isClass(char c, uint8_t wanted) {
  return kClasses[static_cast<unsigned char>(c)] & wanted;
}

} // namespace

Lexer::Lexer(std::string_view text, std::string_view name)
    : text(text), name(name) {}

void Lexer::fail(const std::string &message) const {
  throw Error(Error::Kind::Syntax,
              std::string(name) + ":" + std::to_string(line) + ": " + message,
              line);
}

Token Lexer::make(Token::Kind kind, size_t end) {
  Token token;
  token.kind = kind;
  token.text = text.substr(at, end - at);
  token.line = line;
  at = end;
  return token;
}

void Lexer::skipBlanks() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos)
        fail("expected */, got the end of the text inside a comment");
      for (; at < end + 2; ++at)
        line += text[at] == '\n';
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skipBlanks();
  if (at >= text.size())
    return make(Token::Kind::End, at);
  char c = text[at];
  if (isClass(c, kDigit))
    return number();
  if (c == '.') {
    size_t end = at + 1;
    while (end < text.size() && isClass(text[end], kInner) && text[end] != '.')
      ++end;
    if (end == at + 1)
      fail("expected the name of a directive after '.'");
    return make(Token::Kind::Directive, end);
  }
  if (c == '"')
    return string();
  // A '%' alone is the remainder operator of constant expressions.
  if (isClass(c, kStart) &&
      !(c == '%' && (at + 1 == text.size() || !isClass(text[at + 1], kStart))))
    return word();
  return symbol();
}

Token Lexer::word() {
  size_t end = at + 1;
  while (end < text.size()) {
    if (isClass(text[end], kInner))
      ++end;
    // "::" continues a modifier (shared::cta); a single ':' ends a label.
    else if (text.substr(end, 2) == "::")
      end += 2;
    else
      break;
  }
  return make(Token::Kind::Word, end);
}

Token Lexer::string() {
  size_t end = at + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size() || text[end] != '"')
    fail("expected \", got the end of the line inside a string");
  ++at;
  Token token = make(Token::Kind::String, end);
  ++at;
  return token;
}

Token Lexer::symbol() {
  constexpr std::string_view kSymbols = ",;:{}[]()<>@!|=+-*/%&^~?";
  if (kSymbols.find(text[at]) == std::string_view::npos)
    fail(std::string("unexpected character '") + text[at] + "'");
  return make(Token::Kind::Symbol, at + 1);
}

Token Lexer::hexFloat() {
  bool isDouble = text[at + 1] == 'd' || text[at + 1] == 'D';
  size_t digits = isDouble ? 16 : 8, end = at + 2;
  while (end < text.size() && isClass(text[end], kHex))
    ++end;
  if (end - at - 2 != digits)
    fail("expected " + std::to_string(digits) + " hexadecimal digits after " +
         std::string(text.substr(at, 2)) + ", got " +
         std::to_string(end - at - 2));
  Token token = make(Token::Kind::Float, end);
  std::from_chars(token.text.data() + 2, token.text.data() + token.text.size(),
                  token.bits, 16);
  token.floatBits = isDouble ? 64 : 32;
  return token;
}

Token Lexer::decimalFloat(size_t end) {
  Token token = make(Token::Kind::Float, end);
  double value = std::strtod(std::string(token.text).c_str(), nullptr);
  token.bits = std::bit_cast<uint64_t>(value);
  token.floatBits = 64;
  return token;
}

Token Lexer::integer() {
  int base = 10;
  size_t begin = at;
  if (text[at] == '0' && at + 1 < text.size()) {
    char c = text[at + 1];
    base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
    begin = at + (base == 8 ? 0 : 2);
  }
  uint64_t bits = 0;
  const char *last = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + begin, last, bits, base);
  if (error == std::errc::result_out_of_range)
    fail("integer literal does not fit 64 bits");
  if (error != std::errc())
    fail("expected digits after " + std::string(text.substr(at, 2)));
  size_t end = stop - text.data();
  bool isUnsigned = end < text.size() && (text[end] == 'U' || text[end] == 'u');
  end += isUnsigned;
  if (end < text.size() && isClass(text[end], kStart | kDigit) &&
      text[end] != '%')
    fail("malformed number " +
         std::string(text.substr(at, std::min<size_t>(end + 1 - at, 24))));
  Token token = make(Token::Kind::Integer, end);
  token.bits = bits;
  token.isUnsigned = isUnsigned;
  return token;
}

Token Lexer::number() {
  char second = at + 1 < text.size() ? char(std::tolower(text[at + 1])) : ' ';
  if (text[at] == '0' && (second == 'f' || second == 'd'))
    return hexFloat();
  if (second == 'x' || second == 'b')
    return integer();
  size_t end = at;
  while (end < text.size() && isClass(text[end], kDigit))
    ++end;
  bool isFloat = false;
  if (end < text.size() && text[end] == '.') {
    isFloat = true;
    for (++end; end < text.size() && isClass(text[end], kDigit);)
      ++end;
  }
  if (end < text.size() && std::tolower(text[end]) == 'e') {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-'))
      ++digits;
    if (digits < text.size() && isClass(text[digits], kDigit)) {
      isFloat = true;
      for (end = digits; end < text.size() && isClass(text[end], kDigit);)
        ++end;
    }
  }
  return isFloat ? decimalFloat(end) : integer();
}

//===- Expression.cpp - Numbers of a trips file ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"

#include <cctype>
#include <charconv>

namespace ptxsim::timing {
namespace {

/// Nested parentheses and signs.
constexpr unsigned kMostDepth = 64;

class Parser {
public:
  Parser(std::string_view text, const std::map<std::string, int64_t> &names)
      : whole(text), rest(text), names(names) {}
  int64_t run() {
    int64_t value = sum();
    if (peek())
      fail("an operator", std::string(1, peek()));
    return value;
  }

private:
  int64_t sum();
  int64_t product();
  int64_t factor();
  int64_t operand();
  /// Returns the next character that is no blank, 0 at the end.
  char peek() {
    size_t first = std::min(rest.find_first_not_of(" \t\n"), rest.size());
    rest.remove_prefix(first);
    return rest.empty() ? 0 : rest[0];
  }
  bool takes(char c) {
    if (peek() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  [[noreturn]] void fail(const std::string &expected,
                         const std::string &got) const {
    throw ExpressionError("expected " + expected + " in '" +
                          std::string(whole) + "', got " +
                          (got.empty() ? "its end" : "'" + got + "'"));
  }
  static int64_t checked(bool overflows, int64_t value) {
    if (overflows)
      throw ExpressionError("expected a number of 64 bits, got a larger one");
    return value;
  }

  std::string_view whole, rest;
  unsigned depth = 0;
  const std::map<std::string, int64_t> &names;
};

int64_t Parser::sum() {
  int64_t value = product();
  while (true) {
    bool adds = takes('+');
    if (!adds && !takes('-'))
      return value;
    int64_t other = product(), result = 0;
    bool overflows = adds ? __builtin_add_overflow(value, other, &result)
                          : __builtin_sub_overflow(value, other, &result);
    value = checked(overflows, result);
  }
}

int64_t Parser::product() {
  int64_t value = factor();
  while (true) {
    if (takes('*')) {
      int64_t result = 0;
      bool overflows = __builtin_mul_overflow(value, factor(), &result);
      value = checked(overflows, result);
    } else if (takes('/')) {
      int64_t by = factor();
      if (by <= 0)
        fail("a divisor above 0", std::to_string(by));
      value = value / by - (value % by < 0);
    } else {
      return value;
    }
  }
}

int64_t Parser::factor() {
  if (depth > kMostDepth)
    throw ExpressionError("expected at most " + std::to_string(kMostDepth) +
                          " nested parentheses and signs, got more");
  ++depth;
  int64_t value = operand();
  --depth;
  return value;
}

int64_t Parser::operand() {
  if (takes('(')) {
    int64_t value = sum();
    if (!takes(')'))
      fail("')'", std::string(rest.substr(0, 1)));
    return value;
  }
  if (takes('-')) {
    int64_t result = 0;
    bool overflows = __builtin_sub_overflow(int64_t(0), factor(), &result);
    return checked(overflows, result);
  }
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  size_t size = 0;
  for (peek(); size < rest.size() && isWord(rest[size]);)
    ++size;
  std::string word(rest.substr(0, size));
  if (word.empty())
    fail("a number or a parameter", std::string(rest.substr(0, 1)));
  rest.remove_prefix(size);
  int64_t value = 0;
  const char *end = word.data() + word.size();
  if (auto [last, error] = std::from_chars(word.data(), end, value);
      error == std::errc() && last == end)
    return value;
  if (auto found = names.find(word); found != names.end())
    return found->second;
  std::string known;
  for (const auto &[name, of] : names)
    known += (known.empty() ? "" : ", ") + name;
  fail("a number or a parameter (" + (known.empty() ? "none" : known) + ")",
       word);
}

} // namespace

int64_t valueOf(std::string_view text,
                const std::map<std::string, int64_t> &names) {
  return Parser(text, names).run();
}

} // namespace ptxsim::timing

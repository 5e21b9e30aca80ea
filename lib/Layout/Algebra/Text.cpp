//===- Text.cpp - Layouts from text ---------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Text.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace fmha::layout::algebra {

/// Deeper trees are an error, so that no text overflows the stack.
static constexpr unsigned mostDepth = 32;

bool Reader::startsWith(std::string_view word) {
  return text.substr(position()).starts_with(word);
}

bool Reader::accept(std::string_view word) {
  if (!startsWith(word))
    return false;
  at += word.size();
  return true;
}

void Reader::expect(std::string_view word) {
  if (!accept(word))
    fail("'" + std::string(word) + "'");
}

bool Reader::atEnd() { return position() == text.size(); }

size_t Reader::position() {
  while (at < text.size() &&
         std::string_view(" \t\n\r").find(text[at]) != std::string_view::npos)
    ++at;
  return at;
}

std::string_view Reader::word() {
  size_t begin = position();
  while (at < text.size() &&
         (std::isalnum(uint8_t(text[at])) || text[at] == '_'))
    ++at;
  return text.substr(begin, at - begin);
}

void Reader::fail(const std::string &expected) {
  size_t begin = position();
  std::string got = begin == text.size()
                        ? "the end"
                        : "'" + std::string(text.substr(begin, 12)) + "'";
  failAt(begin, "expected " + expected + ", got " + got);
}

void Reader::failAt(size_t position, const std::string &message) const {
  std::string_view before = text.substr(0, position);
  size_t lines = std::count(before.begin(), before.end(), '\n');
  size_t start = lines ? before.rfind('\n') + 1 : 0;
  bool one = text.find('\n') == text.npos;
  throw TextError((one ? "" : "line " + std::to_string(lines + 1) + ", ") +
                      "column " + std::to_string(position - start + 1) + ": " +
                      message,
                  position, message);
}

int64_t Reader::integer() {
  size_t begin = position();
  if (begin < text.size() && text[begin] == '_')
    ++begin;
  int64_t value = 0;
  auto [end, code] =
      std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range)
    fail("an integer below 2^63");
  if (code != std::errc())
    fail("an integer");
  at = size_t(end - text.data());
  return value;
}

IntTuple Reader::intTuple(unsigned depth) {
  if (depth > mostDepth)
    fail("at most " + std::to_string(mostDepth) + " nested parentheses");
  if (!accept("("))
    return integer();
  std::vector<IntTuple> modes;
  do
    modes.push_back(intTuple(depth + 1));
  while (accept(","));
  expect(")");
  return IntTuple::tuple(std::move(modes));
}

IntTuple Reader::intTuple() { return intTuple(0); }

Layout Reader::layout() { return layoutOf(intTuple()); }

Layout Reader::layoutOf(const IntTuple &shape) {
  return accept(":") ? Layout(shape, intTuple()) : Layout::columnMajor(shape);
}

ComposedLayout Reader::composedLayout() {
  if (!accept("Sw<") && !accept("S<")) {
    IntTuple first = intTuple();
    if (first.isLeaf() && accept("o"))
      return {Swizzle(), first.value(), layout()};
    return {Swizzle(), 0, layoutOf(first)};
  }
  size_t begin = position();
  int64_t numbers[3];
  for (int64_t &number : numbers) {
    number = integer();
    expect(&number == &numbers[2] ? ">" : ",");
    if (number < -62 || number > 62)
      failAt(begin, "expected numbers of a swizzle from -62 to 62, got " +
                        std::to_string(number));
  }
  Swizzle swizzle{int(numbers[0]), int(numbers[1]), int(numbers[2])};
  expect("o");
  int64_t offset = integer();
  expect("o");
  return {swizzle, offset, layout()};
}

/// Returns what `read` reads, which must be all of the text.
template <typename Read> static auto readAll(std::string_view text, Read read) {
  Reader reader(text);
  auto result = read(reader);
  if (!reader.atEnd())
    reader.fail("the end");
  return result;
}

IntTuple parseIntTuple(std::string_view text) {
  return readAll(text, [](Reader &reader) { return reader.intTuple(); });
}

Layout parseLayout(std::string_view text) {
  return readAll(text, [](Reader &reader) { return reader.layout(); });
}

ComposedLayout parseComposedLayout(std::string_view text) {
  return readAll(text, [](Reader &reader) { return reader.composedLayout(); });
}

} // namespace fmha::layout::algebra

//===- Expression.cpp - The text form -------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   statement   [NAME =] value
//   value       integers [: strides]      a shape or a layout
//               Sw<B,M,S> o OFFSET o layout
//               FUNCTION(value, ...)      see Functions.cpp
//               NAME                      a definition or an instruction
//               (value, ...) and _        a tiler by mode
//
//===----------------------------------------------------------------------===//

#include "Expression.h"

#include "Functions.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Text.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace fmha::layouttool {
namespace {

using Definitions = std::map<std::string, Value, std::less<>>;

/// Deeper expressions are an error, so that no text overflows the stack.
constexpr unsigned mostDepth = 64;
constexpr size_t mostCharacters = 65536;

class Evaluator {
public:
  Evaluator(std::string_view text, const Definitions &definitions)
      : reader(text), definitions(definitions) {}

  Value all() {
    Value result = value();
    if (!reader.atEnd())
      reader.fail("the end");
    return result;
  }

private:
  Value value();
  Value named();
  Value call(const Function &function, size_t position);
  Value group();
  /// Returns `shape`, or the layout of it if strides follow, or with an offset
  /// before "o".
  Value withStrides(const IntTuple &shape);

  Reader reader;
  const Definitions &definitions;
  unsigned depth = 0;
};

Value Evaluator::withStrides(const IntTuple &shape) {
  if (shape.isLeaf() && reader.accept("o"))
    return ComposedLayout{{}, shape.value(), reader.layout()};
  if (!reader.startsWith(":"))
    return shape;
  return ComposedLayout{{}, 0, reader.layoutOf(shape)};
}

/// Reads a parenthesis: integers, or a tiler by mode.
Value Evaluator::group() {
  reader.expect("(");
  std::vector<Value> parts;
  do
    parts.push_back(value());
  while (reader.accept(","));
  reader.expect(")");
  bool integers = std::all_of(parts.begin(), parts.end(), [](const Value &v) {
    return std::holds_alternative<IntTuple>(v);
  });
  if (!integers) {
    std::vector<Tiler> tilers;
    for (const Value &part : parts)
      tilers.push_back(asTiler(part));
    return Tiler::byMode(std::move(tilers));
  }
  std::vector<IntTuple> modes;
  for (const Value &part : parts)
    modes.push_back(std::get<IntTuple>(part));
  return withStrides(IntTuple::tuple(std::move(modes)));
}

Value Evaluator::call(const Function &function, size_t position) {
  std::vector<Value> arguments;
  do
    arguments.push_back(value());
  while (reader.accept(","));
  reader.expect(")");
  std::string name = function.name;
  if (arguments.size() < function.least || arguments.size() > function.most)
    reader.failAt(position,
                  name + ": expected " +
                      (function.least == function.most
                           ? ""
                           : std::to_string(function.least) + " to ") +
                      std::to_string(function.most) + " arguments, got " +
                      std::to_string(arguments.size()));
  try {
    return function.apply(arguments);
  } catch (const LayoutError &error) {
    std::string message = error.what();
    reader.failAt(position,
                  message.starts_with(name) ? message : name + ": " + message);
  }
}

Value Evaluator::named() {
  size_t position = reader.position();
  std::string name(reader.word());
  if (reader.accept("(")) {
    if (const Function *function = findFunction(name))
      return call(*function, position);
    reader.failAt(position, "expected a function, got '" + name +
                                "'; fmha-layout --help lists them");
  }
  if (auto found = definitions.find(name); found != definitions.end())
    return found->second;
  try {
    if (std::optional<Value> atom = findAtom(name))
      return *atom;
  } catch (const LayoutError &error) {
    reader.failAt(position, error.what());
  }
  reader.failAt(position,
                "expected a layout, a function, an instruction or a name that "
                "was defined, got '" +
                    name + "'; fmha-layout --help lists them");
}

Value Evaluator::value() {
  if (++depth > mostDepth)
    reader.fail("at most " + std::to_string(mostDepth) + " nested values");
  struct Leave {
    unsigned &depth;
    ~Leave() { --depth; }
  } leave{depth};
  if (reader.startsWith("("))
    return group();
  if (reader.startsWith("Sw<") || reader.startsWith("S<"))
    return reader.composedLayout();
  Reader rest = reader;
  std::string_view word = rest.word();
  bool number = std::all_of(word.begin(), word.end(), [](char c) {
    return c == '_' || std::isdigit(uint8_t(c));
  });
  if (word == "_") {
    reader.expect("_");
    return Tiler();
  }
  return number ? withStrides(reader.integer()) : named();
}

/// One statement: where it begins and ends.
struct Statement {
  size_t begin, end;
};

/// Divides a text at ends of lines, unless a parenthesis is open, and at ';'.
std::vector<Statement> statementsOf(std::string_view text) {
  std::vector<Statement> statements;
  int open = 0;
  size_t first = 0;
  auto end = [&](size_t i) {
    std::string_view part = text.substr(first, i - first);
    if (part.find_first_not_of(" \t\r\n") != part.npos)
      statements.push_back({first, i});
    first = i + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != ';' && (text[i] != '\n' || open > 0))
      continue;
    end(i);
    open = 0;
  }
  end(text.size());
  return statements;
}

/// Returns the text with blanks for comments.
std::string withoutComments(std::string_view text) {
  std::string result(text);
  bool comment = false;
  for (char &c : result) {
    comment = c != '\n' && (comment || c == '#');
    if (comment)
      c = ' ';
  }
  return result;
}

/// Returns the name that a statement defines, or none, and its expression after
/// blanks for what precedes it, so that lines and columns are right.
std::pair<std::string, std::string> splitName(std::string_view text,
                                              Statement statement) {
  Reader reader(text.substr(statement.begin, statement.end - statement.begin));
  std::string name(reader.word());
  bool defines = !name.empty() && !std::isdigit(uint8_t(name[0]));
  size_t begin = statement.begin;
  if (defines && reader.accept("="))
    begin += reader.position();
  else
    name.clear();
  std::string expression(text.substr(0, statement.end));
  for (size_t i = 0; i < begin; ++i)
    if (expression[i] != '\n')
      expression[i] = ' ';
  return {name, expression};
}

} // namespace

Value evaluate(std::string_view text) {
  if (text.size() > mostCharacters)
    throw LayoutError("expected at most " + std::to_string(mostCharacters) +
                      " characters, got " + std::to_string(text.size()));
  std::string plain = withoutComments(text);
  Definitions definitions;
  std::optional<Value> last;
  for (Statement statement : statementsOf(plain)) {
    auto [name, expression] = splitName(plain, statement);
    last = Evaluator(expression, definitions).all();
    if (!name.empty())
      definitions.insert_or_assign(name, *last);
  }
  if (!last)
    throw LayoutError("expected a layout, such as (4,8):(8,1), got nothing");
  return *last;
}

} // namespace fmha::layouttool

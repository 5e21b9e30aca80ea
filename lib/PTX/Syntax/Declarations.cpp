//===- Declarations.cpp - Variables and initializers ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Parser.h"

#include "ParserImpl.h"

#include <algorithm>
#include <array>
#include <bit>

using namespace ptxsim::syntax;

namespace {

struct SpaceName {
  std::string_view directive;
  Variable::Space space;
};
constexpr std::array<SpaceName, 7> kSpaces = {
    {{".reg", Variable::Space::Reg},
     {".global", Variable::Space::Global},
     {".shared", Variable::Space::Shared},
     {".local", Variable::Space::Local},
     {".const", Variable::Space::Const},
     {".param", Variable::Space::Param},
     {".tex", Variable::Space::Tex}}};

const SpaceName *findSpace(const Token &token) {
  if (token.kind == Token::Kind::Directive)
    for (const SpaceName &entry : kSpaces)
      if (entry.directive == token.text)
        return &entry;
  return nullptr;
}

/// The same limit as in ptxas.
constexpr uint64_t kMostAlign = uint64_t(1) << 31;

} // namespace

bool DeclarationParser::startsVariable() const { return findSpace(token); }

Variable DeclarationParser::parseVariableSpecifiers() {
  Variable variable;
  variable.line = token.line;
  const SpaceName *space = findSpace(token);
  variable.space = space->space;
  advance();
  while (token.kind == Token::Kind::Directive) {
    std::string_view text = token.text.substr(1);
    if (text == "align") {
      advance();
      uint32_t line = token.line;
      uint64_t align = expectInteger("an alignment");
      if (align > kMostAlign || !std::has_single_bit(align))
        failAt(line, "expected an alignment that is a power of two and at "
                     "most 2^31, got " +
                         std::to_string(align));
      variable.align = uint32_t(align);
      continue;
    }
    if (text == "attribute") {
      skipTo(')');
      continue;
    }
    if (text == "v2" || text == "v4" || text == "v8")
      variable.vector = text[1] - '0';
    else if (typeBits(text))
      variable.type = text;
    // The space of a pointer parameter's target (.ptr .global) has no effect
    // here.
    else if (text != "ptr" && !findSpace(token))
      fail("a type, .align, .ptr or a vector size");
    advance();
  }
  if (variable.type.empty())
    fail("a type such as .b32");
  return variable;
}

void DeclarationParser::parseDeclarator(Variable &variable) {
  variable.line = token.line;
  variable.name = expectWord("the name of a variable");
  if (accept('<')) {
    uint32_t line = token.line;
    uint64_t count = expectInteger("the number of registers");
    if (variable.space != Variable::Space::Reg || count > (1u << 24))
      failAt(line, "expected a register range of at most 2^24, got <" +
                       std::to_string(count) + ">");
    variable.rangeCount = uint32_t(count);
    expect('>', "after the number of registers");
  }
  while (accept('[')) {
    variable.dimensions.push_back(token.is(']') ? 0 : parseExpression());
    expect(']', "after an array size");
  }
  if (accept('='))
    parseInitializer(variable);
  if (!variable.dimensions.empty() && variable.dimensions[0] == 0 &&
      !variable.initializer.empty()) {
    uint64_t inner = 1;
    for (size_t i = 1; i < variable.dimensions.size(); ++i)
      inner *= std::max<uint64_t>(variable.dimensions[i], 1);
    inner = std::max<uint64_t>(inner, 1);
    variable.dimensions[0] = (variable.initializer.size() + inner - 1) / inner;
  }
  checkSize(variable);
}

namespace {

/// Returns the maximum size of a variable of each space, in bytes, so that
/// sizes, offsets and sums of a few of them fit their types: 4 GiB of global
/// memory, 64 KiB of constants, less than the 24 bits of a shared address, and
/// 32764 bytes of a parameter.
uint64_t mostBytes(Variable::Space space) {
  switch (space) {
  case Variable::Space::Global:
    return uint64_t(1) << 32;
  case Variable::Space::Const:
    return uint64_t(1) << 16;
  case Variable::Space::Shared:
  case Variable::Space::Local:
    return (uint64_t(1) << 24) - 1;
  case Variable::Space::Reg:
  case Variable::Space::Param:
  case Variable::Space::Tex:
    break;
  }
  return 32764;
}

} // namespace

/// Rejects sizes beyond any hardware, and products that overflow.
void DeclarationParser::checkSize(const Variable &variable) const {
  uint64_t most = mostBytes(variable.space);
  uint64_t bytes = (typeBits(variable.type) + 7) / 8 * variable.vector;
  std::string extents;
  bool fits = true;
  for (uint64_t extent : variable.dimensions) {
    extents += "[" + std::to_string(extent) + "]";
    // Not a product, which may overflow; zero is an array of unknown size.
    fits = fits && extent <= most / std::max<uint64_t>(bytes, 1);
    bytes *= fits ? extent : 1;
  }
  if (!fits)
    failAt(variable.line, "expected at most " + std::to_string(most) +
                              " bytes for '" + std::string(variable.name) +
                              "', got " + extents + " elements of ." +
                              std::string(variable.type));
}

std::vector<Variable> DeclarationParser::parseVariables(Variable prototype) {
  Variable specifiers = parseVariableSpecifiers();
  specifiers.isExtern = prototype.isExtern;
  specifiers.isVisible = prototype.isVisible;
  specifiers.isWeak = prototype.isWeak;
  std::vector<Variable> variables;
  do {
    Variable variable = specifiers;
    parseDeclarator(variable);
    variables.push_back(std::move(variable));
  } while (accept(','));
  expect(';', "after a declaration");
  return variables;
}

Operand DeclarationParser::parseInitializerElement() {
  Nesting nesting(*this);
  if (startsConstant()) {
    Operand constant = parseConstant();
    // mask(symbol): one byte of an address, written 0xFF00(symbol).
    if (!token.is('('))
      return constant;
    advance();
    Operand element = parseInitializerElement();
    expect(')', "after a masked address");
    element.bits = constant.bits;
    return element;
  }
  if (token.isWord("generic")) {
    advance();
    expect('(', "after generic");
    Operand element = parseNameOperand();
    expect(')', "after generic(symbol");
    if (token.is('+') || token.is('-'))
      element.offset += parseOffset();
    return element;
  }
  return parseNameOperand();
}

void DeclarationParser::parseInitializer(Variable &variable) {
  Nesting nesting(*this);
  if (!accept('{')) {
    variable.initializer.push_back(parseInitializerElement());
    return;
  }
  while (!token.is('}')) {
    if (token.is('{'))
      parseInitializer(variable);
    else
      variable.initializer.push_back(parseInitializerElement());
    if (!accept(','))
      break;
  }
  expect('}', "after an initializer");
}

//===- Parser.cpp - Parses PTX text to a tree -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Parser.h"

#include "ParserImpl.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <map>

using namespace ptxsim::syntax;
using ptxsim::Error;

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

std::string Parser::spell(const Token &token) {
  if (token.kind == Token::Kind::End)
    return "the end of the text";
  return "'" + std::string(token.text.substr(0, 40)) + "'";
}

Parser::Parser(Module &module)
    : module(module), lexer(module.text, module.name) {
  token = lexer.next();
  ahead = lexer.next();
}

void Parser::failAt(uint32_t line, const std::string &message) const {
  throw Error(Error::Kind::Syntax,
              module.name + ":" + std::to_string(line) + ": " + message, line);
}

void Parser::fail(const std::string &expected) const {
  failAt(token.line, "expected " + expected + ", got " + spell(token));
}

void Parser::advance() {
  token = ahead;
  if (ahead.kind != Token::Kind::End)
    ahead = lexer.next();
}

bool Parser::accept(char symbol) {
  if (!token.is(symbol))
    return false;
  advance();
  return true;
}

void Parser::expect(char symbol, const char *where) {
  if (!accept(symbol))
    fail(std::string("'") + symbol + "' " + where);
}

std::string_view Parser::expectWord(const char *what) {
  if (token.kind != Token::Kind::Word)
    fail(what);
  std::string_view text = token.text;
  advance();
  return text;
}

uint64_t Parser::expectInteger(const char *what) {
  if (token.kind != Token::Kind::Integer)
    fail(what);
  uint64_t bits = token.bits;
  advance();
  return bits;
}

uint32_t Parser::expectCount(const std::string &what, uint32_t least) {
  uint32_t line = token.line;
  uint64_t value = expectInteger(what.c_str());
  if (value < least || value > UINT32_MAX)
    failAt(line, "expected " + what + " from " + std::to_string(least) +
                     " to 2^32-1, got " + std::to_string(value));
  return uint32_t(value);
}

void Parser::skipTo(char symbol) {
  while (!token.is(symbol)) {
    if (token.kind == Token::Kind::End)
      fail(std::string("'") + symbol + "'");
    advance();
  }
  advance();
}

void Parser::parseModule() {
  parseHeader();
  while (token.kind != Token::Kind::End)
    parseTopLevel();
}

bool Parser::parseModuleDirective() {
  if (token.isDirective(".address_size")) {
    advance();
    module.addressSize = expectInteger("32 or 64");
    if (module.addressSize != 64 && module.addressSize != 32)
      failAt(token.line, "expected .address_size 64, got " +
                             std::to_string(module.addressSize));
    return true;
  }
  if (token.isDirective(".file")) {
    advance();
    uint32_t index = expectCount("a file number");
    if (token.kind != Token::Kind::String)
      fail("a file name in quotes");
    module.files.push_back({index, std::string(token.text)});
    advance();
    while (accept(','))
      expectInteger("a time stamp or size");
    return true;
  }
  if (token.isDirective(".section")) {
    parseSection();
    return true;
  }
  if (token.isDirective(".pragma") || token.isDirective(".alias")) {
    skipTo(';');
    return true;
  }
  return false;
}

void Parser::parseSection() {
  advance();
  advance(); // The name: .debug_info lexes as a directive.
  expect('{', "after the name of a section");
  skipTo('}');
}

void Parser::parseTopLevel() {
  if (accept(';') || parseModuleDirective())
    return;
  Variable prototype;
  Function function;
  while (token.kind == Token::Kind::Directive) {
    std::string_view text = token.text;
    prototype.isExtern |= text == ".extern";
    prototype.isVisible |= text == ".visible";
    prototype.isWeak |= text == ".weak" || text == ".common";
    if (text == ".entry" || text == ".func") {
      function.isEntry = text == ".entry";
      function.isExtern = prototype.isExtern;
      function.isVisible = prototype.isVisible;
      function.isWeak = prototype.isWeak;
      return parseFunction(std::move(function));
    }
    if (findSpace(token)) {
      for (Variable &variable : parseVariables(prototype))
        module.variables.push_back(std::move(variable));
      return;
    }
    if (text != ".extern" && text != ".visible" && text != ".weak" &&
        text != ".common")
      fail("a module directive");
    advance();
  }
  fail(".entry, .func or a variable");
}

void Parser::parseFunction(Function function) {
  advance();
  function.line = token.line;
  while (token.isDirective(".attribute"))
    skipTo(')');
  if (token.is('('))
    function.results = parseParameterList();
  function.name = expectWord("the name of the function");
  if (token.is('('))
    function.parameters = parseParameterList();
  while (token.kind == Token::Kind::Directive)
    parseFunctionDirective(function);
  checkDirectives(function);
  if (accept(';')) {
    function.isPrototype = true;
  } else {
    if (!token.is('{'))
      fail("'{' or ';' after the head of function " +
           std::string(function.name));
    advance();
    parseBlock(function.body);
  }
  module.functions.push_back(std::move(function));
}

std::vector<Variable> Parser::parseParameterList() {
  std::vector<Variable> parameters;
  expect('(', "before parameters");
  while (!token.is(')')) {
    if (!findSpace(token))
      fail("'.param' or '.reg'");
    Variable variable = parseVariableSpecifiers();
    if (token.kind == Token::Kind::Word)
      parseDeclarator(variable);
    parameters.push_back(std::move(variable));
    if (!accept(','))
      break;
  }
  expect(')', "after parameters");
  return parameters;
}

Variable Parser::parseVariableSpecifiers() {
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

void Parser::parseDeclarator(Variable &variable) {
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
    parseInitialiser(variable);
  if (!variable.dimensions.empty() && variable.dimensions[0] == 0 &&
      !variable.initialiser.empty()) {
    uint64_t inner = 1;
    for (size_t i = 1; i < variable.dimensions.size(); ++i)
      inner *= std::max<uint64_t>(variable.dimensions[i], 1);
    inner = std::max<uint64_t>(inner, 1);
    variable.dimensions[0] = (variable.initialiser.size() + inner - 1) / inner;
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
void Parser::checkSize(const Variable &variable) const {
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

std::vector<Variable> Parser::parseVariables(Variable prototype) {
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

void Parser::parseBlock(Block &block) {
  Nesting nesting(*this);
  while (!token.is('}')) {
    if (token.kind == Token::Kind::End)
      fail("'}' at the end of a block");
    parseStatement(block);
  }
  advance();
}

void Parser::parseStatement(Block &block) {
  if (accept(';'))
    return;
  if (token.is('{')) {
    Statement statement;
    statement.kind = Statement::Kind::Scope;
    statement.line = token.line;
    statement.scope = std::make_unique<Block>();
    advance();
    parseBlock(*statement.scope);
    block.push_back(std::move(statement));
    return;
  }
  if (token.kind == Token::Kind::Directive) {
    if (!parseStatementDirective(block))
      fail("an instruction, a label or a declaration");
    return;
  }
  if (token.kind == Token::Kind::Word && ahead.is(':'))
    return parseLabel(block);
  parseInstruction(block);
}

bool Parser::parseStatementDirective(Block &block) {
  if (findSpace(token)) {
    Statement statement;
    statement.kind = Statement::Kind::Variable;
    statement.line = token.line;
    statement.variables = parseVariables(Variable());
    block.push_back(std::move(statement));
    return true;
  }
  if (token.isDirective(".loc")) {
    parseLoc(block);
    return true;
  }
  if (token.isDirective(".pragma")) {
    skipTo(';');
    return true;
  }
  return false;
}

void Parser::parseLoc(Block &block) {
  Statement statement;
  statement.kind = Statement::Kind::Loc;
  statement.line = token.line;
  advance();
  statement.file = expectCount("a file number");
  statement.fileLine = expectCount("a line number");
  expectInteger("a column");
  // ", function_name $L__info + 7, inlined_at 1 20 3": the location of the
  // call.
  while (accept(',')) {
    std::string_view word = expectWord("function_name or inlined_at");
    if (word == "function_name") {
      expectWord("a label");
      parseOffset();
    } else if (word == "inlined_at") {
      for (int i = 0; i < 3; ++i)
        expectInteger("a file, line and column");
    } else {
      failAt(statement.line, "expected function_name or inlined_at, got '" +
                                 std::string(word) + "'");
    }
  }
  block.push_back(std::move(statement));
}

void Parser::parseLabel(Block &block) {
  Statement statement;
  statement.kind = Statement::Kind::Label;
  statement.line = token.line;
  statement.label = token.text;
  advance();
  advance();
  static const std::map<std::string_view, Statement::Kind> kTargets = {
      {".branchtargets", Statement::Kind::BranchTargets},
      {".calltargets", Statement::Kind::CallTargets},
      {".callprototype", Statement::Kind::CallPrototype}};
  if (token.kind == Token::Kind::Directive) {
    if (auto found = kTargets.find(token.text); found != kTargets.end()) {
      statement.kind = found->second;
      advance();
      parseTargets(statement);
    }
  }
  block.push_back(std::move(statement));
}

void Parser::parseTargets(Statement &statement) {
  if (statement.kind == Statement::Kind::CallPrototype) {
    if (token.is('('))
      parseParameterList();
    expectWord("'_' as the name of a prototype");
    if (token.is('('))
      parseParameterList();
    Function ignored;
    while (token.kind == Token::Kind::Directive)
      parseFunctionDirective(ignored);
  } else {
    do
      statement.targets.push_back(expectWord("a label or function"));
    while (accept(','));
  }
  expect(';', "after a list of targets");
}

void Parser::parseInstruction(Block &block) {
  Statement statement;
  statement.kind = Statement::Kind::Instruction;
  statement.line = token.line;
  Instruction &inst = statement.instruction;
  const char *start = token.text.data();
  if (accept('@')) {
    inst.guardNegated = accept('!');
    inst.guard = expectWord("a predicate register after '@'");
  }
  inst.line = token.line;
  inst.opcode = expectWord("an instruction");
  for (size_t at = 0; at <= inst.opcode.size();) {
    size_t dot = std::min(inst.opcode.find('.', at), inst.opcode.size());
    inst.parts.push_back(inst.opcode.substr(at, dot - at));
    if (inst.parts.back().empty())
      failAt(inst.line, "empty modifier in '" + std::string(inst.opcode) + "'");
    at = dot + 1;
  }
  if (!isInstruction(inst.parts[0]))
    failAt(inst.line, "expected an instruction, got '" +
                          std::string(inst.parts[0]) +
                          "', which PTX does not have");
  bool isCall = inst.parts[0] == "call";
  while (!token.is(';')) {
    if (token.is('}') || token.kind == Token::Kind::End)
      fail("';' after an instruction");
    inst.operands.push_back(isCall && token.is('(')
                                ? parseList(')', Operand::Kind::List)
                                : parseOperand());
    if (!accept(','))
      break;
  }
  if (token.is(';'))
    inst.text = {start, size_t(token.text.data() + 1 - start)};
  expect(';', "after an instruction");
  block.push_back(std::move(statement));
}

std::unique_ptr<Module> ptxsim::syntax::parse(std::string_view text,
                                              std::string_view name) {
  static std::atomic<uint64_t> nextSerial = 1;
  auto module = std::make_unique<Module>();
  module->serial = nextSerial++;
  module->text = text;
  module->name = name;
  Parser(*module).parseModule();
  checkNames(*module);
  return module;
}

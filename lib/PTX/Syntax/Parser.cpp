//===- Parser.cpp - Parses PTX text to a tree -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Parser.h"

#include "ParserImpl.h"

#include <algorithm>
#include <atomic>
#include <map>

using namespace ptxsim::syntax;

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
    if (startsVariable()) {
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

void FunctionParser::parseFunction(Function function) {
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

std::vector<Variable> FunctionParser::parseParameterList() {
  std::vector<Variable> parameters;
  expect('(', "before parameters");
  while (!token.is(')')) {
    if (!startsVariable())
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

void FunctionParser::parseBlock(Block &block) {
  Nesting nesting(*this);
  while (!token.is('}')) {
    if (token.kind == Token::Kind::End)
      fail("'}' at the end of a block");
    parseStatement(block);
  }
  advance();
}

void FunctionParser::parseStatement(Block &block) {
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

bool FunctionParser::parseStatementDirective(Block &block) {
  if (startsVariable()) {
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

void FunctionParser::parseLoc(Block &block) {
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

void FunctionParser::parseLabel(Block &block) {
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

void FunctionParser::parseTargets(Statement &statement) {
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

void FunctionParser::parseInstruction(Block &block) {
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

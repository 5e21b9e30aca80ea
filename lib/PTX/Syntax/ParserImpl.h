//===- ParserImpl.h - State of the PTX parser -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SYNTAX_PARSERIMPL_H
#define FMHA_LIB_PTX_SYNTAX_PARSERIMPL_H

#include "fmha/PTX/Syntax/AST.h"
#include "fmha/PTX/Syntax/Lexer.h"

#include <string>

namespace ptxsim::syntax {

/// Recursive descent with two tokens of look-ahead.
class Parser {
public:
  explicit Parser(Module &module);
  void parseModule();

private:
  // Header.cpp: .version and .target.
  void parseHeader();
  void parseVersion();
  void parseTarget();

  // Parser.cpp: module, functions, statements.
  void parseTopLevel();
  bool parseModuleDirective();
  void parseSection();
  void parseFunction(Function function);
  void parseFunctionDirective(Function &function);
  void checkDirectives(const Function &function) const;
  std::vector<Variable> parseParameterList();
  void parseBlock(Block &block);
  void parseStatement(Block &block);
  bool parseStatementDirective(Block &block);
  void parseLabel(Block &block);
  void parseTargets(Statement &statement);
  void parseLoc(Block &block);
  void parseInstruction(Block &block);
  std::vector<Variable> parseVariables(Variable prototype);
  Variable parseVariableSpecifiers();
  void parseDeclarator(Variable &variable);
  void checkSize(const Variable &variable) const;
  void skipTo(char symbol);

  // Operands.cpp: operands and constant expressions.
  Operand parseOperand();
  Operand parseNameOperand();
  Operand parseAddress();
  Operand parseList(char close, Operand::Kind kind);
  Operand parseConstant();
  Operand parseInitialiserElement();
  void parseInitialiser(Variable &variable);
  int64_t parseOffset();
  uint64_t parseExpression(int precedence = 0);
  uint64_t parsePrimary();
  bool startsConstant() const;

  // Tokens.
  void advance();
  bool accept(char symbol);
  void expect(char symbol, const char *where);
  std::string_view expectWord(const char *what);
  uint64_t expectInteger(const char *what);
  /// Parses an integer that fits 32 bits and is at least `least`.
  uint32_t expectCount(const std::string &what, uint32_t least = 0);
  [[noreturn]] void fail(const std::string &expected) const;
  [[noreturn]] void failAt(uint32_t line, const std::string &message) const;
  static std::string spell(const Token &token);

  /// Counts nested scopes, lists and expressions, so that a text of a million
  /// brackets is an error and does not overflow the stack.
  class Nesting {
  public:
    explicit Nesting(Parser &parser) : parser(parser) {
      if (++parser.depth > 256)
        parser.failAt(parser.token.line,
                      "expected at most 256 levels of nesting");
    }
    ~Nesting() { --parser.depth; }

  private:
    Parser &parser;
  };

  Module &module;
  unsigned depth = 0;
  Lexer lexer;
  Token token, ahead;
};

} // namespace ptxsim::syntax

#endif // FMHA_LIB_PTX_SYNTAX_PARSERIMPL_H

//===- ParserImpl.h - The PTX parser, layer by layer ------------*- C++ -*-===//
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

/// The tokens of a module, two of look-ahead, and errors at the first of them.
class TokenStream {
protected:
  explicit TokenStream(Module &module);

  void advance();
  bool accept(char symbol);
  void expect(char symbol, const char *where);
  std::string_view expectWord(const char *what);
  uint64_t expectInteger(const char *what);
  /// Parses an integer that fits 32 bits and is at least `least`.
  uint32_t expectCount(const std::string &what, uint32_t least = 0);
  void skipTo(char symbol);
  [[noreturn]] void fail(const std::string &expected) const;
  [[noreturn]] void failAt(uint32_t line, const std::string &message) const;

  /// Counts nested scopes, lists and expressions, so that a text of a million
  /// brackets is an error and does not overflow the stack.
  class Nesting {
  public:
    explicit Nesting(TokenStream &stream) : stream(stream) {
      if (++stream.depth > 256)
        stream.failAt(stream.token.line,
                      "expected at most 256 levels of nesting");
    }
    ~Nesting() { --stream.depth; }

  private:
    TokenStream &stream;
  };

  Module &module;
  Token token, ahead;

private:
  static std::string spell(const Token &token);

  unsigned depth = 0;
  Lexer lexer;
};

/// Recursive descent over operands and constant expressions (Operands.cpp).
class OperandParser : protected TokenStream {
protected:
  using TokenStream::TokenStream;

  Operand parseOperand();
  Operand parseNameOperand();
  Operand parseList(char close, Operand::Kind kind);
  Operand parseConstant();
  int64_t parseOffset();
  uint64_t parseExpression(int precedence = 0);
  bool startsConstant() const;

private:
  Operand parseAddress();
  uint64_t parsePrimary();
};

/// Variables of modules, functions and parameter lists (Declarations.cpp).
class DeclarationParser : protected OperandParser {
protected:
  using OperandParser::OperandParser;

  bool startsVariable() const;
  std::vector<Variable> parseVariables(Variable prototype);
  Variable parseVariableSpecifiers();
  void parseDeclarator(Variable &variable);

private:
  void checkSize(const Variable &variable) const;
  void parseInitializer(Variable &variable);
  Operand parseInitializerElement();
};

/// Functions, their directives (Directives.cpp) and their statements.
class FunctionParser : protected DeclarationParser {
protected:
  using DeclarationParser::DeclarationParser;

  void parseFunction(Function function);

private:
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
};

/// A module: its header (Header.cpp), its directives, variables and functions.
class Parser : FunctionParser {
public:
  explicit Parser(Module &module) : FunctionParser(module) {}
  void parseModule();

private:
  void parseHeader();
  void parseVersion();
  void parseTarget();
  void parseTopLevel();
  bool parseModuleDirective();
  void parseSection();
};

} // namespace ptxsim::syntax

#endif // FMHA_LIB_PTX_SYNTAX_PARSERIMPL_H

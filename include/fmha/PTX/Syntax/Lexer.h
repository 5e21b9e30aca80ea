//===- Lexer.h - Tokens of PTX text -----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SYNTAX_LEXER_H
#define FMHA_PTX_SYNTAX_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ptxsim::syntax {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,      // opcode, register, symbol, label: ld.global.f32 %tid.x $L__1
    Directive, // .reg, with the dot
    Integer,   // bits; isUnsigned for a U suffix
    Float,     // bits; floatBits 32 (0f...) or 64 (0d... and decimal)
    String,    // text without the quotes
    Symbol,    // text: one of , ; : { } [ ] ( ) < > @ ! | = + - * / % & ^ ~ ? _
  };
  Kind kind = Kind::End;
  std::string_view text;
  uint32_t line = 1;
  uint64_t bits = 0;
  uint8_t floatBits = 0;
  bool isUnsigned = false;

  bool is(char symbol) const {
    return kind == Kind::Symbol && text.size() == 1 && text[0] == symbol;
  }
  bool isWord(std::string_view word) const {
    return kind == Kind::Word && text == word;
  }
  bool isDirective(std::string_view word) const {
    return kind == Kind::Directive && text == word;
  }
};

/// Splits text into tokens. Throws ptxsim::Error (Syntax) for characters and
/// literals that do not exist in PTX, and for an open comment or string.
class Lexer {
public:
  Lexer(std::string_view text, std::string_view name);
  Token next();

private:
  void skipBlanks();
  Token number();
  Token hexFloat();
  Token decimalFloat(size_t end);
  Token integer();
  Token word();
  Token string();
  Token symbol();
  Token make(Token::Kind kind, size_t end);
  [[noreturn]] void fail(const std::string &message) const;

  std::string_view text, name;
  size_t at = 0;
  uint32_t line = 1;
};

} // namespace ptxsim::syntax

#endif // FMHA_PTX_SYNTAX_LEXER_H

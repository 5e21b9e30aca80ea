//===- Parser.h - Parses PTX text to a tree ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SYNTAX_PARSER_H
#define FMHA_PTX_SYNTAX_PARSER_H

#include "fmha/PTX/Syntax/AST.h"

#include <string>
#include <string_view>

namespace ptxsim::syntax {

/// Parses a whole module and checks that every name it uses is declared (PTX
/// ISA 9.2, chapters 4, 5, 7 and 11). Throws ptxsim::Error (Syntax) with line,
/// expected and got. Forms of known instructions are not checked here.
std::unique_ptr<Module> parse(std::string_view text, std::string_view name);

/// Checks names and labels by lexical scope; part of parse.
void checkNames(const Module &module);

/// Returns true if `root`, the first part of an opcode, is a PTX instruction.
bool isInstruction(std::string_view root);
/// Returns true if `name` (with %) is a special register, for example "%tid.x".
bool isSpecialRegister(std::string_view name);
/// Returns the bits of a fundamental type ("b32", "pred" = 1, "f16x2"), 0 if
/// unknown.
unsigned typeBits(std::string_view type);

} // namespace ptxsim::syntax

#endif // FMHA_PTX_SYNTAX_PARSER_H

//===- Words.h - An instruction as editable words ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXMUTATE_WORDS_H
#define FMHA_TOOLS_PTXMUTATE_WORDS_H

#include "fmha/PTX/Syntax/AST.h"

#include <optional>
#include <string>
#include <vector>

namespace ptxsim::mutate {

/// "@%p1 ld.shared.b32 %r1, [%r2+4];" as guard "@%p1 ", opcode "ld.shared.b32"
/// and operands "%r1", "[%r2+4]". Comments and blanks are removed.
struct Words {
  std::string guard, opcode;
  std::vector<std::string> operands;

  explicit Words(const syntax::Instruction &instruction);

  /// Returns the instruction on one line, with its semicolon.
  std::string text() const;
  bool hasOperand(size_t index) const { return index < operands.size(); }
  /// Replaces the modifier `before` by `after`; returns false if there is none.
  bool replaceModifier(std::string_view before, std::string_view after);
  /// Adds `modifier` after the first of `places` that the opcode has.
  void addModifierAfter(std::initializer_list<std::string_view> places,
                        std::string_view modifier);
};

/// Returns the address "[base+offset]" moved by `bytes`; nullopt if the operand
/// is not a plain address.
std::optional<std::string> moveAddress(const syntax::Operand &operand,
                                       int64_t bytes);

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_WORDS_H

//===- Rules.h - The rules that mutate a kernel -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXMUTATE_RULES_H
#define FMHA_TOOLS_PTXMUTATE_RULES_H

#include "Facts.h"
#include "Words.h"

#include <array>
#include <span>

namespace ptxsim::mutate {

/// Matches opcodes that begin with `start`, up to a '.' or "::", have the
/// modifier `with` and none of `without`. An empty word matches anything.
struct Pattern {
  std::string_view start, with = "";
  std::array<std::string_view, 2> without = {"", ""};

  bool matches(const syntax::Instruction &instruction) const;
};

/// The input of a rewrite.
struct RewriteInput {
  const syntax::Instruction &instruction;
  const Facts &facts;
};

/// Returns the PTX that replaces the instruction, on one line; "" deletes it.
/// Returns nullopt if the instruction has no such mutant.
using Rewrite = std::optional<std::string> (*)(const RewriteInput &);

/// One way to mutate one kind of instruction. Scores are counted by class; the
/// name distinguishes the mutants of one instruction.
struct Rule {
  std::string_view group, name;
  Pattern pattern;
  Rewrite rewrite;
};

std::span<const Rule> rules();

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_RULES_H

//===- Rules.h - The ways to break a kernel ---------------------*- C++ -*-===//
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

/// Opcodes that begin with `start`, up to a '.' or "::", have the modifier
/// `with` and none of `without`. An empty word asks for nothing.
struct Pattern {
  std::string_view start, with = "";
  std::array<std::string_view, 2> without = {"", ""};

  bool matches(const syntax::Instruction &instruction) const;
};

/// What a rewrite sees.
struct Place {
  const syntax::Instruction &instruction;
  const Facts &facts;
};

/// The PTX that takes the instruction's place, on one line; "" deletes it.
/// Nothing where the instruction has no such mutant.
using Rewrite = std::optional<std::string> (*)(const Place &);

/// One way to break one kind of instruction. The class is what a score counts
/// by; the name tells the mutants of one instruction apart.
struct Rule {
  std::string_view group, name;
  Pattern pattern;
  Rewrite rewrite;
};

std::span<const Rule> rules();

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_RULES_H

//===- Sites.h - Every place where a kernel can be broken -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXMUTATE_SITES_H
#define FMHA_TOOLS_PTXMUTATE_SITES_H

#include "fmha/PTX/Syntax/AST.h"

#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::mutate {

/// One mutant. The id is "CLASS/NAME@LINE", with "#2" and so on behind it for
/// the second of a line: the same text always has the same ids.
struct Site {
  std::string id, group, name, function;
  uint32_t line = 0;
  std::string before, after; // the instruction, on one line each
  std::string guard;         // "@%p1 ", or nothing
  size_t offset = 0, length = 0;
};

/// The sites of a module, in the order of its text.
std::vector<Site> sites(const syntax::Module &module);

/// The module's text with the one change of `site`. Every other line keeps its
/// number.
std::string mutant(const syntax::Module &module, const Site &site);

/// The same with a trap in the place of the instruction, under its guard: a run
/// that ends without a trap never came there, and says nothing of the mutant.
std::string probe(const syntax::Module &module, const Site &site);

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_SITES_H

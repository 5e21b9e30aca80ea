//===- Sites.h - The mutation sites of a kernel -----------------*- C++ -*-===//
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

/// One mutant. The id is "CLASS/NAME@LINE", with a suffix "#2" and so on from
/// the second one of a line: the same text always has the same ids.
struct Site {
  std::string id, group, name, function;
  uint32_t line = 0;
  std::string before, after; // the instruction, on one line each
  std::string guard;         // "@%p1 ", or nothing
  size_t offset = 0, length = 0;
};

/// Returns the sites of a module, in text order.
std::vector<Site> sites(const syntax::Module &module);

/// Returns the module's text with only the change of `site`. All other lines
/// keep their numbers.
std::string mutant(const syntax::Module &module, const Site &site);

/// Same, with a trap in place of the instruction, under its guard: a run that
/// ends without a trap never reached the instruction, and does not test the
/// mutant.
std::string probe(const syntax::Module &module, const Site &site);

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_SITES_H

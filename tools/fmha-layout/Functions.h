//===- Functions.h - The functions of expressions ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_FMHA_LAYOUT_FUNCTIONS_H
#define FMHA_TOOLS_FMHA_LAYOUT_FUNCTIONS_H

#include "fmha/Layout/Print/Value.h"

#include <span>
#include <string_view>
#include <vector>

namespace fmha::layouttool {

using namespace fmha::layoutprint;

/// One function: its name, how it is written, and what it returns.
struct Function {
  const char *name, *arguments, *help;
  unsigned least, most;
  Value (*apply)(const std::vector<Value> &);
};

/// Returns all functions in the order of --help.
std::span<const Function> functions();
/// Returns the function of this name, or null.
const Function *findFunction(std::string_view name);

/// Returns the instruction or fragment of this name, if there is one.
std::optional<Value> findAtom(std::string_view name);

} // namespace fmha::layouttool

#endif // FMHA_TOOLS_FMHA_LAYOUT_FUNCTIONS_H

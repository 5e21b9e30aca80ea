//===- Expression.h - The text form -----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_FMHA_LAYOUT_EXPRESSION_H
#define FMHA_TOOLS_FMHA_LAYOUT_EXPRESSION_H

#include "fmha/Layout/Print/Value.h"

#include <string_view>

namespace fmha::layouttool {

using namespace fmha::layoutprint;

/// Returns the value of the last expression of a text. Statements end with a
/// line or with ';'; "name = expression" defines a name, # begins a comment.
/// Throws a LayoutError with line and column.
Value evaluate(std::string_view text);

} // namespace fmha::layouttool

#endif // FMHA_TOOLS_FMHA_LAYOUT_EXPRESSION_H

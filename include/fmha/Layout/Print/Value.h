//===- Value.h - What an expression evaluates to ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_PRINT_VALUE_H
#define FMHA_LAYOUT_PRINT_VALUE_H

#include "fmha/Layout/Algebra/Banks.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include <string>
#include <variant>

namespace fmha::layoutprint {

using namespace fmha::layout::algebra;

/// The value of an expression. Integers and shapes are IntTuples, layouts are
/// ComposedLayouts.
using Value = std::variant<IntTuple, ComposedLayout, Tiler, CopyAtom, MmaAtom,
                           TiledCopy, TiledMma, ThreadValue, BankReport>;

/// Returns "a layout", "a tiled copy", ...
std::string kindOf(const Value &value);

/// Convert a value to what a function takes: a shape is a column-major layout
/// and a tiler as well. Throw a LayoutError that names what was given.
IntTuple asIntTuple(const Value &value);
int64_t asInteger(const Value &value);
ComposedLayout asComposed(const Value &value);
Layout asLayout(const Value &value);
Tiler asTiler(const Value &value);
CopyAtom asCopyAtom(const Value &value);
MmaAtom asMmaAtom(const Value &value);
TiledCopy asTiledCopy(const Value &value);
/// An instruction alone is the tiled product of one.
TiledMma asTiledMma(const Value &value);

} // namespace fmha::layoutprint

#endif // FMHA_LAYOUT_PRINT_VALUE_H

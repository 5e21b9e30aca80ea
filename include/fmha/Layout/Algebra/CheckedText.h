//===- CheckedText.h - Text of layouts, without exceptions ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For code without exceptions, as that of MLIR is: text is read and checked,
// and an error is a value. The forms are those that str() of each class
// returns, which are the arguments of the functions of fmha-layout:
//
//   layout         Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))
//   thread values  ((4,8),(2,2)):((32,1),(16,8)), (16,8)
//   tiled copy     cp_async_128, ((16,8),8):((64,1),8), (8,128)
//   tiled product  mma_m16n8k8_f32_f16, (4,1,1), (64,16,16)
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_CHECKEDTEXT_H
#define FMHA_LAYOUT_ALGEBRA_CHECKEDTEXT_H

#include "fmha/Layout/Algebra/Swizzle.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include <optional>
#include <string>
#include <string_view>

namespace fmha::layout::algebra {

/// A value, or why the text from `position` on is none.
template <typename T> struct Checked {
  std::optional<T> value;
  std::string error;
  size_t position = 0;
};

Checked<ComposedLayout> readLayout(std::string_view text);
/// Every element of the tile must have an owner, and no thread may hold an
/// element twice.
Checked<ThreadValue> readThreadValue(std::string_view text);
/// The map may have values that several threads copy, or none.
Checked<TiledCopy> readTiledCopy(std::string_view text);
Checked<TiledMma> readTiledMma(std::string_view text);

/// Returns why `map` is no distribution of its tile, or nothing: the rules of
/// readThreadValue().
std::optional<std::string> whyNoDistribution(const ThreadValue &map);

/// Returns whether both are one map: the same tile, and for each thread and
/// value the same element. Modes may be grouped in different ways.
bool isSameMap(const ThreadValue &a, const ThreadValue &b);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_CHECKEDTEXT_H

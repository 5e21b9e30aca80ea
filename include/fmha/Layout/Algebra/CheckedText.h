//===- CheckedText.h - Text of layouts, without exceptions ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers for code without exceptions, such as MLIR's: they read and check
// text, and return errors as values. Each reads the text that str() of its
// class returns, which is also the argument of a function of fmha-layout:
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

/// A value, or an error and the position in the text where it is.
template <typename T> struct Checked {
  std::optional<T> value;
  std::string error;
  size_t position = 0;
};

/// Reads a layout.
Checked<ComposedLayout> readLayout(std::string_view text);
/// Reads a thread-value layout. Every element of the tile must have an owner,
/// and no thread may hold an element twice.
Checked<ThreadValue> readThreadValue(std::string_view text);
/// Reads a tiled copy. Several threads may copy the same value, and some values
/// may have no thread.
Checked<TiledCopy> readTiledCopy(std::string_view text);
/// Reads a tiled product.
Checked<TiledMma> readTiledMma(std::string_view text);

/// Returns the rule of readThreadValue() that `map` violates, or nothing.
std::optional<std::string> whyNoDistribution(const ThreadValue &map);

/// Returns whether both maps have the same tile and map each thread and value
/// to the same element. Their modes may be grouped differently.
bool isSameMap(const ThreadValue &a, const ThreadValue &b);

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_CHECKEDTEXT_H

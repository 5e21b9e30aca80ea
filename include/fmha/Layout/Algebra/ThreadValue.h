//===- ThreadValue.h - Which thread holds what ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LAYOUT_ALGEBRA_THREADVALUE_H
#define FMHA_LAYOUT_ALGEBRA_THREADVALUE_H

#include "fmha/Layout/Algebra/Layout.h"

namespace fmha::layout::algebra {

/// A thread-value layout: (thread, value) -> index in a tile, which is counted
/// with the first mode fastest.
struct ThreadValue {
  Layout layout;
  IntTuple tile;

  int64_t threads() const { return layout.size(0); }
  int64_t values() const { return layout.size(1); }
  /// Returns the coordinate in the tile of a value of a thread.
  IntTuple coordinate(int64_t thread, int64_t value) const {
    return idx2crd(layout(IntTuple::tuple({thread, value})), tile);
  }
  /// Returns "((4,8),(2,2)):((32,1),(16,8)), (16,8)".
  std::string str() const { return layout.str() + ", " + tile.str(); }
  bool operator==(const ThreadValue &) const = default;
};

/// A value of a thread.
struct Owner {
  int64_t thread = 0, value = 0;
  bool operator==(const Owner &) const = default;
};

/// Returns the owners of each index of the tile, in the order of threads and
/// values. Throws if the layout is no pair, leaves the tile, or has more than
/// 2^20 values.
std::vector<std::vector<Owner>> ownersOf(const ThreadValue &map);

/// What one thread has of a tensor: offset + layout(value mode, rests...).
struct Partition {
  Layout layout;
  int64_t offset = 0;
};

} // namespace fmha::layout::algebra

#endif // FMHA_LAYOUT_ALGEBRA_THREADVALUE_H

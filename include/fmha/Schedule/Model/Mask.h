//===- Mask.h - Which keys a query row sees ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every mask is a band along a diagonal. Row i sits at key i + off, where off
// is kv_len - q_len (the corners at the bottom right meet) or 0 (those at the
// top left do), and sees the keys j of
//
//   max(0, i + off - left) <= j <= min(kv_len - 1, i + off + right)
//
// An absent bound does not limit the range. "Causal" is the bound right = 0.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_MASK_H
#define FMHA_SCHEDULE_MODEL_MASK_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fmha::schedule {

/// Keys [first, end), none if they are equal.
struct KeyRange {
  int64_t first = 0, end = 0;
};

struct Mask {
  enum Kind : unsigned { None, Causal, CausalTopLeft };
  /// The largest `left` and `right`: kernels add them to rows in signed 32
  /// bits, so a window limits lengths as well.
  static constexpr unsigned largestWindow = 1u << 30;

  Kind kind = None;
  /// The window: keys before and after its own position that a row sees.
  std::optional<unsigned> left, right;

  Mask() = default;
  Mask(Kind kind) : kind(kind) {}
  bool operator==(const Mask &) const = default;

  bool isTopLeft() const { return kind == CausalTopLeft; }
  /// Returns the smaller of `right` and the bound of a causal mask.
  std::optional<unsigned> rightBound() const {
    return kind == None ? right : std::optional<unsigned>(0);
  }
  /// Returns whether rows see all keys of their sequence.
  bool isFull() const { return !left && !rightBound(); }
  /// Returns the keys that some row of [first, end) sees. Both bounds increase
  /// with the row, so the first and the last row determine the range.
  KeyRange keysOf(int64_t first, int64_t end, int64_t qLen,
                  int64_t kvLen) const;
};

/// Returns "none", "causal" or "causal-top-left".
std::string_view stringify(Mask::Kind kind);
/// Returns the same with the window: "none, window 127 left, 0 right".
std::string stringify(const Mask &mask);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_MASK_H

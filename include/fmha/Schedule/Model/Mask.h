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
// A bound that is absent cuts nothing off. "Causal" is the bound right = 0.
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
  /// What `left` and `right` are at most: kernels add them to rows in 32 bits
  /// with sign, so lengths are limited too where there is a window.
  static constexpr unsigned largestWindow = 1u << 30;

  Kind kind = None;
  /// The window: keys before and behind its own that a row sees.
  std::optional<unsigned> left, right;

  Mask() = default;
  Mask(Kind kind) : kind(kind) {}
  bool operator==(const Mask &) const = default;

  bool isTopLeft() const { return kind == CausalTopLeft; }
  /// `right` and what "causal" means, together.
  std::optional<unsigned> rightBound() const {
    return kind == None ? right : std::optional<unsigned>(0);
  }
  /// Whether lengths alone decide what a row sees.
  bool isFull() const { return !left && !rightBound(); }
  /// Keys that some row of [first, end) sees. Ranges of rows that follow each
  /// other have ranges of keys that do, so the first and the last row decide.
  KeyRange keysOf(int64_t first, int64_t end, int64_t qLen,
                  int64_t kvLen) const;
};

/// "none", "causal" or "causal-top-left".
std::string_view stringify(Mask::Kind kind);
/// The same with the window: "none, window 127 left, 0 right".
std::string stringify(const Mask &mask);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_MASK_H

//===- Mask.cpp - Which keys a query row sees -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/Mask.h"

#include <algorithm>

using namespace fmha::schedule;

KeyRange Mask::keysOf(int64_t first, int64_t end, int64_t qLen,
                      int64_t kvLen) const {
  if (first >= end)
    return {};
  int64_t offset = isTopLeft() ? 0 : kvLen - qLen;
  KeyRange keys{0, kvLen};
  if (left)
    keys.first = std::clamp<int64_t>(first + offset - *left, 0, kvLen);
  if (std::optional<unsigned> bound = rightBound())
    keys.end = std::clamp<int64_t>(end + offset + *bound, 0, kvLen);
  keys.end = std::max(keys.first, keys.end);
  return keys;
}

std::string_view fmha::schedule::stringify(Mask::Kind kind) {
  static constexpr std::string_view names[] = {"none", "causal",
                                               "causal-top-left"};
  return names[kind];
}

std::string fmha::schedule::stringify(const Mask &mask) {
  std::string text(stringify(mask.kind));
  if (!mask.left && !mask.right)
    return text;
  text += ", window";
  if (mask.left)
    text += " " + std::to_string(*mask.left) + " left";
  if (mask.right)
    text += std::string(mask.left ? "," : "") + " " +
            std::to_string(*mask.right) + " right";
  return text;
}

//===- NewKeys.cpp - Launches that append new keys ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/NewKeys.h"

namespace fmha::launch {

/// Kernels of plain threads have no bound.
std::optional<QueryRows> mostAppendingRows(const Manifest &manifest) {
  if (!manifest.keyNew || manifest.usesPlainThreads())
    return std::nullopt;
  // The grid has a CTA for each of these blocks of rows.
  for (const GridFactor &factor : manifest.grid[0])
    if (!factor.constant && factor.value == RunValue::QLen)
      return QueryRows{int64_t(factor.divisor), int64_t(manifest.packHeads)};
  return std::nullopt;
}

std::string checkAppendingRows(const Manifest &manifest, int64_t newLen,
                               const QueryRows &rows) {
  std::optional<QueryRows> most = mostAppendingRows(manifest);
  if (!most || !newLen)
    return "";
  auto expected = [](const char *what, int64_t wanted, int64_t got) {
    return "tensor 'q': expected at most " + std::to_string(wanted) + what +
           " with key_new, the rows of a CTA of this kernel, got " +
           std::to_string(got) +
           "; compile with the lengths and heads of this launch, or append "
           "before attention";
  };
  if (rows.length > most->length)
    return expected(" queries", most->length, rows.length);
  if (rows.heads > most->heads)
    return expected(" query heads of a KV head", most->heads, rows.heads);
  return "";
}

} // namespace fmha::launch

//===- NewKeys.h - Launches that append new keys ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_NEWKEYS_H
#define FMHA_RUNTIME_LAUNCH_NEWKEYS_H

#include "fmha/Runtime/Launch/Manifest.h"

namespace fmha::launch {

/// The query rows and the query heads of a KV head.
struct QueryRows {
  int64_t length = 0, heads = 0;
};

/// Returns the most rows that a kernel that appends new keys allows: with
/// tensor cores one CTA, or each split, has all rows that see a new key.
/// Returns nullopt if there is no bound.
std::optional<QueryRows> mostAppendingRows(const Manifest &manifest);

/// Returns what is wrong with a launch of `newLen` new keys and `rows`, empty
/// if nothing is.
std::string checkAppendingRows(const Manifest &manifest, int64_t newLen,
                               const QueryRows &rows);

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_NEWKEYS_H

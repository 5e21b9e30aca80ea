//===- Sequences.h - Checks of varlen metadata ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_SEQUENCES_H
#define FMHA_LIB_RUNTIME_HOST_SEQUENCES_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// Returns an error for varlen metadata that is missing or unexpected.
llvm::Error checkLists(const Manifest &manifest,
                       const AttentionTensors &tensors);

/// Returns the extents of a launch.
RunValues extentsOf(const AttentionTensors &tensors);

/// Returns the number of rows of the longest sequence of queries.
int64_t longestQueries(const AttentionTensors &tensors);

/// The last `count` keys of each sequence in caches of pages.
struct AppendedRows {
  const std::vector<int32_t> &kvLens;
  int64_t count;
  const std::vector<int32_t> &blockTables;
  int64_t maxPages, pageSize;
};

/// Returns an error that names the entry of block_tables if two sequences write
/// to the same row of a page, or, if `isRead` is set, if one reads a row that
/// another one writes in the same launch. The entries must have been checked.
llvm::Error checkAppendedRows(const AppendedRows &rows, bool isRead);

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_SEQUENCES_H

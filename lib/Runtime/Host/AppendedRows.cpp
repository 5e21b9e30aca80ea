//===- AppendedRows.cpp - Rows of pages that sequences write --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AppendedRows.h"
#include "fmha/Runtime/Files.h"

#include <map>

namespace fmha::runtime {

llvm::Error checkAppendedRows(const AppendedRows &rows) {
  std::map<std::pair<int64_t, int64_t>, int64_t> writers;
  int64_t size = rows.pageSize;
  for (int64_t n = 0; n < int64_t(rows.kvLens.size()); ++n)
    for (int64_t keys = rows.kvLens[n],
                 key = std::max<int64_t>(keys - rows.count, 0);
         key < keys; ++key) {
      int64_t page = rows.blockTables[n * rows.maxPages + key / size];
      auto [other, isNew] = writers.try_emplace({page, key % size}, n);
      if (!isNew && other->second != n)
        return failure(
            "block_tables[" + llvm::Twine(n) + ", " + llvm::Twine(key / size) +
            "]: expected a page in which no other sequence writes "
            "row " +
            llvm::Twine(key % size) + ", got page " + llvm::Twine(page) +
            ", where sequence " + llvm::Twine(other->second) +
            " writes it; copy the page before the append");
    }
  return llvm::Error::success();
}

} // namespace fmha::runtime

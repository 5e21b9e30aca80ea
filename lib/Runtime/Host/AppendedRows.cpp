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

namespace {

/// A row of a page, and the sequences that write the rows of pages.
using Row = std::pair<int64_t, int64_t>;
using Writers = std::map<Row, int64_t>;

Row rowOf(const AppendedRows &rows, int64_t n, int64_t key) {
  int64_t page = rows.blockTables[n * rows.maxPages + key / rows.pageSize];
  return {page, key % rows.pageSize};
}

llvm::Error conflict(const AppendedRows &rows, int64_t n, int64_t key,
                     int64_t writer, llvm::StringRef what) {
  auto [page, row] = rowOf(rows, n, key);
  return failure("block_tables[" + llvm::Twine(n) + ", " +
                 llvm::Twine(key / rows.pageSize) +
                 "]: expected a page in which no other sequence writes row " +
                 llvm::Twine(row) + what + ", got page " + llvm::Twine(page) +
                 ", where sequence " + llvm::Twine(writer) +
                 " writes it; copy the page before the append");
}

} // namespace

llvm::Error checkAppendedRows(const AppendedRows &rows, bool isRead) {
  Writers writers;
  auto firstNew = [&](int64_t n) {
    return std::max<int64_t>(rows.kvLens[n] - rows.count, 0);
  };
  int64_t sequences = int64_t(rows.kvLens.size());
  for (int64_t n = 0; n < sequences; ++n)
    for (int64_t key = firstNew(n); key < rows.kvLens[n]; ++key)
      if (auto [other, isNew] = writers.try_emplace(rowOf(rows, n, key), n);
          !isNew && other->second != n)
        return conflict(rows, n, key, other->second, "");
  for (int64_t n = 0; isRead && n < sequences; ++n)
    for (int64_t key = 0; key < firstNew(n); ++key)
      if (auto other = writers.find(rowOf(rows, n, key));
          other != writers.end() && other->second != n)
        return conflict(rows, n, key, other->second,
                        ", which is read in the same launch");
  return llvm::Error::success();
}

} // namespace fmha::runtime

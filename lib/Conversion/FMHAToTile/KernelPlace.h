//===- KernelPlace.h - Rows, keys and blocks of one CTA ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELPLACE_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELPLACE_H

#include "KernelContext.h"

namespace fmha {

/// The rows of a tensor that one sequence has: those of a batch, `start` null,
/// or `length` rows from `start` on. All of type index.
struct Sequence {
  mlir::Value batch, start, length;
};

/// The keys of a second source, as a CTA sees them; blocks of it follow those
/// of the first one in the loop.
struct SecondKeys {
  Sequence keys;
  mlir::Value offset, firstKey, blocks;
};

/// What one CTA knows of its place in the grid, all of type index.
struct Coordinates {
  /// The number of the sequence, which is that of its batch or of its entry.
  mlir::Value sequence;
  mlir::Value head, kvHead;
  /// Where rows are packed of several heads: `head` is the first of them,
  /// `member` its number in the group of `kvHead`, and `count` how many the
  /// group has from there on. Null otherwise.
  mlir::Value member, count;
  Sequence queries, keys;
  /// The batch of what is written: that of the queries, after those of the
  /// parts before.
  mlir::Value outputBatch;
  /// First query row of each tile.
  llvm::SmallVector<mlir::Value> rows;
  /// The first key that some row of the CTA may see, down to a whole block;
  /// null for 0. And the KV blocks from there on that rows of it may see.
  mlir::Value firstKey, blocks;
  /// The key that query row 0 sits at: kv_len - q_len, or 0; null without a
  /// mask.
  mlir::Value offset;
  /// First column of V and O that the CTA computes; null if it computes all.
  mlir::Value column;
  /// The part of the KV blocks that the CTA goes through; null if it is all.
  mlir::Value split;
  std::optional<SecondKeys> second;
};

/// Builds what one CTA knows of its place in the grid.
Coordinates buildCoordinates(KernelContext &k);

/// Returns the coordinates of the queries; with packed heads both as a query
/// head and as a member of a KV head's group.
tile::ViewPlace placeOfQueries(KernelContext &k, const Coordinates &at);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELPLACE_H

//===- KernelPlace.h - Rows, keys and blocks of one CTA ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELPLACE_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELPLACE_H

#include "KernelBlocks.h"

namespace fmha {

/// The rows of one sequence in a tensor: those of a batch, with a null `start`,
/// or `length` rows from `start` on. All values are of type index.
struct Sequence {
  mlir::Value batch, start, length;
  /// The first entry of the sequence in block_tables; null without pages.
  mlir::Value entry;
  /// The first entry of a query's list in topk, and the length of the sequence
  /// whose rows it lists; null without lists. `length` is that of the list.
  mlir::Value first, bound;

  /// Returns the length of the sequence.
  mlir::Value all() const { return bound ? bound : length; }
};

/// The keys of the second KV segment for a CTA. In the loop its blocks follow
/// those of the first segment.
struct SecondKeys {
  Sequence keys;
  mlir::Value offset, firstKey, blocks;
};

/// The coordinates of one CTA's work, all of type index.
struct Coordinates {
  /// The number of the sequence: its batch, or its entry in varlen metadata.
  mlir::Value sequence;
  mlir::Value head, kvHead;
  /// The number of the CTA in its pair, which has that part of the keys of K
  /// and of the columns of V; null without pairs.
  mlir::Value rank;
  /// With packed heads, `head` is the first of them, `member` its number in the
  /// group of `kvHead`, and `count` the number of heads that the group has from
  /// there on. Null otherwise.
  mlir::Value member, count;
  Sequence queries, keys;
  /// The batch of the outputs: that of the queries, after all batches of
  /// earlier splits.
  mlir::Value outputBatch;
  /// First query row of each tile of the CTA, and the first one that either CTA
  /// of a pair has in that tile.
  llvm::SmallVector<mlir::Value> rows, firstRows;
  /// The first row of the CTA, or of its pair, and the end of these rows: CTAs
  /// of a pair have the same blocks. Separate from those of tiles, so that the
  /// roles of tiles compute the same ops (ShareConsumers.cpp).
  mlir::Value firstRow, endRow;
  /// The first key that one of these rows may see, rounded down to a whole
  /// block, null for 0; and the number of KV blocks from there on that they may
  /// see.
  mlir::Value firstKey, blocks;
  /// The key that query row 0 is aligned with: kv_len - q_len, or 0; null
  /// without a mask.
  mlir::Value offset;
  /// First column of V and O that the CTA computes; null if it computes all.
  mlir::Value column;
  /// The split of the KV blocks that the CTA computes, of `splits`; null if it
  /// computes all.
  mlir::Value split, splits;
  std::optional<SecondKeys> second;
  /// The lists that name the blocks, instead of `firstKey`.
  std::optional<BlockLists> lists;
};

/// Builds the coordinates of a CTA from its number in the grid.
Coordinates buildCoordinates(KernelContext &k);

/// Returns the coordinates of the queries; with packed heads both as a query
/// head and as a member of a KV head's group.
tile::ViewPlace placeOfQueries(KernelContext &k, const Coordinates &at);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELPLACE_H

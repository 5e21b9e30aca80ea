//===- KernelKeys.h - The KV blocks of a kernel's loop ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELKEYS_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELKEYS_H

#include "KernelPlace.h"

namespace fmha {

/// Views of the chunks of the columns of K, and of V.
struct KeyViews {
  llvm::SmallVector<mlir::Value> keys;
  mlir::Value values;
};

/// The values of one KV block in the loop over blocks.
struct KeyBlock {
  /// The keys of its segment; those of the block begin at `column`.
  Sequence keys;
  mlir::Value column;
  /// Row r sees keys r + `lower` to r + `upper`; null if there is no bound.
  mlir::Value lower, upper;
  /// Whether it is a block of the second segment; null if there is none.
  mlir::Value second;
  /// Whether it is listed as full; null without lists of full blocks.
  mlir::Value isFull;
  /// The first of the `block_rows` rows that see it; null if all rows of the
  /// CTA do.
  mlir::Value firstRow;
  KeyViews views;
};

/// Messages of one KV block: chunks of the columns of K, and of the keys of V.
/// `factors` has the scales of each key and value, if each page has its own;
/// null otherwise.
struct BlockTiles {
  llvm::SmallVector<mlir::Value> keys, values;
  mlir::Value factors;
};

/// Builds the copies of new keys and values to the caches, if there are any.
/// The CTAs of a sequence and KV head are its splits (plan.C8), which share the
/// rows, so that no CTA reads what another one writes. A split copies the new
/// rows of its KV blocks. The first one also copies those before its blocks,
/// which no query sees, and the last one those after its blocks:
///   first = split > 0 ? first key : 0
///   end = split + 1 < splits ? first key + blocks·keys : length
void buildAppend(KernelContext &k, const Coordinates &at);

/// Returns the factor of the output, or null if there is none: the scale of the
/// values, or, if each page has one, that of the sequence's first page. P is
/// then multiplied by the scale of each key divided by this one, so keys of the
/// first page keep their P. Returns 1 for an empty sequence, or if the scale is
/// not a normal number that has a reciprocal.
mlir::Value buildOutputScale(KernelContext &k, const Coordinates &at);

/// Builds the KV blocks of the loop, and their messages.
class KeyBlocks {
public:
  /// Builds the views that are made before the loop.
  KeyBlocks(KernelContext &k, const Coordinates &at);

  /// Returns the number of blocks.
  mlir::Value buildCount();
  /// Builds one KV block. Blocks of the second segment follow those of the
  /// first:
  ///   second = block >= blocks of the first
  ///   column = second ? (block - blocks of the first)·keys
  ///                   : first + block·keys
  /// The loop recomputes bounds, so that softmax keeps few live values.
  KeyBlock buildBlock(mlir::Value block);
  /// Loads a block. If V is the first columns of K, and shares its message, the
  /// tiles of V are slices.
  BlockTiles load(const KeyBlock &keys);

private:
  KeyBlock buildOfFirst(mlir::Value block);
  void chooseSource(KeyBlock &made, mlir::Value block);
  KeyViews view(const Sequence &keys, mlir::Value isSecond);
  mlir::Value valueColumn();
  mlir::Value loadFactors(const KeyBlock &keys);
  mlir::Value loadTile(llvm::StringRef ring, mlir::Value view, int64_t rows,
                       int64_t columns, mlir::Value row);

  KernelContext &k;
  const Coordinates &at;
  /// First columns of the chunks of K; null for 0.
  llvm::SmallVector<mlir::Value> chunkColumns;
  /// Views of the keys and values, if there is one KV segment.
  KeyViews views;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELKEYS_H

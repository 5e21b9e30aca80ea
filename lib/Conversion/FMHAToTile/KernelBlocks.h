//===- KernelBlocks.h - The listed blocks of one CTA ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBLOCKS_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBLOCKS_H

#include "KernelContext.h"

namespace fmha {

/// The place of a KV block: a part of a block of keys that a list of the CTA
/// names.
struct ListedBlock {
  /// The first key.
  mlir::Value column;
  /// Whether it is listed as full; null if there are no lists of full blocks.
  mlir::Value isFull;
  /// The first of the `block_rows` rows that see it; null if all rows of the
  /// CTA do.
  mlir::Value firstRow;
};

/// The lists of blocks for the rows of a CTA. If the CTA has rows of several
/// blocks of rows, it goes through the lists of one after the other; lists of
/// full blocks follow all others.
class BlockLists {
public:
  /// Reads the counts of the lists of query head `head` of `sequence`, whose
  /// rows `firstRow` to `firstRow` + `rows` - 1 the CTA has. `length` is the
  /// number of keys.
  BlockLists(KernelContext &k, mlir::Value sequence, mlir::Value head,
             mlir::Value firstRow, int64_t rows, mlir::Value length);

  /// Returns the number of KV blocks of the loop; a listed block has
  /// block_keys / kv_block of them.
  mlir::Value buildCount(KernelContext &k) const;
  /// Builds the place of KV block `number` of the loop.
  ListedBlock buildBlock(KernelContext &k, mlir::Value number) const;

private:
  /// The list of block of rows `index` of the CTA. It begins at entry `begin`
  /// of all lists of the CTA together.
  struct List {
    bool isFull;
    int64_t index;
    mlir::Value begin;
  };

  void append(KernelContext &k, bool isFull, int64_t index);

  /// The number of blocks of rows of the query, the index of the first one of
  /// the CTA, and its place in the tensors.
  mlir::Value rowBlocks, rowBlock, place;
  llvm::SmallVector<List> lists;
  /// Whether the CTA has rows of several blocks of rows.
  bool hasSeveral;
  /// The number of entries of all lists.
  mlir::Value entries;
  /// The number of blocks of keys.
  mlir::Value blocks;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_KERNELBLOCKS_H

//===- ScoreCode.h - The score_mod region of a kernel -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_SCORECODE_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_SCORECODE_H

#include "fmha/Dialect/FMHA/IR/HiddenScore.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {

/// The position of a tile of scores; all but the view of the queries are of
/// type index. `row` and `column` are those of its first element, and so is
/// `head` if the view packs heads; `queries` and `keys` are lengths.
struct ScorePlace {
  mlir::Value view, sequence, head, row, column, queries, keys;
  /// The index of the KV segment; null if there is one.
  mlir::Value source;
  /// The list that names the keys, from entry `firstEntry` on, and its length;
  /// null without one. `column` then counts its entries.
  mlir::Value list, firstEntry, entries;
  /// Whether the block is listed as full; null if no blocks are.
  mlir::Value isFull;
};

/// Creates tile.modify ops with the op's region, whose arguments are values of
/// the kernel; `captures` are the kernel's operands that it reads. A mask that
/// hides nothing in full blocks is an op of its own, which does not run there:
///   %x = tile.modify %s { score_mod }
///   %y = tile.modify %x if %partial { select(%seen, %x, -inf) }
mlir::Value buildScoreCode(mlir::ImplicitLocOpBuilder &b, AttentionOp op,
                           mlir::Value scores, ScorePlace place,
                           mlir::ValueRange captures);

/// Creates a tile.modify that hides `scores` from rows outside of the `count`
/// rows from `first` on. It does not run for tiles that have no such rows.
mlir::Value hideOtherRows(mlir::ImplicitLocOpBuilder &b, mlir::Value scores,
                          const ScorePlace &place, mlir::Value first,
                          int64_t count);

/// The score that a kernel computes, and the positive constant, from 2^-64 to
/// 2^64, by which the softmax multiplies it. If the region ends in
/// a product with such a constant, which may be reassociated, the softmax takes
/// it into its own scale:
///   %t = ...; %c = 50.0; yield %t *<reassoc> %c   ->   {%t, 50}
struct FactoredScore {
  mlir::Value value;
  float factor = 1;
};
/// Returns the parts of what `op`'s region yields.
FactoredScore factorScore(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_SCORECODE_H

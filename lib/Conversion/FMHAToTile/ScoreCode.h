//===- ScoreCode.h - Code of the op's own on each score ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_FMHATOTILE_SCORECODE_H
#define FMHA_LIB_CONVERSION_FMHATOTILE_SCORECODE_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {

/// Where the scores of a tile are, all but the view of the queries of type
/// index: `row` and `column` are those of its first element, and so is `head`
/// where the view packs heads; `queries` and `keys` are lengths.
struct ScorePlace {
  mlir::Value view, sequence, head, row, column, queries, keys;
  /// The number of the source of the keys; null if there is one.
  mlir::Value source;
};

/// tile.modify with the op's region, whose arguments are what the kernel has;
/// `captures` are the kernel's operands for what it reads.
tile::ModifyOp buildScoreCode(mlir::ImplicitLocOpBuilder &b, AttentionOp op,
                              mlir::Value scores, const ScorePlace &place,
                              mlir::ValueRange captures);

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_FMHATOTILE_SCORECODE_H

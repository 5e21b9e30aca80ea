//===- RowCode.h - Code on scores, for a row of a thread --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H

#include "Distribute.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <functional>

namespace fmha {
class ReadOp;
} // namespace fmha

namespace fmha::tile {

/// Of a row of a thread, counted from the tile's first one: what makes its
/// query row and, where heads are packed, its head; i32.
struct RowPlace {
  std::function<mlir::Value()> row, head;

  /// Where each thread has one row, or shares it.
  static RowPlace ofThread(mlir::ImplicitLocOpBuilder &b, ModifyOp op) {
    TileType tile = op.getType();
    std::optional<uint32_t> heads = op.getQueriesOp().getHeads();
    return {[=, &b] { return threadQuery(b, tile, heads); },
            [=, &b] { return threadHead(b, tile, *heads); }};
  }
};

/// What of the region of a tile.modify depends on the score or the key.
class ScoreRegion {
public:
  explicit ScoreRegion(mlir::Block &body);

  mlir::Value getScore() const { return body.getArgument(0); }
  mlir::Value getKey() const { return body.getArgument(2); }
  bool isVarying(mlir::Value value) const { return varying.contains(value); }

  /// Whether something is computed of keys, and not of scores.
  bool readsKeys() const;
  /// Whether more is computed for each key than one function and a few sums
  /// and products, or something that the function's argument is kept for: of a
  /// whole row ptxas then keeps both.
  bool isLong() const;
  /// Whether the keys are the last index of `read`, and no other one varies:
  /// then the elements follow each other in memory.
  bool readsRow(ReadOp read) const;

private:
  mlir::Block &body;
  llvm::DenseSet<mlir::Value> varying;
};

/// The region of a tile.modify for one thread: what depends on neither score
/// nor key is computed once for the row, as a number; the rest for some keys at
/// once, as vectors. Where heads are packed the row's head is such a number.
///
///   %e = fmha.read %bias[%h, %i, %j]    %e = tile.gather %bias[%h, %i, %keys]
///   %y = arith.addf %x, %e         ->   %y = arith.addf %x, %e : vector<4xf32>
class RowCode {
public:
  RowCode(mlir::ImplicitLocOpBuilder &b, ModifyOp op, const KernelInfo &info,
          const RowPlace &place);

  /// What the region makes of the vector `scores`, of keys that follow each
  /// other from `first` on.
  mlir::Value apply(mlir::Value scores, mlir::Value first);
  /// The same in a block of its own, which keys, never negative, always enter.
  mlir::Value applyInBlock(mlir::Value scores, mlir::Value first);

  bool readsKeys() const { return region.readsKeys(); }
  bool isLong() const { return region.isLong(); }

private:
  void makeRow(ModifyOp op, const RowPlace &place);
  mlir::Value buildOfRow(mlir::Operation &inner);
  void moveAhead(llvm::ArrayRef<mlir::Value> used);
  mlir::Value keysFrom(mlir::Value first, int64_t count);
  mlir::Value spread(mlir::Value value, int64_t count);
  mlir::Value build(mlir::Operation &op, const mlir::IRMapping &values,
                    int64_t count);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Block &body;
  ScoreRegion region;
  /// Null where all is made beside the scores.
  mlir::scf::ForOp loop;
  mlir::IRMapping mapping;
  mlir::Value firstKey;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H

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

/// Functions that compute the query row and, if heads are packed, the head of a
/// thread's row, relative to those of the tile's first row; i32.
struct RowPlace {
  std::function<mlir::Value()> row, head;

  /// Returns the place of a row if each thread has one row, or shares one.
  static RowPlace ofThread(mlir::ImplicitLocOpBuilder &b, ModifyOp op) {
    TileType tile = op.getType();
    std::optional<uint32_t> heads = op.getQueriesOp().getHeads();
    return {[=, &b] { return threadQuery(b, tile, heads); },
            [=, &b] { return threadHead(b, tile, *heads); }};
  }
};

/// Returns the result of a tile.modify on `input`, where `modified` emits its
/// code: inside a branch if the op has a condition.
mlir::Value ifCondition(mlir::ImplicitLocOpBuilder &b, ModifyOp op,
                        mlir::Value input,
                        llvm::function_ref<mlir::Value()> modified);

/// Returns the key of the first column of `op`. If `op` has a condition, the
/// key is read again: otherwise the keys of the code before it stay live until
/// the branch.
mlir::Value columnOf(mlir::ImplicitLocOpBuilder &b, ModifyOp op);

/// Returns the scores that `modified` emits, in place of `scores`, in a branch
/// that is always taken, since `key` is never negative. It keeps ptxas from
/// mixing the code with that of other keys.
mlir::Value inBasicBlock(mlir::ImplicitLocOpBuilder &b, mlir::Value scores,
                         mlir::Value key,
                         llvm::function_ref<mlir::Value()> modified);

/// The values in the region of a tile.modify that depend on the score or the
/// key.
class ScoreRegion {
public:
  explicit ScoreRegion(mlir::Block &body);

  mlir::Value getScore() const { return body.getArgument(0); }
  mlir::Value getKey() const { return body.getArgument(2); }
  bool isVarying(mlir::Value value) const { return varying.contains(value); }

  /// Whether a value depends on keys, and not on scores.
  bool readsKeys() const;
  /// Whether the code for a key is more than one function and a few sums and
  /// products, or uses the function's argument again: for a whole row ptxas
  /// would then keep the arguments and the results in registers.
  bool isLong() const;
  /// Returns the number of loads for one key and two rows: one for each read
  /// that depends on the key alone, two for each that depends on the row, too.
  unsigned loadsOfKey() const;
  /// Whether the key is the last index of `read` and no other index varies, so
  /// that the elements are consecutive in memory.
  bool readsRow(ReadOp read) const;

private:
  mlir::Block &body;
  llvm::DenseSet<mlir::Value> varying;
};

/// Emits the region of a tile.modify for one thread. Values that depend on
/// neither score nor key are computed once for the row, as scalars; the others
/// are vectors of several keys. If heads are packed, the row's head is one of
/// the scalars.
///
///   %e = fmha.read %bias[%h, %i, %j]    %e = tile.gather %bias[%h, %i, %keys]
///   %y = arith.addf %x, %e         ->   %y = arith.addf %x, %e : vector<4xf32>
class RowCode {
public:
  RowCode(mlir::ImplicitLocOpBuilder &b, ModifyOp op, const KernelInfo &info,
          const RowPlace &place);

  /// Returns the results of the region for the vector `scores` of consecutive
  /// keys, of which `first` is the first.
  mlir::Value apply(mlir::Value scores, mlir::Value first);
  /// Does the same in a basic block of its own.
  mlir::Value applyInBasicBlock(mlir::Value scores, mlir::Value first);

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
  /// Whether loads may overlap: code in a basic block of its own has registers
  /// for them.
  bool overlaps;
  /// The loop that scalars are computed before; null if they are computed next
  /// to the scores.
  mlir::scf::ForOp loop;
  mlir::IRMapping mapping;
  mlir::Value firstKey;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWCODE_H

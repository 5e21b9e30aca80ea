//===- RowLayout.h - Distribution of rows over threads ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of tiles in registers in a kernel family: the rows that a thread
// has elements of, and how elements of other threads are combined with them.
// One number for each row of a thread ("the numbers of rows" below) is a scalar
// if it has one row, and a vector if it has several.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWLAYOUT_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWLAYOUT_H

#include "Distribute.h"
#include "RowMath.h"

namespace fmha::tile {

struct RowLayout {
  using Builder = mlir::ImplicitLocOpBuilder;
  using Value = mlir::Value;

  /// Whether threads have tiles of this type in registers.
  bool (*holds)(TileType tile);
  /// Number of rows that a thread has elements of.
  int64_t rows;
  /// Returns the numbers of rows from `rows`, which has one value for each row.
  Value (*join)(Builder &b, llvm::ArrayRef<Value> rows);
  /// Loads the factors of the columns of `tile` from `factors`, an address in
  /// shared memory, and returns those of a thread's elements.
  Value (*loadFactors)(Builder &b, TileType tile, Value factors);
  /// Broadcasts the numbers of rows to all elements of the type `elements`.
  Value (*spread)(Builder &b, Value numbers, mlir::Type elements);
  /// Returns the maxima of the rows of `x`, a tile of type `tile`, in all
  /// threads that have elements of them.
  Value (*maximum)(Builder &b, const KernelInfo &info, TileType tile, Value x);
  /// Returns the same, but NaN for rows with a NaN. Null: emulated exponentials
  /// keep NaN, since they multiply.
  Value (*maximumOrNaN)(Builder &b, const KernelInfo &info, TileType tile,
                        Value x);
  /// Returns the sums of the elements of `x` that a thread has of its rows.
  Value (*partialSum)(Builder &b, Value x);
  /// Adds `partial`, the numbers of the rows of a tile of type `tile`, over the
  /// threads that share a row.
  Value (*total)(Builder &b, const KernelInfo &info, TileType tile,
                 Value partial);
  /// Returns the query row of row `row` of a thread, and its head if `heads`
  /// are packed into rows, relative to those of the tile's first row; i32.
  Value (*query)(Builder &b, TileType tile, int64_t row,
                 std::optional<uint32_t> heads);
  Value (*head)(Builder &b, TileType tile, int64_t row, uint32_t heads);
  /// Rounds f32 elements to `element`, in the layout of a tile of that type.
  Value (*round)(Builder &b, Value x, mlir::Type element);
  /// Writes rounded elements to the tile `to` in shared memory.
  void (*write)(Builder &b, TileType to, Value rounded);
};

/// A pattern with a layout of rows.
template <typename OpTy>
class RowPattern : public mlir::OpConversionPattern<OpTy> {
public:
  RowPattern(const mlir::TypeConverter &converter, const KernelInfo &info,
             const RowLayout &layout, mlir::MLIRContext *context)
      : mlir::OpConversionPattern<OpTy>(converter, context), info(info),
        layout(layout) {}

protected:
  const KernelInfo &info;
  const RowLayout &layout;
};

/// Returns the row and head of a tensor for row `row` of this thread, like
/// ownRowAt() of Distribute.h.
template <typename OpTy>
OwnRow ownRow(mlir::ImplicitLocOpBuilder &b, const RowLayout &layout, OpTy op,
              TileType tile, int64_t row) {
  std::optional<uint32_t> heads = op.getViewOp().getHeads();
  return ownRowAt(b, op, layout.query(b, tile, row, heads),
                  [&] { return layout.head(b, tile, row, *heads); });
}

/// Returns the elements `x` divided by the sums of their rows, unless `op`,
/// which writes them, is `undivided`.
template <typename OpTy>
mlir::Value divided(mlir::ImplicitLocOpBuilder &b, const RowLayout &layout,
                    OpTy op, mlir::Value x, mlir::Value sum) {
  return Quotient(b, sum, op.getScale(), op.getUndivided(), op.getOffset())
      .finish(b, x, [&](mlir::Value numbers) {
        return layout.spread(b, numbers, x.getType());
      });
}

/// Emits if (condition) { store `number` for the row `own` }.
void storeNumber(mlir::ImplicitLocOpBuilder &b, StoreRowsOp op,
                 const OwnRow &own, mlir::Value condition, mlir::Value number);

/// Adds patterns for ops on tiles in registers and on numbers of rows, except
/// masks, score_mod regions and stores of numbers, which each family has
/// patterns for.
void populateRowPatterns(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info, const RowLayout &layout);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWLAYOUT_H

//===- RowLayout.h - Who has which part of a row ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What patterns on tiles in registers ask of a kernel family: which rows a
// thread has elements of, and who has the others. A number for each row of a
// thread is a number where it has one row, a vector where it has several: "the
// numbers of rows" below.
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
  /// Rows that a thread has elements of.
  int64_t rows;
  /// The numbers of rows, of which `rows` has one for each row.
  Value (*join)(Builder &b, llvm::ArrayRef<Value> rows);
  /// The numbers of rows for all elements of the type `elements`.
  Value (*spread)(Builder &b, Value numbers, mlir::Type elements);
  /// The maxima and sums of the rows of `x`, a tile of type `tile`, in all
  /// threads that have elements of them.
  Value (*maximum)(Builder &b, TileType tile, Value x);
  Value (*sum)(Builder &b, TileType tile, Value x);
  /// The query of row `row` of a thread, counted from the tile's first one, and
  /// its head likewise, where `heads` are packed into rows; i32.
  Value (*query)(Builder &b, TileType tile, int64_t row,
                 std::optional<uint32_t> heads);
  Value (*head)(Builder &b, TileType tile, int64_t row, uint32_t heads);
  /// f32 elements rounded to `element`, as threads have a tile of that.
  Value (*round)(Builder &b, Value x, mlir::Type element);
  /// Writes rounded elements to the tile `to` in shared memory.
  void (*write)(Builder &b, TileType to, Value rounded);
};

/// Patterns with a layout of rows.
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

/// The rows of a tensor that row `row` of this thread is; as ownRowAt() of
/// Distribute.h.
template <typename OpTy>
OwnRow ownRow(mlir::ImplicitLocOpBuilder &b, const RowLayout &layout, OpTy op,
              TileType tile, int64_t row) {
  std::optional<uint32_t> heads = op.getViewOp().getHeads();
  return ownRowAt(b, op, layout.query(b, tile, row, heads),
                  [&] { return layout.head(b, tile, row, *heads); });
}

/// The elements `x` over the sums of their rows, as `op`, which writes them,
/// says.
template <typename OpTy>
mlir::Value divided(mlir::ImplicitLocOpBuilder &b, const RowLayout &layout,
                    OpTy op, mlir::Value x, mlir::Value sum) {
  return Quotient(b, sum, op.getUndivided(), op.getOffset())
      .finish(b, x, [&](mlir::Value numbers) {
        return layout.spread(b, numbers, x.getType());
      });
}

/// if (condition) { the number of `own`, a row, goes to the list of `op` }
void storeNumber(mlir::ImplicitLocOpBuilder &b, StoreRowsOp op,
                 const OwnRow &own, mlir::Value condition, mlir::Value number);

/// Ops on tiles in registers, and on numbers of rows, but for masks, code on
/// elements and stores of numbers, of which each family has its own.
void populateRowPatterns(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info, const RowLayout &layout);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_ROWLAYOUT_H

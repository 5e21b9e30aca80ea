//===- Distribute.h - Patterns that give tiles to threads -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_DISTRIBUTE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_DISTRIBUTE_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace fmha::tile {

/// Columns that one tcgen05.ld or st moves where a whole row goes to registers.
constexpr int64_t chunkColumns = 32;
/// Columns that are in registers at once where a row is processed piece by
/// piece, by roles with few registers; and where a thread's columns are no
/// multiple of it.
constexpr int64_t pieceColumns = 16, smallPieceColumns = 8;
/// Columns of one 128-byte swizzle panel of 16-bit elements.
constexpr int64_t panelColumns = layout::PanelTile::panelColumns;

/// What patterns need to know of the kernel besides their op.
struct DistributeContext {
  const KernelInfo &info;
  /// The allocation's first column, i32.
  mlir::Value tmemBase;
};

template <typename OpTy>
class DistributePattern : public mlir::OpConversionPattern<OpTy> {
public:
  DistributePattern(const mlir::TypeConverter &converter,
                    const DistributeContext &context)
      : mlir::OpConversionPattern<OpTy>(converter,
                                        context.tmemBase.getContext()),
        context(context) {}

protected:
  const DistributeContext &context;
};

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

mlir::Value constantI32(mlir::ImplicitLocOpBuilder &b, int32_t value);
mlir::Value constantF32(mlir::ImplicitLocOpBuilder &b, float value);
/// Threads that share a row of `tile`, and so its columns (see
/// #tile.registers): 1, or 2 of 64 rows.
int64_t threadsPerRow(TileType tile);
/// Parts of the columns of `tile`, in registers, that these threads have halves
/// of.
int64_t slicesOf(TileType tile);
/// Columns of `tile` that a thread owns.
int64_t ownColumns(TileType tile);
/// The thread's index in its warpgroup, i32.
mlir::Value threadInGroup(mlir::ImplicitLocOpBuilder &b);
/// The row of `tile` that this thread owns, i32.
mlir::Value threadRow(mlir::ImplicitLocOpBuilder &b, TileType tile);
/// The query row of this thread's row, counted from the first one of `tile`,
/// and its head likewise, where `heads` are packed into its rows; i32.
mlir::Value threadQuery(mlir::ImplicitLocOpBuilder &b, TileType tile,
                        std::optional<uint32_t> heads);
mlir::Value threadHead(mlir::ImplicitLocOpBuilder &b, TileType tile,
                       uint32_t heads);
/// `number`, an i32, as an index.
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value number);
/// The row of a tensor that this thread's row of a tile is, of its head, both
/// of type index, and whether both exist.
struct OwnRow {
  mlir::Value row, head, inside;
};

/// For an op that has the row and head of the tile's first row, the length that
/// rows end at, the heads that are packed and how many of them there are: the
/// row whose query is `query` behind that, and whose head is `member`. Rows
/// count from the sequence's start.
template <typename OpTy>
OwnRow ownRowAt(mlir::ImplicitLocOpBuilder &b, OpTy op, mlir::Value query,
                llvm::function_ref<mlir::Value()> member) {
  ViewOp view = op.getViewOp();
  mlir::Value row =
      mlir::arith::AddIOp::create(b, op.getRow(), toIndex(b, query));
  OwnRow own{row, view.getHead(),
             mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::slt,
                                         row, view.getLength())};
  if (view.getHeads()) {
    mlir::Value head = toIndex(b, member());
    mlir::Value there = mlir::arith::CmpIOp::create(
        b, mlir::arith::CmpIPredicate::slt, head, view.getCount());
    own.inside = mlir::arith::AndIOp::create(b, own.inside, there);
    own.head = mlir::arith::AddIOp::create(b, own.head, head);
  }
  if (view.getStart())
    own.row = mlir::arith::AddIOp::create(b, view.getStart(), own.row);
  return own;
}
/// if (condition) { body }
void inIf(mlir::ImplicitLocOpBuilder &b, mlir::Value condition,
          llvm::function_ref<void()> body);
/// The first column of `tile` (of its first slice) that this thread owns, i32;
/// null where it owns them all.
mlir::Value firstOwnColumn(mlir::ImplicitLocOpBuilder &b, TileType tile);
/// 2^x of a row, of which `percent` of the elements, rounded to pairs of 16,
/// are computed on the FMA units with a relative error of 2^-13.7, or of
/// 2^-18.5 if the sum itself is a result.
mlir::Value exp2OfRow(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      unsigned percent, bool forSum);
/// What the thread with the row's other half has in place of `value`.
mlir::Value ofOtherHalf(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
/// Columns [first, first + count) of a row held as a vector.
mlir::Value slice(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
                  int64_t first, int64_t count);
/// Vectors of one kind of elements, one behind the other.
mlir::Value concatenate(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange parts);
/// `base` plus a run-time number of bytes (i32).
mlir::Value advance(mlir::ImplicitLocOpBuilder &b, mlir::Value base,
                    mlir::Value bytes);

/// Address in dynamic shared memory.
mlir::Value smemAddress(mlir::ImplicitLocOpBuilder &b, int64_t offset);
/// Address of stage `stage`, an index, of a tile in shared memory.
mlir::Value stageAddress(mlir::ImplicitLocOpBuilder &b, TileType tile,
                         mlir::Value stage);
/// The panels of a tile of 16-bit elements in shared memory.
layout::PanelTile panelsOf(TileType tile);

/// Tensor memory address of the column `column` behind `place`, relative to the
/// kernel's allocation; threads address the lanes of their warp, the MMA the
/// place's own.
mlir::Value tmemAddress(mlir::ImplicitLocOpBuilder &b,
                        const DistributeContext &context, TmemAttr place,
                        int64_t column, bool ofWarp);

/// Writes columns [first, first + n) of this thread's row of a 16-bit tile in
/// shared memory: 16-byte pieces, K-major, 128-byte swizzle, panels of 64
/// columns. n is a multiple of 8; `first`, an i32, is a multiple of 8 that lies
/// in one panel with its n columns, or null for the row's start.
void storeSwizzled(mlir::ImplicitLocOpBuilder &b, TileType tile,
                   mlir::Value values, mlir::Value first = nullptr);

/// Columns of tensor memory between the halves of a row that two threads share
/// and that takes `columns`; null where one thread has the row.
mlir::IntegerAttr splitOf(mlir::ImplicitLocOpBuilder &b, TileType tile,
                          int64_t columns);
/// What was loaded from tensor memory, as one row, readable.
mlir::Value waitForLoads(mlir::ImplicitLocOpBuilder &b,
                         llvm::ArrayRef<mlir::Value> loaded);
void waitForStores(mlir::ImplicitLocOpBuilder &b);
mlir::Value asF32(mlir::ImplicitLocOpBuilder &b, mlir::Value words);
/// A loop over the columns that this thread owns, piece by piece:
///
///   for column = 0 to own columns step 16: body(column)
void forOwnColumns(
    mlir::ImplicitLocOpBuilder &b, TileType tile,
    llvm::function_ref<void(mlir::Value column, int64_t count)> body);
/// `column` of the tile, from one that counts from the thread's first.
mlir::Value inTile(mlir::ImplicitLocOpBuilder &b, TileType tile,
                   mlir::Value column);

void populateDistributeArithmetic(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  const DistributeContext &context);
void populateDistributeModify(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const DistributeContext &context);
void populateDistributeMemory(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const DistributeContext &context);
/// The accumulator: rescaled, divided, and written.
void populateDistributeOutput(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const DistributeContext &context);

/// tile.specialise -> branches over the warp index, with prologue and epilogue.
/// Erases the views, which no op takes any more, and the numbers that no other
/// op uses.
void eraseViews(mlir::gpu::GPUFuncOp func);

/// Rewrites all ops on tiles inside of `op` by the patterns that `populate`
/// adds; `convert` returns what a thread has of a tile.
mlir::LogicalResult
distributeTiles(SpecialiseOp op, mlir::Type (*convert)(TileType),
                llvm::function_ref<void(mlir::RewritePatternSet &,
                                        const mlir::TypeConverter &)>
                    populate);

mlir::LogicalResult lowerSpecialise(SpecialiseOp op, const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_DISTRIBUTE_H

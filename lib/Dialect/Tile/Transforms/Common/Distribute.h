//===- Distribute.h - Patterns that distribute tiles ------------*- C++ -*-===//
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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace fmha::layout::algebra {
class Layout;
}

namespace fmha::tile {

/// Columns of one tcgen05.ld or st if a whole row is moved to registers.
constexpr int64_t chunkColumns = 32;
/// Columns that are in registers at once in roles with few registers, which
/// process a row in pieces; the small pieces are for threads whose number of
/// columns is no multiple of the large ones.
constexpr int64_t pieceColumns = 16, smallPieceColumns = 8;
/// Columns of one 128-byte swizzle panel of 16-bit elements.
constexpr int64_t panelColumns = layout::PanelTile::panelColumns;

/// The properties of the kernel that patterns use.
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
/// Returns the number of threads that share a row of `tile`, and so its columns
/// (see #tile.registers): 2 if it has 64 rows, otherwise 1.
int64_t threadsPerRow(TileType tile);
/// Returns the number of parts of the columns of `tile`, in registers, of which
/// these threads have halves.
int64_t slicesOf(TileType tile);
/// Returns the number of columns of `tile` that a thread owns.
int64_t ownColumns(TileType tile);
/// Returns the thread's index in its warpgroup, i32.
mlir::Value threadInGroup(mlir::ImplicitLocOpBuilder &b);
/// Returns the row of `tile` that this thread owns, i32.
mlir::Value threadRow(mlir::ImplicitLocOpBuilder &b, TileType tile);
/// Returns the offset of this thread of its warpgroup in `threads`, i32
/// (OffsetCode.h).
mlir::Value threadOffset(mlir::ImplicitLocOpBuilder &b,
                         const layout::algebra::Layout &threads);
/// Returns the query row and the head of this thread's row, relative to those
/// of the first row of `tile`, if `heads` are packed into its rows; i32.
mlir::Value threadQuery(mlir::ImplicitLocOpBuilder &b, TileType tile,
                        std::optional<uint32_t> heads);
mlir::Value threadHead(mlir::ImplicitLocOpBuilder &b, TileType tile,
                       uint32_t heads);
/// Returns `number`, an i32, as an index.
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value number);
/// The row and head of a tensor, both of type index, for this thread's row of a
/// tile, and whether both exist.
struct OwnRow {
  mlir::Value row, head, inside;
};

/// Returns the row and head for an op on rows of a view: query row `query` and
/// head `member`, both relative to those of the tile's first row. The rows of
/// the op count from the start of the sequence, that of the result from the
/// start of the tensor.
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
/// Returns the first column of `tile` (of its first slice) that this thread
/// owns, i32; null if it owns all of them.
mlir::Value firstOwnColumn(mlir::ImplicitLocOpBuilder &b, TileType tile);
/// How an emulated exponential gets its exponent: by a multiplication, or by an
/// addition to its bits, which is one instruction instead of two but returns a
/// finite number for NaN.
enum class ExponentBy { Multiplication, Addition };
/// Returns 2^x of a row. `percent` of the elements, rounded to the nearest pair
/// of the row, are computed on the FMA units with a relative error of 2^-13.7,
/// or of 2^-18.5 if the sum itself is a result; `by` says how.
mlir::Value exp2OfRow(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      unsigned percent, bool forSum, ExponentBy by);
/// Returns `value` of the thread with the other half of the row: of the same
/// warp by a shuffle, or of another warp through shared memory.
mlir::Value ofOtherHalf(mlir::ImplicitLocOpBuilder &b, const KernelInfo &info,
                        mlir::Value value);
/// Returns the distance, in threads, of the halves of a row that two threads
/// share, in the kernel of the insertion point.
int64_t distanceOfHalves(mlir::ImplicitLocOpBuilder &b);
/// Returns columns [first, first + count) of a row, which is a vector.
mlir::Value slice(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
                  int64_t first, int64_t count);
/// Concatenates vectors of one element type.
mlir::Value concatenate(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange parts);
/// Returns `base` plus a run-time number of bytes (i32).
mlir::Value advance(mlir::ImplicitLocOpBuilder &b, mlir::Value base,
                    mlir::Value bytes);

/// Returns the address of byte `offset` of dynamic shared memory.
mlir::Value smemAddress(mlir::ImplicitLocOpBuilder &b, int64_t offset);
/// Returns the address of stage `stage`, an index, of a tile in memory whose
/// stage 0 is at `first`.
mlir::Value stageAddress(mlir::ImplicitLocOpBuilder &b, TileType tile,
                         mlir::Value first, mlir::Value stage);
/// Returns the panels of a tile of 16-bit elements in shared memory.
layout::PanelTile panelsOf(TileType tile);

/// Returns the tensor memory address of column `column` of a tile at `place`.
/// With `ofWarp` it has the lanes of the thread's warp, otherwise those of the
/// place, as an MMA needs them.
mlir::Value tmemAddress(mlir::ImplicitLocOpBuilder &b,
                        const DistributeContext &context, TmemAttr place,
                        int64_t column, bool ofWarp);
/// Returns the tensor memory address of column `column` of `tile` in the stage
/// that begins at the address `slot`, or in stage 0 if it is null.
mlir::Value tmemAddress(mlir::ImplicitLocOpBuilder &b,
                        const DistributeContext &context, TileType tile,
                        mlir::Value slot, int64_t column, bool ofWarp);

/// Writes columns [first, first + n) of this thread's row of a 16-bit tile in
/// shared memory: 16-byte pieces, K-major, 128-byte swizzle, panels of 64
/// columns. n is a multiple of 8; `first`, an i32, is a multiple of 8 that lies
/// in one panel with its n columns, or null for the row's start.
void storeSwizzled(mlir::ImplicitLocOpBuilder &b, TileType tile,
                   mlir::Value values, mlir::Value first = nullptr);
/// Likewise with a constant first column, for which a store takes one
/// instruction for its address.
void storeSwizzledAt(mlir::ImplicitLocOpBuilder &b, TileType tile,
                     mlir::Value values, int64_t first);

/// Returns the distance, in columns of tensor memory, between the halves of a
/// row of `columns` that two threads share; null if one thread has the row.
mlir::IntegerAttr splitOf(mlir::ImplicitLocOpBuilder &b, TileType tile,
                          int64_t columns);
/// Waits for loads from tensor memory, and returns their results as one row.
mlir::Value waitForLoads(mlir::ImplicitLocOpBuilder &b,
                         llvm::ArrayRef<mlir::Value> loaded);
void waitForStores(mlir::ImplicitLocOpBuilder &b);
mlir::Value asF32(mlir::ImplicitLocOpBuilder &b, mlir::Value words);
/// Emits a loop over the pieces of the columns that this thread owns. A piece
/// has as many as divide them and `most`, a power of two:
///
///   for column = 0 to own columns step count: body(column, count)
///
/// Returns the loop.
mlir::scf::ForOp
forOwnColumns(mlir::ImplicitLocOpBuilder &b, TileType tile, int64_t most,
              llvm::function_ref<void(mlir::Value column, int64_t count)> body);
/// Returns the column of the tile for `column`, which counts from the thread's
/// first one.
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
/// Adds patterns that rescale, divide and write the accumulator.
void populateDistributeOutput(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const DistributeContext &context);

/// Rewrites tile.warp_specialize to branches on the warp index, with a prologue
/// and an epilogue. Erases the views, which are then unused, and the index
/// values that only they used.
void eraseViews(mlir::gpu::GPUFuncOp func);

/// Rewrites all ops on tiles inside `op` by the patterns that `populate` adds;
/// `convert` returns the type of a thread's part of a tile.
mlir::LogicalResult
distributeTiles(WarpSpecializeOp op, mlir::Type (*convert)(TileType),
                llvm::function_ref<void(mlir::RewritePatternSet &,
                                        const mlir::TypeConverter &)>
                    populate);

mlir::LogicalResult lowerWarpSpecialize(WarpSpecializeOp op,
                                        const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_COMMON_DISTRIBUTE_H

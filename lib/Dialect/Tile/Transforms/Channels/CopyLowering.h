//===- CopyLowering.h - Copies of tiles by TMA ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of tile-lower-channels that turns tile.load and tile.store into
// tile.tma_load and tile.tma_store.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_COPYLOWERING_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_COPYLOWERING_H

#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <utility>

namespace fmha::tile {

/// The barriers of one channel; `free` may be another channel's, or null.
struct Barriers {
  ChannelOp channel;
  mlir::Value full, free;
};

/// The position of a box in a paged cache: its page, and the `row` and `end`
/// operands of tile.tma_load. Rows of the page after the end of the sequence
/// are read as zeros. A listed row has no end.
struct PagePlace {
  mlir::Value page, row, end;
};

/// Lowers tile.load and tile.store to copies of panels.
class CopyLowering {
public:
  /// With `gathers`, TMA copies listed rows and rows in pages four at a time.
  /// With `fences`, tiles that threads store are read by the asynchronous
  /// proxy.
  CopyLowering(mlir::ImplicitLocOpBuilder &b, bool gathers, bool fences)
      : b(b), gathers(gathers), fences(fences) {}

  /// Emits the copies of a tile to its slot and erases `op`. `own` are the
  /// barriers of the channel, which guard the slot.
  void lower(LoadOp op, Barriers own);
  void lower(LoadRotatedOp op);
  void lower(StoreOp op);

private:
  mlir::Value slotOf(LoadOp op, Barriers own);
  mlir::Value panelAddress(TileType tile, mlir::Value stage, int64_t panel);
  mlir::Value rowsOf(ViewOp view);
  template <typename CopyOp>
  std::pair<mlir::Value, mlir::Value> boxRow(CopyOp op, mlir::Value extent);
  std::pair<mlir::Value, mlir::Value> loadRow(LoadOp op);
  std::pair<int32_t, mlir::Value> panelColumn(LoadOp op, int64_t panel);
  mlir::Value pageNumber(LoadOp op, mlir::Value key);
  PagePlace pagePlace(LoadOp op, mlir::Value key, mlir::Value entry);
  mlir::Value boxAddress(LoadOp op, mlir::Value stage, int64_t panel,
                         mlir::Value rowInTile);
  void copyBox(LoadOp op, Barriers own, mlir::Value rowInTile,
               const PagePlace &place);
  void gatherBox(LoadOp op, Barriers own, mlir::Value rowInTile,
                 mlir::ValueRange pages, mlir::ValueRange rows);
  void copyBoxes(LoadOp op, Barriers own, mlir::Value first, int64_t rows,
                 int64_t count);
  void copyPages(LoadOp op, Barriers own);
  void copyByThreads(LoadOp op, Barriers own);
  void copySingleRows(LoadOp op, Barriers own);
  void copyRowsAt(LoadOp op, Barriers own, mlir::Value first, int64_t count);

  mlir::ImplicitLocOpBuilder &b;
  bool gathers, fences;
};

/// Emits the loads and stores of factors and erases `op`. The loads of the
/// factors come before those of the block's tiles, so that their latencies
/// overlap.
void lowerFactors(mlir::ImplicitLocOpBuilder &b, LoadFactorsOp op,
                  Barriers own);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_CHANNELS_COPYLOWERING_H

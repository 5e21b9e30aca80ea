//===- RowChunks.h - Rows that all threads share by chunks ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of a CTA move the rows of a tile between a tensor and swizzled
// shared memory, 16 bytes at a time. Row r of the tile is query row + r / heads
// of member r mod heads.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_TILETONVVM_ROWCHUNKS_H
#define FMHA_LIB_CONVERSION_TILETONVVM_ROWCHUNKS_H

#include "NumberCode.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/IR/BuiltinTypes.h"

namespace fmha {

/// The operands that ops on such rows have in common. `start` may be null.
struct TileRows {
  mlir::Operation *op;
  mlir::MemRefType type;
  mlir::Value tensor, shared, batch, head, members, row, length, start;
  int64_t heads, count, columns;

  template <typename Op>
  static TileRows of(Op op, mlir::MemRefType type, mlir::Value tensor,
                     mlir::Value shared) {
    return {op,
            type,
            tensor,
            shared,
            op.getBatch(),
            op.getHead(),
            op.getMembers(),
            op.getRow(),
            op.getLength(),
            op.getStart(),
            int64_t(op.getHeads()),
            int64_t(op.getCount()),
            int64_t(op.getColumns())};
  }
};

class RowChunks : protected NumberCode {
protected:
  using Panel = layout::PanelTile;
  static constexpr int64_t elements = Panel::chunkElements;

  /// A chunk of the tile, by the row and the chunk of the row, and its place in
  /// the tensor.
  struct Chunk {
    mlir::Value inTile, index, query, member, column;
  };

  RowChunks(mlir::ImplicitLocOpBuilder &b, const TileRows &rows)
      : NumberCode(b), rows(rows) {}

  /// Emits the loop of a thread over its chunks. Leaves the builder after it.
  void forEach(llvm::function_ref<void(const Chunk &)> body);
  /// Returns whether the tensor has the row of a chunk.
  mlir::Value hasRow(const Chunk &chunk);
  /// Returns whether the tensor has a column.
  mlir::Value hasColumn(mlir::Value column);
  /// Returns the address of a column of the row of `query` and `member`.
  mlir::Value addressOf(mlir::Value query, mlir::Value member,
                        mlir::Value column);
  /// Returns the address of a chunk in shared memory.
  mlir::Value sharedAddress(const Chunk &chunk);

  TileRows rows;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_TILETONVVM_ROWCHUNKS_H

//===- AttentionTile.h - A tile of fmha.attention ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The iteration space of fmha.attention and the op that computes one tile of
// it.
//
// A tile is attention on slices of the operands. The mask and the score region
// depend on the positions of rows and keys in the whole op, which a slice does
// not have:
// - Rows of a bottom-right causal mask: keys that no row of the tile sees are
//   cut off, so that the last row sits at the last key again.
// - Any other mask becomes part of the score region, which adds the offsets of
//   the tile to its indices. Run-time offsets are in a tensor that the region
//   reads.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_TRANSFORMS_ATTENTIONTILE_H
#define FMHA_LIB_DIALECT_FMHA_TRANSFORMS_ATTENTIONTILE_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace fmha {

/// The loops of fmha.attention, outermost first. Query head h is member h mod
/// (q_heads / kv_heads) of the group of KV head h / (q_heads / kv_heads).
enum AttentionLoop : unsigned {
  BatchLoop,
  KVHeadLoop,
  GroupLoop,
  RowLoop,
  KeyLoop,
  LoopCount
};

/// Part of one dimension.
struct Window {
  mlir::OpFoldResult offset, size;
  /// Whether it is all of the dimension.
  bool isWhole = false;
};

/// Returns the extents of the loops.
llvm::SmallVector<mlir::OpFoldResult> attentionExtents(mlir::OpBuilder &b,
                                                       AttentionOp op);

/// The inputs with which the score region of a tile computes the same as that
/// of the whole op.
struct ScoreShift {
  /// Offsets to add to b, h, i and j, and lengths that replace q_len, kv_len
  /// and that of a second KV segment; empty ones leave the argument unchanged.
  enum Quantity : unsigned {
    Batch,
    Head,
    Row,
    Key,
    QLen,
    KVLen,
    KVLen2,
    Count
  };
  std::array<mlir::OpFoldResult, Count> quantities;
  /// The lengths of the sequences of each segment, in place of KVLen and
  /// KVLen2, and whether they are for the tile's batches only.
  mlir::Value lengths, lengths2;
  bool lengthsAreOfTile = false;
  /// Replacements of the captures of the op; empty to use these.
  mlir::IRMapping captures;
  /// The mask that the region applies.
  schedule::Mask mask;
  bool addsMask = false;
};

/// A tile of the iteration space of an op.
class AttentionTile {
public:
  /// `offsets` and `sizes` have an entry for each loop.
  AttentionTile(mlir::OpBuilder &b, AttentionOp op,
                llvm::ArrayRef<mlir::OpFoldResult> offsets,
                llvm::ArrayRef<mlir::OpFoldResult> sizes);

  /// Fails with a diagnostic if no op on slices computes the tile.
  llvm::LogicalResult check(bool isPart);

  /// Returns the windows of the tile in `output` and in rows like `lse`.
  llvm::SmallVector<Window> outputWindows();
  llvm::SmallVector<Window> rowWindows();

  /// Builds the op that computes the tile into slices of the destinations.
  mlir::FailureOr<mlir::TilingResult> build();

  /// Builds the op that computes the partial result of the tile's keys,
  /// unnormalized output, row maxima and row sums, into the given destinations.
  mlir::FailureOr<mlir::TilingResult> buildPart(mlir::ValueRange destinations);

private:
  /// How rows and keys of a tile get their positions in the whole op.
  enum class MaskForm { Unchanged, CutKeys, Code };

  /// Keys to drop at the end of each segment; empty drops none.
  struct KeyCuts {
    mlir::OpFoldResult source1, source2;
  };

  MaskForm maskForm(bool isPart);
  mlir::OpFoldResult rowsAfter();
  KeyCuts keyCuts(bool isPart);
  ScoreShift scoreShift(const KeyCuts &cuts, bool isPart);
  mlir::Value slice(mlir::Value source, llvm::ArrayRef<Window> windows);
  mlir::Value sliceOfKeys(mlir::Value source, mlir::OpFoldResult cut);
  mlir::Value valueSlice(mlir::Value value, mlir::Value key,
                         mlir::Value keySlice, mlir::OpFoldResult cut);
  mlir::Value lengths(mlir::Value list, mlir::OpFoldResult cut);
  AttentionOp buildOp(mlir::ValueRange destinations, const KeyCuts &cuts,
                      bool isPart, bool hasRegion);
  mlir::FailureOr<mlir::TilingResult> buildWith(mlir::ValueRange destinations,
                                                bool isPart);

  mlir::OpBuilder &b;
  AttentionOp op;
  mlir::Location location;
  llvm::SmallVector<mlir::OpFoldResult> extents;
  llvm::SmallVector<Window> windows;
  /// In query heads.
  Window heads;
  llvm::SmallVector<mlir::Operation *> slices;
};

/// Builds the score region of a tile of `op` in `region`. Tensors that it reads
/// besides the captures of `op` are built at `b`. Emits an error and fails if
/// these would have to be buffers.
llvm::LogicalResult buildShiftedScore(mlir::OpBuilder &b, AttentionOp op,
                                      const ScoreShift &shift,
                                      mlir::Region &region);

/// Returns the lengths of sequences in a part of their keys: `list` minus the
/// keys before the part, at least 0 and, if given, at most `size`.
mlir::Value lengthsInPart(mlir::OpBuilder &b, mlir::Location location,
                          mlir::Value list, mlir::OpFoldResult before,
                          mlir::OpFoldResult size);

/// Returns whether two sizes are computed in the same way.
bool isSameSize(mlir::OpFoldResult a, mlir::OpFoldResult b);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_TRANSFORMS_ATTENTIONTILE_H

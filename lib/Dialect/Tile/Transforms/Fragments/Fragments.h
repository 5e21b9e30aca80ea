//===- Fragments.h - Tiles in fragments -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Families whose threads hold fragments of tiles, #tile.fragment, share these
// builders and patterns. fragmentTile() of the layout algebra says which thread
// holds what.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_FRAGMENTS_FRAGMENTS_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_FRAGMENTS_FRAGMENTS_H

#include "Common/RowLayout.h"

namespace fmha::tile {

/// Rows of a thread in a fragment of 64 rows, and its elements of every 8
/// columns of the accumulator: two of the first row, then two of the second
/// row. A tile of 128 rows is two fragments, one after the other.
constexpr int64_t fragmentRows = 2, fragmentStep = 4, rowsOfFragment = 64;
/// Words of two elements that a thread has of 16 columns of an operand A.
constexpr int64_t wordsOfA = 4;

template <typename OpTy>
class FragmentPattern : public mlir::OpConversionPattern<OpTy> {
public:
  FragmentPattern(const mlir::TypeConverter &converter, const KernelInfo &info,
                  mlir::MLIRContext *context, mlir::PatternBenefit benefit = 1)
      : mlir::OpConversionPattern<OpTy>(converter, context, benefit),
        info(info) {}

protected:
  const KernelInfo &info;
};

/// Returns the number of elements of an f32 tile, or of words of a 16-bit tile,
/// that a thread has.
int64_t fragmentSize(TileType tile);
/// Returns the number of rows of a tile that a thread has elements of.
int64_t threadRows(TileType tile);

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

/// Returns row `row` of this thread's rows of a tile: the first one, the second
/// one, which is 8 rows further down, and those of the next 64 rows; i32.
mlir::Value fragmentRow(mlir::ImplicitLocOpBuilder &b, int64_t row);
/// Like threadQuery() and threadHead() of Distribute.h, for that row.
mlir::Value fragmentQuery(mlir::ImplicitLocOpBuilder &b, int64_t row,
                          std::optional<uint32_t> heads);
mlir::Value fragmentHead(mlir::ImplicitLocOpBuilder &b, int64_t row,
                         uint32_t heads);
/// Returns the first of this thread's columns of every 8: 2·(thread mod 4),
/// i32.
mlir::Value fragmentColumn(mlir::ImplicitLocOpBuilder &b);
/// The places of a thread's elements, by fragmentTile(): which of its rows each
/// is in, and its column after the thread's first one.
struct FragmentPlaces {
  llvm::SmallVector<int64_t> rows, columns;
};
/// Returns the places of `count` elements in `rows` rows of a thread.
FragmentPlaces fragmentPlaces(int64_t count, int64_t rows);
/// Broadcasts one number per row to `count` elements of the fragment.
mlir::Value spreadRows(mlir::ImplicitLocOpBuilder &b, mlir::Value rows,
                       int64_t count);
/// Returns the elements of row `row` of `rows`, in the order of columns.
mlir::Value elementsOfRow(mlir::ImplicitLocOpBuilder &b, mlir::Value fragment,
                          int64_t row, int64_t rows = fragmentRows);
/// Returns a vector of the numbers of the rows.
mlir::Value joinRows(mlir::ImplicitLocOpBuilder &b,
                     llvm::ArrayRef<mlir::Value> rows);
/// Rounds f32 elements to 16 bits, and returns words of two elements.
mlir::Value roundToWords(mlir::ImplicitLocOpBuilder &b, mlir::Value fragment,
                         mlir::Type element);

/// Returns the layout in which a thread has elements of two rows, and shares
/// each with its quad. One number per row is a vector of two in all four
/// threads. Tiles of 128 rows have four rows in place of two.
/// `write` writes rounded elements to shared memory; a layout without it serves
/// what does not.
RowLayout rowsOfQuad(int64_t tileRows,
                     void (*write)(mlir::ImplicitLocOpBuilder &b, TileType to,
                                   mlir::Value rounded) = nullptr);

/// Adds the patterns that a family with the layout of fragments shares: masks,
/// score_mod regions, slots, slices and stores.
void populateFragmentPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const KernelInfo &info);
/// Returns the type of a tile: a vector for a fragment, an address for a tile
/// in shared memory.
mlir::Type convertFragment(TileType type);

void populateFragmentMasks(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           const KernelInfo &info);
void populateFragmentMemory(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            const KernelInfo &info);
void populateFragmentModify(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            const KernelInfo &info);
void populateFragmentOutput(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_FRAGMENTS_FRAGMENTS_H

//===- WgmmaDistribute.h - Patterns that give fragments to threads -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMADISTRIBUTE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMADISTRIBUTE_H

#include "Common/RowLayout.h"

namespace fmha::tile {

/// Elements of the accumulator that a thread has of every 8 columns, two of
/// each of its two rows, one row behind the other.
constexpr int64_t fragmentRows = 2, fragmentStep = 4;
/// Columns of A that one wgmma takes, and what a thread has of them: words of
/// two elements.
constexpr int64_t wgmmaDepth = 16, wordsOfA = 4;

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

/// Elements of an f32 tile, or words of a 16-bit one, that a thread has.
int64_t fragmentSize(TileType tile);

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

/// The first of this thread's rows of a tile, or the second, 8 rows on; i32.
mlir::Value fragmentRow(mlir::ImplicitLocOpBuilder &b, int64_t row);
/// As threadQuery() and threadHead() of Distribute.h, for that row.
mlir::Value fragmentQuery(mlir::ImplicitLocOpBuilder &b, int64_t row,
                          std::optional<uint32_t> heads);
mlir::Value fragmentHead(mlir::ImplicitLocOpBuilder &b, int64_t row,
                         uint32_t heads);
/// The first of this thread's columns of every 8: 2·(thread mod 4), i32.
mlir::Value fragmentColumn(mlir::ImplicitLocOpBuilder &b);
/// The sum of the row whose accumulator `op` multiplies, where `op` is done by
/// the wait for that accumulator (WgmmaMemory.cpp); else null.
RowSumOp sumAheadOf(RescaleOp op);
/// A number a row, as often as `count` elements of the fragment need it.
mlir::Value spreadRows(mlir::ImplicitLocOpBuilder &b, mlir::Value rows,
                       int64_t count);
/// The elements of row `row`, in the order of columns.
mlir::Value elementsOfRow(mlir::ImplicitLocOpBuilder &b, mlir::Value fragment,
                          int64_t row);
/// A vector of the numbers of both rows.
mlir::Value bothRows(mlir::ImplicitLocOpBuilder &b, mlir::Value first,
                     mlir::Value second);
/// f32 elements as words of two elements of 16 bits.
mlir::Value roundToWords(mlir::ImplicitLocOpBuilder &b, mlir::Value fragment,
                         mlir::Type element);

/// Words of a 16-bit fragment into its tile in shared memory, by stmatrix: a
/// warp has 16 rows, and of each 16 columns the four matrices in the order of
/// its registers. Lane l addresses row l mod 16 of the warp, and the upper 8
/// columns if it is above 15; the swizzle is an XOR with the row inside its 128
/// bytes.
void storeFragment(mlir::ImplicitLocOpBuilder &b, TileType to,
                   mlir::Value words);

/// A thread has elements of two rows, and shares each with the others of its
/// quad: a number for each row is a vector of two in all four.
const RowLayout &rowsOfQuad();

void populateWgmmaArithmetic(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             const KernelInfo &info);
void populateWgmmaMemory(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info);
void populateWgmmaModify(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info);
void populateWgmmaOutput(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info);

/// KernelFamily::distribute: a warpgroup has the fragments of its tiles, and
/// products add to them.
mlir::LogicalResult distributeWgmma(SpecialiseOp op, const KernelInfo &info);

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_WGMMA_WGMMADISTRIBUTE_H

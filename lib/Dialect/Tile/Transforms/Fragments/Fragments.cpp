//===- Fragments.cpp - Tiles in fragments ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

int64_t tile::threadRows(TileType tile) {
  return tile.getRows() / rowsOfFragment * fragmentRows;
}

int64_t tile::fragmentSize(TileType tile) {
  if (tile.getShape().size() == 1)
    return threadRows(tile);
  int64_t elements =
      tile.getRows() / rowsOfFragment * tile.getColumns() / 8 * fragmentStep;
  return tile.getElementType().isF32() ? elements : elements / 2;
}

/// Bits 5 and 6 of the thread, which are the warp, are bits 4 and 5 of the row;
/// bits 2 to 4 are its bits 0 to 2.
Value tile::fragmentRow(ImplicitLocOpBuilder &b, int64_t row) {
  Value thread = threadInGroup(b);
  auto bits = [&](int32_t shift, int32_t mask) {
    return arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, thread, constantI32(b, shift)),
        constantI32(b, mask));
  };
  Value place = arith::OrIOp::create(b, bits(1, 0x30), bits(2, 7));
  constexpr int32_t apart = 8;
  int32_t more =
      int32_t(row / fragmentRows * rowsOfFragment + row % fragmentRows * apart);
  return more ? Value(arith::OrIOp::create(b, place, constantI32(b, more)))
              : place;
}

Value tile::fragmentQuery(ImplicitLocOpBuilder &b, int64_t row,
                          std::optional<uint32_t> heads) {
  Value inTile = fragmentRow(b, row);
  return heads ? Value(arith::ShRUIOp::create(
                     b, inTile, constantI32(b, llvm::Log2_32(*heads))))
               : inTile;
}

Value tile::fragmentHead(ImplicitLocOpBuilder &b, int64_t row, uint32_t heads) {
  return arith::AndIOp::create(b, fragmentRow(b, row),
                               constantI32(b, heads - 1));
}

Value tile::fragmentColumn(ImplicitLocOpBuilder &b) {
  Value inQuad = arith::AndIOp::create(b, threadInGroup(b), constantI32(b, 3));
  return arith::ShLIOp::create(b, inQuad, constantI32(b, 1));
}

Value tile::spreadRows(ImplicitLocOpBuilder &b, Value rows, int64_t count) {
  SmallVector<int64_t> places;
  int64_t fragments =
      cast<VectorType>(rows.getType()).getDimSize(0) / fragmentRows;
  int64_t size = count / fragments;
  for (int64_t n = 0; n < count; ++n)
    places.push_back(n / size * fragmentRows + n / 2 % fragmentRows);
  return vector::ShuffleOp::create(b, rows, rows, places);
}

Value tile::elementsOfRow(ImplicitLocOpBuilder &b, Value fragment, int64_t row,
                          int64_t rows) {
  SmallVector<int64_t> places;
  int64_t all = cast<VectorType>(fragment.getType()).getDimSize(0);
  int64_t size = all / (rows / fragmentRows);
  for (int64_t n = 0; n < all; ++n)
    if (n / size * fragmentRows + n / 2 % fragmentRows == row)
      places.push_back(n);
  return vector::ShuffleOp::create(b, fragment, fragment, places);
}

Value tile::joinRows(ImplicitLocOpBuilder &b, ArrayRef<Value> rows) {
  auto type = VectorType::get({int64_t(rows.size())}, rows.front().getType());
  return vector::FromElementsOp::create(b, type, rows);
}

/// One conversion rounds and packs a pair of elements.
Value tile::roundToWords(ImplicitLocOpBuilder &b, Value fragment,
                         Type element) {
  int64_t size = cast<VectorType>(fragment.getType()).getDimSize(0);
  auto pair = VectorType::get({2}, element);
  auto word = VectorType::get({1}, b.getI32Type());
  SmallVector<Value> words;
  for (int64_t n = 0; n < size; n += 2) {
    Value half = arith::TruncFOp::create(b, pair, slice(b, fragment, n, 2));
    words.push_back(vector::ExtractOp::create(
        b, vector::BitCastOp::create(b, word, half), 0));
  }
  return vector::FromElementsOp::create(
      b, VectorType::get({size / 2}, b.getI32Type()), words);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type tile::convertFragment(TileType type) {
  MLIRContext *ctx = type.getContext();
  if (type.getSmem())
    return LLVM::LLVMPointerType::get(ctx, 3);
  if (!type.inFragments())
    return {};
  Type element = type.getElementType();
  if (!element.isF32())
    element = IntegerType::get(ctx, 32);
  return VectorType::get({fragmentSize(type)}, element);
}

void fmha::tile::populateFragmentPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelInfo &info) {
  populateFragmentMasks(patterns, converter, info);
  populateFragmentMemory(patterns, converter, info);
  populateFragmentModify(patterns, converter, info);
  populateFragmentOutput(patterns, converter, info);
}

//===- Fragments.cpp - Tiles in fragments ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments/Fragments.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"

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
namespace algebra = fmha::layout::algebra;

/// Threads that share a row.
static constexpr int64_t threadsOfRow = 4;

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

/// Returns the layout of the first rows of a thread. All numbers of columns
/// have the same rows and threads.
static algebra::ThreadValue tileOfRows(int64_t rows) {
  constexpr int64_t columns = 8;
  return algebra::fragmentTile(
      llvm::divideCeil(rows, fragmentRows) * rowsOfFragment, columns);
}

/// Returns the rows of the elements of a thread, each once and ascending, after
/// that of its first element.
static SmallVector<int64_t> rowsOf(const algebra::Layout &values) {
  SmallVector<int64_t> rows;
  for (int64_t n = 0; n < values.size(); ++n)
    rows.push_back(values(n));
  llvm::sort(rows);
  rows.erase(llvm::unique(rows), rows.end());
  return rows;
}

FragmentPlaces tile::fragmentPlaces(int64_t count, int64_t rows) {
  int64_t fragments = rows / fragmentRows;
  algebra::MatrixPlace place = algebra::placeOfValues(algebra::fragmentTile(
      fragments * rowsOfFragment, count / rows * threadsOfRow));
  SmallVector<int64_t> own = rowsOf(place.rows);
  FragmentPlaces places;
  for (int64_t n = 0; n < count; ++n) {
    places.rows.push_back(llvm::find(own, place.rows(n)) - own.begin());
    places.columns.push_back(place.columns(n));
  }
  return places;
}

Value tile::fragmentRow(ImplicitLocOpBuilder &b, int64_t row) {
  algebra::ThreadValue tile = tileOfRows(row + 1);
  Value place = threadOffset(b, algebra::placeOfThreads(tile).rows);
  int64_t more = rowsOf(algebra::placeOfValues(tile).rows)[row];
  return more ? Value(arith::OrIOp::create(b, place,
                                           constantI32(b, int32_t(more))))
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
  return threadOffset(b, algebra::placeOfThreads(tileOfRows(1)).columns);
}

Value tile::spreadRows(ImplicitLocOpBuilder &b, Value rows, int64_t count) {
  int64_t own = cast<VectorType>(rows.getType()).getDimSize(0);
  return vector::ShuffleOp::create(b, rows, rows,
                                   fragmentPlaces(count, own).rows);
}

Value tile::elementsOfRow(ImplicitLocOpBuilder &b, Value fragment, int64_t row,
                          int64_t rows) {
  int64_t count = cast<VectorType>(fragment.getType()).getDimSize(0);
  SmallVector<int64_t> elements;
  for (auto [n, place] : llvm::enumerate(fragmentPlaces(count, rows).rows))
    if (place == row)
      elements.push_back(int64_t(n));
  return vector::ShuffleOp::create(b, fragment, fragment, elements);
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

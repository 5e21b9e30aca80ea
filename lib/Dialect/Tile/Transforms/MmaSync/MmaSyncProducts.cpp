//===- MmaSyncProducts.cpp - Products by ldmatrix and mma.sync ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp multiplies its rows of A, one or two tiles of 16, by all of B.
// ldmatrix brings 16 x 16 elements, for lane l the address of row l mod 8 of
// one of four 8 x 8 matrices. With the swizzle its eight rows lie in different
// banks. Those of B serve the products of both tiles, and are loaded one step
// ahead:
//
//   load B[0]
//   for step of (K steps, 16 columns):
//     load B[step + 1]
//     for each tile of A, each 8 columns: mma.sync
//
// With mma_k = 8 a step has two rounds of products. Words 0 and 1 of A are its
// columns 0 to 7, 2 and 3 the others; B has one word of each:
//
//   m16n8k16 A[0:4], B[0:2] -> m16n8k8 A[0:2], B[0]; m16n8k8 A[2:4], B[1]
//
//===----------------------------------------------------------------------===//

#include "MmaSyncDistribute.h"
#include "fmha/Layout/SmemTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Elements of a step of mma.sync in M and K, and columns of B of one ldmatrix,
/// which are those of two products.
constexpr int64_t stepRows = 16, stepDepth = 16, stepColumns = 16,
                  productColumns = 8;

/// Words of a thread: those of B for 8 columns of a step.
constexpr int64_t wordsOfB = 2;

/// Four words of a thread: 16 x 16 elements.
using Words = std::array<Value, 4>;

/// Reads 16 x 16 elements of a tile in shared memory, with the 128-byte
/// swizzle.
class MatrixReader {
public:
  /// The bits of the lane that are added to the row, and to the chunk of 8
  /// columns: (l mod 16, l / 16) for A and for B by columns, (l mod 8 + 8 (l /
  /// 16), l / 8 mod 2) for B by rows.
  enum class Order { RowsFirst, ChunksFirst };

  MatrixReader(ImplicitLocOpBuilder &b, TileType tile, Value base, Order order,
               bool transposes, Value firstRow = nullptr)
      : b(b), panels(panelsOf(tile)), transposes(transposes) {
    Value lane = threadInGroup(b);
    bool rowsFirst = order == Order::RowsFirst;
    Value inRow = bits(lane, 0, 7);
    Value row = arith::OrIOp::create(
        b, inRow,
        arith::ShLIOp::create(b, bits(lane, rowsFirst ? 3 : 4, 1),
                              constantI32(b, 3)));
    if (firstRow)
      row = arith::AddIOp::create(b, row, firstRow);
    Value chunk = bits(lane, rowsFirst ? 4 : 3, 1);
    constexpr int32_t rowShift = 7, chunkShift = 4;
    Value line = arith::ShLIOp::create(b, row, constantI32(b, rowShift));
    swizzled = arith::ShLIOp::create(b, arith::XOrIOp::create(b, chunk, inRow),
                                     constantI32(b, chunkShift));
    own = advance(b, base, line);
  }

  /// Returns the words from row `row`, a multiple of 8, and column `column`, a
  /// multiple of 16, on.
  Words read(int64_t row, int64_t column) {
    constexpr int64_t chunkColumns = layout::PanelTile::chunkElements,
                      rowBytes = layout::PanelTile::rowBytes,
                      chunkBytes = layout::PanelTile::chunkBytes;
    constexpr int64_t chunks = rowBytes / chunkBytes;
    int64_t chunk = column / chunkColumns;
    int64_t inPanel = chunk % chunks;
    Value &place = places[inPanel];
    if (!place)
      place = advance(
          b, own,
          arith::XOrIOp::create(b, swizzled,
                                constantI32(b, int32_t(inPanel * chunkBytes))));
    int64_t offset =
        chunk / chunks * int64_t(panels.panelBytes()) + row * rowBytes;
    Value address =
        LLVM::GEPOp::create(b, place.getType(), b.getI8Type(), place,
                            ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    auto type = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(4, b.getI32Type()));
    Value read = NVVM::LdMatrixOp::create(
        b, type, address, /*num=*/4,
        transposes ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
    Words words;
    for (auto [n, word] : llvm::enumerate(words))
      word = LLVM::ExtractValueOp::create(b, read, n);
    return words;
  }

private:
  Value bits(Value lane, int32_t shift, int32_t mask) {
    return arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, lane, constantI32(b, shift)),
        constantI32(b, mask));
  }

  ImplicitLocOpBuilder &b;
  layout::PanelTile panels;
  bool transposes;
  /// The address of this lane's row, its swizzled byte, and the addresses of
  /// the pairs of chunks of a panel that were read.
  Value own, swizzled;
  std::array<Value, 8> places;
};

/// Emits a product.
class Product {
public:
  Product(ImplicitLocOpBuilder &b, DotOp op, DotOp::Adaptor adaptor,
          int64_t depth)
      : b(b), op(op), adaptor(adaptor), a(op.getA().getType()), d(op.getType()),
        tiles(d.getRows() / rowsOfFragment), steps(a.getColumns() / stepDepth),
        columns(d.getColumns()), depth(depth) {}

  Value build();

private:
  void readAccumulator();
  MatrixReader readerOfA();
  Words factorOfA(int64_t tile, int64_t step);
  int64_t rounds() const { return stepDepth / depth; }
  void multiply(const Words &factorA, const Words &factorB, int64_t tile,
                int64_t column, int64_t round);
  void multiplyStep(ArrayRef<Words> ofA, const Words &ofB, int64_t column);
  SmallVector<Value> typed(ArrayRef<Value> words);

  ImplicitLocOpBuilder &b;
  DotOp op;
  DotOp::Adaptor adaptor;
  TileType a, d;
  /// Tiles of 16 rows of a warp, K steps, columns of D, and the inner extent of
  /// mma.sync.
  int64_t tiles, steps, columns, depth;
  /// Elements of D, in the order of the fragment.
  SmallVector<Value> sums;
  std::optional<MatrixReader> rowsOfA;
};

} // namespace

void Product::readAccumulator() {
  int64_t size = fragmentSize(d);
  Value acc = adaptor.getAcc();
  Value zero = acc ? Value() : constantF32(b, 0);
  for (int64_t n = 0; n < size; ++n)
    sums.push_back(acc ? Value(vector::ExtractOp::create(b, acc, n)) : zero);
}

/// Warp w has rows 16 w to 16 w + 15 of every 64.
MatrixReader Product::readerOfA() {
  constexpr int32_t warpShift = 1, warpMask = 0x30;
  Value first = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, threadInGroup(b), constantI32(b, warpShift)),
      constantI32(b, warpMask));
  return MatrixReader(b, a, adaptor.getA(), MatrixReader::Order::RowsFirst,
                      /*transposes=*/false, first);
}

/// Returns A of one tile and K step, from shared memory or registers.
Words Product::factorOfA(int64_t tile, int64_t step) {
  if (rowsOfA)
    return rowsOfA->read(tile * rowsOfFragment, step * stepDepth);
  int64_t size = fragmentSize(a) / tiles;
  Words words;
  for (auto [n, word] : llvm::enumerate(words))
    word = vector::ExtractOp::create(
        b, adaptor.getA(), tile * size + step * wordsOfA + int64_t(n));
  return words;
}

/// Returns words as pairs of f16; pairs of bf16 are i32 in nvvm.
SmallVector<Value> Product::typed(ArrayRef<Value> words) {
  if (!a.getElementType().isF16())
    return SmallVector<Value>(words);
  auto pair = VectorType::get({2}, b.getF16Type());
  return llvm::map_to_vector(words, [&](Value word) -> Value {
    return LLVM::BitcastOp::create(b, pair, word);
  });
}

/// Emits the product of a tile and 8 columns of D, whose factor B is one half
/// of `factorB`, for one of the rounds of the step.
void Product::multiply(const Words &factorA, const Words &factorB, int64_t tile,
                       int64_t column, int64_t round) {
  int64_t half = column / productColumns % 2;
  int64_t ofA = wordsOfA / rounds(), ofB = wordsOfB / rounds();
  int64_t at =
      tile * fragmentSize(d) / tiles + column / productColumns * fragmentStep;
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(fragmentStep, b.getF32Type()));
  auto kind =
      a.getElementType().isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value made = NVVM::MmaOp::create(
      b, type, typed(ArrayRef(factorA).slice(round * ofA, ofA)),
      typed(ArrayRef(factorB).slice(half * wordsOfB + round * ofB, ofB)),
      ArrayRef(sums).slice(at, fragmentStep),
      ArrayRef<int64_t>{stepRows, productColumns, depth}, std::nullopt,
      std::nullopt, std::array{kind, kind},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t n = 0; n < fragmentStep; ++n)
    sums[at + n] = LLVM::ExtractValueOp::create(b, made, n);
}

/// Emits the products of all tiles and 16 columns of D from `column` on.
void Product::multiplyStep(ArrayRef<Words> ofA, const Words &ofB,
                           int64_t column) {
  for (int64_t round = 0; round < rounds(); ++round)
    for (int64_t n = 0; n < stepColumns; n += productColumns)
      for (int64_t tile = 0; tile < tiles; ++tile)
        multiply(ofA[tile], ofB, tile, column + n, round);
}

/// B by rows (transpose_b) has a row for each column of D, otherwise a row for
/// each K, which ldmatrix.trans transposes.
Value Product::build() {
  readAccumulator();
  if (!a.inFragments())
    rowsOfA.emplace(readerOfA());
  bool byRows = op.getTransposeB();
  int64_t firstRow = op.getRows().value_or(0);
  MatrixReader rowsOfB(b, op.getB().getType(), adaptor.getB(),
                       byRows ? MatrixReader::Order::ChunksFirst
                              : MatrixReader::Order::RowsFirst,
                       /*transposes=*/!byRows);
  int64_t parts = columns / stepColumns, count = steps * parts;
  auto factorOfB = [&](int64_t number) {
    int64_t k = number / parts * stepDepth, n = number % parts * stepColumns;
    return byRows ? rowsOfB.read(n, k) : rowsOfB.read(firstRow + k, n);
  };
  auto factorsOfA = [&](int64_t step) {
    SmallVector<Words> all;
    for (int64_t tile = 0; tile < tiles; ++tile)
      all.push_back(factorOfA(tile, step));
    return all;
  };
  SmallVector<Words> ofA = factorsOfA(0);
  Words ofB = factorOfB(0);
  for (int64_t number = 0; number < count; ++number) {
    SmallVector<Words> nextA = ofA;
    Words nextB = ofB;
    if (number + 1 < count)
      nextB = factorOfB(number + 1);
    if (number % parts == parts - 1 && number + 1 < count)
      nextA = factorsOfA(number / parts + 1);
    multiplyStep(ofA, ofB, number % parts * stepColumns);
    ofA = nextA;
    ofB = nextB;
  }
  Value product = vector::FromElementsOp::create(
      b, VectorType::get({fragmentSize(d)}, b.getF32Type()), sums);
  return op.getNegate() ? Value(arith::NegFOp::create(b, product)) : product;
}

namespace {

struct DotMmaSync : public FragmentPattern<DotOp> {
  using FragmentPattern::FragmentPattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType a = op.getA().getType(), d = op.getType();
    if (!d.inFragments() || !op.getB().getType().getSmem() ||
        op.getAccumulate() || (op.getNegate() && op.getAcc()) ||
        a.getColumns() % stepDepth || d.getColumns() % stepColumns)
      return rewriter.notifyMatchFailure(
          op, "expected D in #tile.fragment, B in #tile.smem, an inner extent "
              "and columns of a multiple of 16, no condition, and no sign of a "
              "sum");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, Product(b, op, adaptor, info.schedule.mmaK).build());
    return success();
  }
};

} // namespace

void fmha::tile::populateMmaSyncProducts(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelInfo &info) {
  patterns.add<DotMmaSync>(converter, info, patterns.getContext());
}

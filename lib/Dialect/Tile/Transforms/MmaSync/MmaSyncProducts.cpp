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

#include "Common/KernelFamily.h"
#include "MmaSyncDistribute.h"
#include "fmha/Layout/Algebra/IndexTerms.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace algebra = fmha::layout::algebra;

namespace {

/// Elements of a step of mma.sync in M and K, and columns of B of one ldmatrix,
/// which are those of two products.
constexpr int64_t stepRows = 16, stepDepth = 16, stepColumns = 16,
                  productColumns = 8, warps = 4;

/// Words of a thread: those of B for 8 columns of a step.
constexpr int64_t wordsOfB = 2;

/// Four words of a thread: 16 x 16 elements.
using Words = std::array<Value, 4>;

/// Reads 16 x 16 elements of a tile in shared memory, with the 128-byte
/// swizzle.
class MatrixReader {
public:
  /// `copy` has the row and the chunk that each lane addresses. A tile with a
  /// row for each K is transposed as it is read.
  MatrixReader(ImplicitLocOpBuilder &b, TileType tile, Value base,
               const algebra::TiledCopy &copy, bool transposes)
      : b(b), panels(panelsOf(tile)), transposes(transposes) {
    algebra::MatrixPlace lanes = algebra::placeOfThreads(copy.source());
    if (transposes)
      std::swap(lanes.rows, lanes.columns);
    // Bits 0 to 2 of the lane are the row of a matrix. Bits 3 and 4 select the
    // matrix: one of them selects the chunk, the other one 8 more rows.
    constexpr int32_t rowShift = 7, chunkShift = 4, matrixBits = 3 + 4;
    int32_t chunkBit = int32_t(
        llvm::Log2_64(algebra::indexTerms(lanes.columns).front().divisor));
    Value first = firstOfWarp(lanes.rows), lane = threadInGroup(b);
    Value inRow = bits(lane, 0, 7);
    Value row = arith::OrIOp::create(
        b, inRow,
        arith::ShLIOp::create(b, bits(lane, matrixBits - chunkBit, 1),
                              constantI32(b, 3)));
    if (first)
      row = arith::AddIOp::create(b, row, first);
    Value chunk = bits(lane, chunkBit, 1);
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
  /// Returns the first row of this warp; null if all warps read the same.
  Value firstOfWarp(const algebra::Layout &rows) {
    int64_t rowsOfWarp = rows(target::warpThreads);
    if (!rowsOfWarp)
      return {};
    return threadOffset(
        b, algebra::Layout::tuple({algebra::Layout(target::warpThreads, 0),
                                   algebra::Layout(warps, rowsOfWarp)}));
  }
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
  /// `mma` has the inner extent of the instruction.
  Product(ImplicitLocOpBuilder &b, DotOp op, DotOp::Adaptor adaptor,
          const algebra::TiledMma &mma)
      : b(b), op(op), adaptor(adaptor), a(op.getA().getType()), d(op.getType()),
        tiles(d.getRows() / rowsOfFragment), steps(a.getColumns() / stepDepth),
        columns(d.getColumns()), depth(mma.atom().shape[2]) {}

  Value build();

private:
  void readAccumulator();
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
  std::vector<algebra::TiledCopy> copies = copiesOfMmaSync(op);
  if (!a.inFragments())
    rowsOfA.emplace(b, a, adaptor.getA(), copies.front(), /*transposes=*/false);
  bool byRows = op.getTransposeB();
  int64_t firstRow = op.getRows().value_or(0);
  MatrixReader rowsOfB(b, op.getB().getType(), adaptor.getB(), copies.back(),
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

algebra::TiledMma fmha::tile::mmaSyncProduct(Type element, int64_t depth) {
  std::string name = "mma_m16n8k" + std::to_string(depth) +
                     (element.isF16() ? "_f32_f16" : "_f32_bf16");
  return {algebra::mmaAtom(name),
          algebra::Layout::columnMajor(algebra::IntTuple::tuple({warps, 1, 1})),
          algebra::Tiler::ofShape(algebra::IntTuple::tuple(
              {warps * stepRows, stepColumns, stepDepth}))};
}

algebra::TiledMma fmha::tile::productOfMmaSync(DotOp op,
                                               const KernelInfo &info) {
  return mmaSyncProduct(op.getA().getType().getElementType(),
                        info.schedule.mmaK);
}

/// Two products of half the depth take the halves of these fragments.
std::vector<algebra::TiledCopy> fmha::tile::copiesOfMmaSync(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  if (!dot)
    return {};
  TileType a = dot.getA().getType();
  algebra::TiledMma mma = mmaSyncProduct(a.getElementType(), stepDepth);
  auto copyOf = [&](algebra::Operand operand, const char *atom) {
    return mma.copyOf(operand, algebra::copyAtom(atom), mma.atom().bits);
  };
  std::vector<algebra::TiledCopy> copies;
  if (a.getSmem())
    copies.push_back(copyOf(algebra::Operand::A, "ldmatrix_x4"));
  copies.push_back(copyOf(algebra::Operand::B, dot.getTransposeB()
                                                   ? "ldmatrix_x4"
                                                   : "ldmatrix_x4_trans"));
  return copies;
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
    FailureOr<algebra::TiledMma> mma = chosenProduct(op);
    if (failed(mma))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, Product(b, op, adaptor, *mma).build());
    return success();
  }

private:
  /// Returns the product that the op names, or that of the schedule.
  FailureOr<algebra::TiledMma> chosenProduct(DotOp op) const {
    auto chosen = op->getAttrOfType<TiledMmaAttr>(productName);
    if (!chosen)
      return productOfMmaSync(op, info);
    Type element = op.getA().getType().getElementType();
    algebra::TiledMma deep = mmaSyncProduct(element, stepDepth),
                      half = mmaSyncProduct(element, stepDepth / 2);
    if (chosen.getValue() == deep || chosen.getValue() == half)
      return chosen.getValue();
    return op.emitOpError() << "expected \"" << productName
                            << "\" to be one of the products that mma.sync "
                               "kernels emit, "
                            << deep.str() << " or " << half.str() << ", got "
                            << chosen.getValue().str();
  }
};

} // namespace

void fmha::tile::populateMmaSyncProducts(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelInfo &info) {
  patterns.add<DotMmaSync>(converter, info, patterns.getContext());
}

//===- CheckedTextTest.cpp - Text of layouts, without exceptions ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/CheckedText.h"
#include "RandomLayouts.h"
#include "fmha/Layout/Algebra/IndexTerms.h"
#include "fmha/Layout/Algebra/PlacedTiles.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fmha::layout::algebra;
using testing::HasSubstr;

namespace {

/// A value's text is read as that value.
template <typename T> void expectRoundTrip(const T &value, Checked<T> read) {
  ASSERT_TRUE(read.value) << value.str() << ": " << read.error;
  EXPECT_EQ(*read.value, value) << value.str();
  EXPECT_EQ(read.value->str(), value.str());
}

template <typename T>
void expectError(const Checked<T> &read, size_t position, const char *reason) {
  EXPECT_FALSE(read.value);
  EXPECT_EQ(read.position, position);
  EXPECT_THAT(read.error, HasSubstr(reason));
}

TEST(CheckedText, RandomLayoutsRoundTrip) {
  for (uint32_t i = 0, seed = firstSeed(); i < 2000; ++i, ++seed) {
    SCOPED_TRACE("FMHA_TEST_SEED=" + std::to_string(seed));
    Draw draw(seed);
    int bits = int(draw.below(4));
    Swizzle swizzle =
        bits ? Swizzle(bits, int(draw.below(5)), bits + 1) : Swizzle();
    ComposedLayout layout{swizzle, draw.below(9), draw.any(draw.shape())};
    expectRoundTrip(layout, readLayout(layout.str()));
  }
}

TEST(CheckedText, PlacedTilesRoundTrip) {
  for (int64_t columns : {16, 64, 96, 256})
    for (const ThreadValue &map :
         {fragmentTile(64, columns), fragmentTile(128, columns),
          rowTile(128, columns), rowTile(64, columns), rowTile(64, columns, 4),
          rowTile(64, columns, 1, 64)}) {
      expectRoundTrip(map, readThreadValue(map.str()));
      EXPECT_EQ(whyNoDistribution(map), std::nullopt);
    }
}

TEST(CheckedText, CopiesAndProductsRoundTrip) {
  Layout warps = Layout::columnMajor(IntTuple::tuple({4, 1, 1}));
  IntTuple shape = IntTuple::tuple({64, 16, 16});
  TiledMma plain(mmaAtom("mma_m16n8k8_f32_f16"), warps),
      tiled(mmaAtom("mma_m16n8k16_f32_bf16"), warps, Tiler::ofShape(shape)),
      wide(mmaAtom("wgmma_m64n256k16_f32_bf16_rs"),
           Layout::columnMajor(IntTuple::tuple({1, 1, 1})));
  for (const TiledMma &mma : {plain, tiled, wide})
    expectRoundTrip(mma, readTiledMma(mma.str()));
  EXPECT_EQ(plain.str(), "mma_m16n8k8_f32_f16, (4,1,1)");
  EXPECT_EQ(tiled.str(), "mma_m16n8k16_f32_bf16, (4,1,1), (64,16,16)");
  TiledMma permuted(mmaAtom("mma_m16n8k8_f32_f16"), warps,
                    Tiler::byMode({Layout(64, 1),
                                   {},
                                   Layout(IntTuple::tuple({8, 2}),
                                          IntTuple::tuple({2, 1}))}));
  EXPECT_EQ(permuted.str(), "mma_m16n8k8_f32_f16, (4,1,1), (64,_,(8,2):(2,1))");
  expectRoundTrip(permuted, readTiledMma(permuted.str()));
  TiledCopy load = tiled.copyOf(Operand::A, copyAtom("ldmatrix_x4"), 16),
            single = TiledCopy::make(copyAtom("copy_128"), 32, Layout(32, 1),
                                     Layout(4, 1));
  for (const TiledCopy &copy : {load, single})
    expectRoundTrip(copy, readTiledCopy(copy.str()));
}

TEST(CheckedText, ErrorsHaveAPositionAndAReason) {
  expectError(readLayout("(4,8):(1"), 8, "expected ')', got the end");
  expectError(readLayout("(4,0)"), 0, "expected extents of at least 1");
  expectError(readThreadValue("8:1, 8"), 0, "a layout of threads and values");
  expectError(readThreadValue("(4,2):(2,1)"), 11, "expected ','");
  expectError(readThreadValue("(4,2):(2,1), 6"), 0, "a tile that holds the 8");
  expectError(readThreadValue("(4,2):(1,4), 9"), 0,
              "an owner of each element of 9, got none of 8");
  expectError(readThreadValue("(4,2):(1,0), 4"), 0, "0 twice in thread 0");
  expectError(readThreadValue("(4,2):(1,4), (4096,4096)"), 0,
              "at most 1048576 elements");
  expectError(readThreadValue("(4,2):(1,4), (2147483648,2147483648,4)"), 0,
              "below 2^63");
  expectError(readThreadValue("(4,2):(1,4), (-1,-8)"), 0,
              "extents of at least 1");
  expectError(readTiledCopy("copy_1, (4,8):(8,1), 32"), 0, "expected a copy");
  expectError(readTiledCopy("copy_128, (4,4):(4,1), 16"), 10,
              "a multiple of 8 values");
  expectError(readTiledMma("mma_m16n8k8_f32_f16, 4"), 21,
              "a layout of atoms along M, N and K");
  expectError(readTiledMma("mma_m16n8k8_f32_f16, (4,1,1), (32,8,8)"), 21,
              "a permutation of multiples of 64");
  expectError(readTiledMma("mma_m16n8k8_f32_f16, (4,1,1), 64"), 30,
              "expected '('");
  expectError(readTiledMma("mma_m17n8k8, (4,1,1)"), 0, "expected a product");
}

// Groups of modes do not matter; the order of values does.
TEST(CheckedText, MapsAreComparedByTheirElements) {
  auto read = [](const char *text) { return *readThreadValue(text).value; };
  ThreadValue map = read("((2,4),4):((1,2),8), 32");
  EXPECT_TRUE(isSameMap(map, read("(8,(2,2)):(1,(8,16)), 32")));
  EXPECT_FALSE(isSameMap(map, read("(8,(2,2)):(1,(16,8)), 32")));
  EXPECT_FALSE(isSameMap(map, read("(8,4):(1,8), (8,4)")));
  EXPECT_FALSE(isSameMap(map, read("(4,8):(8,1), 32")));
}

TEST(IndexTerms, SumToTheOffset) {
  for (uint32_t i = 0, seed = firstSeed(); i < 10000; ++i, ++seed) {
    SCOPED_TRACE("FMHA_TEST_SEED=" + std::to_string(seed));
    Draw draw(seed);
    Layout layout = draw.any(draw.shape(4));
    std::vector<IndexTerm> terms = indexTerms(layout);
    bool disjoint = areDisjointBits(terms);
    for (int64_t index = 0; index < layout.size(); ++index) {
      int64_t sum = 0, bits = 0;
      for (const IndexTerm &term : terms) {
        sum += term(index);
        bits |= term(index);
        if (term.isLast) {
          ASSERT_LT(index / term.divisor, term.extent) << layout.str();
        }
      }
      ASSERT_EQ(sum, layout(index)) << layout.str() << " at " << index;
      if (disjoint) {
        ASSERT_EQ(bits, sum) << layout.str() << " at " << index;
      }
    }
  }
}

TEST(IndexTerms, AreAsFewAsThereAreModes) {
  auto count = [](IntTuple shape, IntTuple stride) {
    return indexTerms(Layout(shape, stride)).size();
  };
  EXPECT_EQ(count(IntTuple::tuple({4, 8, 4}), IntTuple::tuple({1, 4, 32})), 1u);
  EXPECT_EQ(count(IntTuple::tuple({4, 8, 4}), IntTuple::tuple({0, 1, 16})), 2u);
  EXPECT_EQ(count(IntTuple::tuple({4, 8}), IntTuple::tuple({0, 0})), 0u);
  EXPECT_TRUE(areDisjointBits(
      indexTerms({IntTuple::tuple({4, 4}), IntTuple::tuple({8, 1})})));
  EXPECT_FALSE(areDisjointBits(
      indexTerms({IntTuple::tuple({4, 4}), IntTuple::tuple({2, 1})})));
}

} // namespace

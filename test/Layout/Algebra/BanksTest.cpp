//===- BanksTest.cpp - Bank conflicts of shared memory --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Banks.h"
#include "fmha/Layout/Algebra/Text.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include "gtest/gtest.h"

#include <set>

using namespace fmha::layout::algebra;

namespace {

int64_t worstOf(const char *layout, int64_t element, int64_t access) {
  return bankReport(parseComposedLayout(layout), element, access).worst();
}

TEST(LayoutBanks, OfRowsAndColumns) {
  // 32 threads read one word each of a column, plain, padded and swizzled.
  EXPECT_EQ(worstOf("(32,32):(32,1)", 32, 32), 32);
  EXPECT_EQ(worstOf("(32,32):(33,1)", 32, 32), 1);
  EXPECT_EQ(worstOf("Sw<5,0,5> o 0 o (32,32):(32,1)", 32, 32), 1);
  // 32 threads read 2 bytes each: two of a word are no conflict.
  EXPECT_EQ(worstOf("(64,1):(1,64)", 16, 16), 1);
  EXPECT_EQ(worstOf("(32,2):(2,1)", 16, 16), 1);
  // Threads that follow contiguous elements.
  EXPECT_EQ(worstOf("(4,256):(1,4)", 32, 128), 1);
  // 8 threads read 16 bytes each: rows of 32, 64 and 128 bytes.
  EXPECT_EQ(worstOf("(64,16):(16,1)", 16, 128), 2);
  EXPECT_EQ(worstOf("(64,32):(32,1)", 16, 128), 4);
  EXPECT_EQ(worstOf("(64,64):(64,1)", 16, 128), 8);
  EXPECT_EQ(worstOf("Sw<1,3,3> o 0 o (64,16):(16,1)", 16, 128), 1);
  EXPECT_EQ(worstOf("Sw<2,3,3> o 0 o (64,32):(32,1)", 16, 128), 1);
  EXPECT_EQ(worstOf("Sw<3,3,3> o 0 o (64,64):(64,1)", 16, 128), 1);
}

TEST(LayoutBanks, OneWordForAllIsNoConflict) {
  EXPECT_EQ(worstOf("(32,4):(0,1)", 8, 32), 1);
}

/// Counts the passes of each phase from the offsets alone.
TEST(LayoutBanks, OfMatrixLoadsAreThoseOfTheirRows) {
  TiledMma mma(mmaAtom("mma_m16n8k16_f32_f16"), parseLayout("(4,1,1)"));
  TiledCopy load = mma.copyOf(Operand::A, copyAtom("ldmatrix_x4"), 16);
  for (const char *text :
       {"(64,64):(64,1)", "Sw<3,3,3> o 0 o (64,64):(64,1)", "(64,64):(72,1)"}) {
    SCOPED_TRACE(text);
    ComposedLayout layout = parseComposedLayout(text);
    BankReport report = bankReport(layout, load, Side::Source);
    // 4 warps, 4 matrices each, 4 steps of K.
    ASSERT_EQ(report.phases.size(), 64u);
    int64_t passes = 0;
    for (int64_t row = 0; row < 64; row += 8)
      for (int64_t column = 0; column < 64; column += 8) {
        std::multiset<int64_t> firstBanks;
        for (int64_t i = 0; i < 8; ++i)
          firstBanks.insert(layout(IntTuple::tuple({row + i, column})) / 2 %
                            32);
        size_t most = 0;
        for (int64_t bank : firstBanks)
          most = std::max(most, firstBanks.count(bank));
        passes += int64_t(most);
      }
    EXPECT_EQ(report.passes(), passes);
    for (const BankOfElement &element : report.elements)
      ASSERT_GE(element.phase, 0);
  }
}

} // namespace

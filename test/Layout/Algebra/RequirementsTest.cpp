//===- RequirementsTest.cpp - A worked attention kernel -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts of a flash attention kernel with mma.sync, f16, 4 warps and head
// dim 128, number by number.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Text.h"
#include "fmha/Layout/Algebra/TiledMma.h"

#include "gtest/gtest.h"

using namespace fmha::layout::algebra;

namespace {

const Layout tensor = parseLayout("(64,128):(128,1)");

TiledCopy globalCopy(const char *atom) {
  return TiledCopy::make(copyAtom(atom), 16, parseLayout("(8,16):(16,1)"),
                         parseLayout("(1,8)"));
}

TiledMma warps() {
  return {mmaAtom("mma_m16n8k8_f32_f16"), parseLayout("(4,1,1)"),
          Tiler::ofShape(parseIntTuple("(64,16,16)"))};
}

TEST(WorkedKernel, TiledCopyHasThisTileAndMap) {
  TiledCopy copy = globalCopy("copy_128");
  EXPECT_EQ(copy.tile().str(), "(8,128)");
  EXPECT_EQ(copy.map().layout.str(), "((16,8),8):((64,1),8)");
}

TEST(WorkedKernel, ThreadNineteenOwnsEightElementsOfRowOne) {
  ThreadValue map = globalCopy("copy_128").map();
  EXPECT_EQ(map.layout(parseIntTuple("(19,2)")), 209);
  EXPECT_EQ(map.coordinate(19, 2).str(), "(1,26)");
  for (int64_t value = 0; value < 8; ++value)
    EXPECT_EQ(map.coordinate(19, value).str(),
              "(1," + std::to_string(24 + value) + ")");
}

TEST(WorkedKernel, PartitionsATile) {
  // The form depends on the values that one instruction copies, the offsets do
  // not.
  EXPECT_EQ(globalCopy("copy_16").partitionS(tensor, 0).layout.str(),
            "((1,8),8,1):((0,1),1024,0)");
  EXPECT_EQ(globalCopy("copy_16").partitionD(tensor, 0).layout.str(),
            "((1,8),8,1):((0,1),1024,0)");
  EXPECT_EQ(globalCopy("cp_async_128").partitionS(tensor, 0).layout.str(),
            "((8,1),8,1):((1,0),1024,0)");
  // Thread 19 begins at (1, 24).
  EXPECT_EQ(globalCopy("copy_128").partitionS(tensor, 19).offset, 128 + 24);
}

TEST(WorkedKernel, TiledMmaHasTheseLayouts) {
  TiledMma mma = warps();
  EXPECT_EQ(mma.threadLayout().str(), "(32,4,1,1):(1,32,0,0)");
  EXPECT_EQ(mma.atom().operand(Operand::A).str(),
            "((4,8),(2,2)):((32,1),(16,8))");
  EXPECT_EQ(mma.atom().operand(Operand::B).str(), "((4,8),2):((16,1),8)");
  EXPECT_EQ(mma.atom().operand(Operand::C).str(),
            "((4,8),(2,2)):((32,1),(16,8))");
  EXPECT_EQ(mma.tile(Operand::A).str(), "(64,16)");
  EXPECT_EQ(mma.tile(Operand::B).str(), "(16,16)");
  EXPECT_EQ(mma.tile(Operand::C).str(), "(64,16)");
}

TEST(WorkedKernel, OperandsOfTheTile) {
  TiledMma mma = warps();
  EXPECT_EQ(mma.map(Operand::A).layout.str(),
            "((4,8,4),((2,2),(1,2))):((128,1,16),((64,8),(0,512)))");
  EXPECT_EQ(mma.map(Operand::B).layout.str(),
            "((4,8,4),(2,(2,2))):((32,1,0),(16,(8,128)))");
  EXPECT_EQ(mma.map(Operand::C).layout.str(),
            "((4,8,4),((2,2),(1,2))):((128,1,16),((64,8),(0,512)))");
}

TEST(WorkedKernel, LdmatrixFillsTheOperand) {
  TiledMma mma = warps();
  TiledCopy load = mma.copyOf(Operand::A, copyAtom("ldmatrix_x4"), 16);
  EXPECT_EQ(load.tile().str(), "(64,16)");
  EXPECT_EQ(load.partitionS(tensor, 5).layout.str(),
            "((8,1),1,8):((1,0),0,16)");
  // Lane 5 addresses row 5, lane 8 row 8, and lane 16 the columns from 8 on.
  EXPECT_EQ(load.partitionS(tensor, 5).offset, 5 * 128);
  EXPECT_EQ(load.partitionS(tensor, 8).offset, 8 * 128);
  EXPECT_EQ(load.partitionS(tensor, 16).offset, 8);
  EXPECT_EQ(load.partitionS(tensor, 37).offset, (16 + 5) * 128);
}

TEST(WorkedKernel, RetileArrangesRegistersAsTheCopyTakesThem) {
  TiledMma mma = warps();
  TiledCopy load = mma.copyOf(Operand::A, copyAtom("ldmatrix_x4"), 16);
  EXPECT_EQ(load.retile(parseLayout("((2,2),1,16):((1,2),0,4)")).str(),
            "((8,1),1,8):((1,0),0,8)");
}

} // namespace

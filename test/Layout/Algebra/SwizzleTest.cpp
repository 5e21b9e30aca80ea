//===- SwizzleTest.cpp - Swizzles and tiles in shared memory --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The swizzles and tiles of fmha/Layout, which descriptors and TMA use, as
// layouts of the algebra.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/Algebra/Recast.h"
#include "fmha/Layout/Algebra/Text.h"
#include "fmha/Layout/SmemTile.h"

#include "gtest/gtest.h"

using namespace fmha::layout;
using algebra::ComposedLayout;
using algebra::IntTuple;

namespace {

/// The swizzles of bytes.
constexpr struct {
  Swizzle mode;
  int bits, base, shift;
} modes[] = {{Swizzle::None, 0, 4, 3},
             {Swizzle::Bytes32, 1, 4, 3},
             {Swizzle::Bytes64, 2, 4, 3},
             {Swizzle::Bytes128, 3, 4, 3},
             {Swizzle::Bytes128Atom32, 2, 5, 2}};

TEST(LayoutSwizzle, IsThatOfSharedMemory) {
  for (const auto &mode : modes) {
    algebra::Swizzle ours(mode.bits, mode.base, mode.shift);
    SCOPED_TRACE(ours.str());
    for (uint32_t address = 0; address < 8192; ++address) {
      ASSERT_EQ(ours(address), swizzle(mode.mode, address));
      // Each is its own inverse.
      ASSERT_EQ(ours(ours(address)), address);
    }
  }
}

TEST(LayoutSwizzle, NegativeShiftsMoveTheOtherWay) {
  algebra::Swizzle down(2, 0, 3), up(2, 0, -3);
  EXPECT_EQ(down(0b11000), 0b11011);
  EXPECT_EQ(up(0b00011), 0b11011);
}

TEST(LayoutSwizzle, RecastKeepsBytes) {
  ComposedLayout bytes =
      algebra::parseComposedLayout("Sw<3,4,3> o 1024 o (8,128):(128,1)");
  ComposedLayout halves = algebra::recast(bytes, 8, 16);
  EXPECT_EQ(halves.str(), "Sw<3,3,3> o 512 o (8,64):(64,1)");
  EXPECT_EQ(algebra::recast(halves, 16, 8), bytes);
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t column = 0; column < 64; ++column)
      ASSERT_EQ(halves(IntTuple::tuple({row, column})) * 2,
                bytes(IntTuple::tuple({row, 2 * column})));
}

/// Panels of 64 columns of 16-bit elements, as one layout.
TEST(LayoutSwizzle, DescribesPanels) {
  PanelTile tile{64, 192};
  ComposedLayout layout =
      algebra::parseComposedLayout("Sw<3,3,3> o 0 o (64,(64,3)):(64,(1,4096))");
  for (unsigned row = 0; row < tile.rows; ++row)
    for (unsigned column = 0; column < tile.columns; ++column)
      ASSERT_EQ(layout(IntTuple::tuple({row, column})) * 2,
                tile.offset(row, column));
}

/// The layout that --print-layouts prints is where the compiler's addresses
/// are.
TEST(LayoutSwizzle, PanelsOfKernelsAreThoseOfAddresses) {
  for (unsigned rows : {8u, 64u, 80u, 128u})
    for (unsigned columns = 16; columns <= 256; columns += 16) {
      PanelTile panels{rows, columns};
      ComposedLayout tile = algebra::panelTile(rows, columns);
      for (unsigned row = 0; row < rows; ++row)
        for (unsigned column = 0; column < columns; ++column)
          ASSERT_EQ(2 * tile(IntTuple::tuple({row, column})),
                    int64_t(panels.offset(row, column)))
              << rows << " x " << columns << " at " << row << ", " << column;
    }
}

} // namespace

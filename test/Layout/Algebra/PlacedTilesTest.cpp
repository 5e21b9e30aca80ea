//===- PlacedTilesTest.cpp - Tiles of kernels and the simulator -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts of a kernel's tiles, entry by entry, against the layouts of the
// instructions that compute and move them, which SimulatorAgreesTest.cpp
// executes, and against the simulator's own maps of tensor and shared memory.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/PlacedTiles.h"
#include "fmha/Layout/Algebra/MmaAtoms.h"
#include "fmha/PTX/Sim/Units/Swizzle.h"
#include "fmha/PTX/Sim/Units/TmemMap.h"

#include "gtest/gtest.h"

using namespace fmha::layout::algebra;

namespace {

constexpr int64_t warpRows = 16, groupRows = 64, threads = 128;

/// Returns the row and the column of a value of a thread.
std::pair<int64_t, int64_t> placeOf(const ThreadValue &tile, int64_t thread,
                                    int64_t value) {
  IntTuple at = tile.coordinate(thread, value);
  return {at.mode(0).value(), at.mode(1).value()};
}

/// Returns the same for one operand of an instruction.
std::pair<int64_t, int64_t> placeOf(const MmaAtom &atom, Operand operand,
                                    int64_t thread, int64_t value) {
  int64_t rows = atom.shape[0];
  int64_t index = atom.operand(operand)(IntTuple::tuple({thread, value}));
  return {index % rows, index / rows};
}

/// Tiles that kernels have: 64 or 128 rows, and columns of a multiple of 16.
template <typename Check> void forEachTile(Check check) {
  for (int64_t rows : {groupRows, 2 * groupRows})
    for (int64_t columns = 16; columns <= 256; columns += 16) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      check(rows, columns);
    }
}

/// Each element has an owner, and no value two elements.
void expectBijection(const ThreadValue &tile) {
  for (const std::vector<Owner> &owners : ownersOf(tile))
    ASSERT_EQ(owners.size(), 1u);
}

TEST(PlacedTiles, FragmentsAreAccumulatorsOfWarps) {
  forEachTile([](int64_t rows, int64_t columns) {
    ThreadValue tile = fragmentTile(rows, columns);
    MmaAtom atom = mmaAtom("mma_m16n8k16_f32_bf16");
    ASSERT_EQ(tile.threads(), threads);
    expectBijection(tile);
    int64_t perGroup = columns / 2;
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t value = 0; value < tile.values(); ++value) {
        auto [row, column] = placeOf(atom, Operand::C, thread % 32, value % 4);
        row += thread / 32 * warpRows + value / perGroup * groupRows;
        column += value % perGroup / 4 * 8;
        ASSERT_EQ(placeOf(tile, thread, value), std::pair(row, column))
            << "thread " << thread << " value " << value;
      }
  });
}

TEST(PlacedTiles, FragmentsAreAccumulatorsOfWarpgroups) {
  for (int64_t columns = 16; columns <= 256; columns += 16) {
    ThreadValue tile = fragmentTile(groupRows, columns);
    MmaAtom atom =
        mmaAtom("wgmma_m64n" + std::to_string(columns) + "k16_f32_bf16");
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t value = 0; value < tile.values(); ++value)
        ASSERT_EQ(placeOf(tile, thread, value),
                  placeOf(atom, Operand::C, thread, value))
            << "columns " << columns << " thread " << thread << " value "
            << value;
  }
}

/// P is an operand A without a shuffle: 8 values of each 16 columns.
TEST(PlacedTiles, FragmentsAreOperandsA) {
  for (const char *name :
       {"mma_m16n8k16_f32_bf16", "wgmma_m64n64k16_f32_bf16_rs"}) {
    SCOPED_TRACE(name);
    MmaAtom atom = mmaAtom(name);
    int64_t rows = atom.shape[0], columns = 64;
    ThreadValue tile = fragmentTile(groupRows, columns);
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t value = 0; value < tile.values(); ++value) {
        int64_t atomThreads = rows == groupRows ? threads : 32;
        auto [row, column] =
            placeOf(atom, Operand::A, thread % atomThreads, value % 8);
        row += thread / atomThreads * warpRows;
        column += value / 8 * 16;
        ASSERT_EQ(placeOf(tile, thread, value), std::pair(row, column));
      }
  }
}

/// Where element (row, column) of a tile lies, by the simulator: M of the
/// product is the number of rows.
ptxsim::TmemCell accumulator(int64_t rows, int64_t row, int64_t column,
                             int64_t columns) {
  return ptxsim::accumulatorCell(
      ptxsim::layoutOf(1, uint32_t(rows), false, false), uint32_t(row),
      uint32_t(column), uint32_t(columns));
}

TEST(PlacedTiles, AccumulatorsOfTensorMemory) {
  forEachTile([](int64_t rows, int64_t columns) {
    Layout tile = tmemTile(rows, columns, 32);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        ASSERT_EQ(
            ptxsim::cellOf(uint32_t(tile(IntTuple::tuple({row, column})))),
            accumulator(rows, row, column, columns));
  });
}

TEST(PlacedTiles, OperandsOfTensorMemory) {
  forEachTile([](int64_t rows, int64_t columns) {
    Layout tile = tmemTile(rows, columns, 16);
    auto layout = ptxsim::layoutOf(1, uint32_t(rows), false, false);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t k = 0; k < columns; ++k) {
        int64_t address = tile(IntTuple::tuple({row, k}));
        ptxsim::OperandCell cell =
            ptxsim::operandCell(layout, uint32_t(row), uint32_t(k), 16);
        ASSERT_EQ(ptxsim::cellOf(uint32_t(address / 2)), cell.cell);
        ASSERT_EQ(uint32_t(address % 2 * 16), cell.bit);
      }
  });
}

/// A thread loads its values of S from where the product wrote them. Of 64
/// rows it loads each part of the columns by one tcgen05.ld.16x32bx2.
TEST(PlacedTiles, RowsAreLoadedFromTensorMemory) {
  forEachTile([](int64_t rows, int64_t columns) {
    for (int64_t slices : {1, 2, 4}) {
      if (slices > 1 && rows != groupRows)
        continue;
      ThreadValue tile = rowTile(rows, columns, slices);
      expectBijection(tile);
      bool halves = rows == groupRows;
      int64_t part = columns / slices, own = halves ? part / 2 : part;
      ptxsim::TmemAccess access;
      access.num = uint32_t(own);
      if (halves) {
        access.shape = ptxsim::TmemShape::L16x32bx2;
        access.halfSplit = uint32_t(own);
      }
      for (int64_t thread = 0; thread < threads; ++thread)
        for (int64_t value = 0; value < tile.values(); ++value) {
          ptxsim::TmemCell loaded =
              access.cell(uint32_t(thread % 32), uint32_t(value % own));
          loaded.lane += uint32_t(thread / 32 * 32);
          loaded.column += uint32_t(value / own * part);
          auto [row, column] = placeOf(tile, thread, value);
          ASSERT_EQ(loaded, accumulator(rows, row, column, columns))
              << "slices " << slices << " thread " << thread << " value "
              << value;
        }
    }
  });
}

/// With M = 128 over two CTAs the halves of 64 rows are in separate warps, each
/// of which loads its half as that of whole rows.
TEST(PlacedTiles, HalvesOfPairsAreLoadedFromTensorMemory) {
  constexpr int64_t rows = groupRows, distance = 64;
  for (int64_t columns : {32, 64, 128, 256}) {
    ThreadValue tile = rowTile(rows, columns, /*slices=*/1, distance);
    expectBijection(tile);
    Layout memory = tmemTile(rows, columns, 32, distance);
    ptxsim::TmemLayout layout = ptxsim::layoutOf(2, 2 * rows, false, false);
    ptxsim::TmemAccess access;
    access.num = uint32_t(columns / 2);
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t value = 0; value < tile.values(); ++value) {
        ptxsim::TmemCell loaded =
            access.cell(uint32_t(thread % 32), uint32_t(value));
        loaded.lane += uint32_t(thread / 32 * 32);
        auto [row, column] = placeOf(tile, thread, value);
        ASSERT_EQ(loaded,
                  ptxsim::accumulatorCell(layout, uint32_t(row),
                                          uint32_t(column), uint32_t(columns)));
        ASSERT_EQ(
            ptxsim::cellOf(uint32_t(memory(IntTuple::tuple({row, column})))),
            loaded);
      }
  }
}

/// Panels have rows of 128 bytes, which the simulator swizzles as TMA and the
/// tensor core do.
TEST(PlacedTiles, PanelsAreSwizzledBy128Bytes) {
  forEachTile([](int64_t rows, int64_t columns) {
    ComposedLayout tile = panelTile(rows, columns);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t linear = column / 64 * rows * 128 + row * 128 + column % 64 * 2;
        ASSERT_EQ(2 * tile(IntTuple::tuple({row, column})),
                  int64_t(ptxsim::swizzleAddress(ptxsim::MapSwizzle::B128,
                                                 uint32_t(linear))));
      }
  });
}

} // namespace

//===- TruthTest.cpp - Atoms against published fragments ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every fragment of test/data/truth that an atom has, element by element.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/CopyAtoms.h"
#include "fmha/Layout/Algebra/MmaAtoms.h"
#include "fmha/Layout/Algebra/TmemFragments.h"

#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include <fstream>

using namespace fmha::layout::algebra;
using nlohmann::json;

namespace {

json readTruth(const std::string &name, const char *array) {
  std::ifstream file(FMHA_TEST_DATA "/truth/" + name);
  EXPECT_TRUE(file) << "cannot open " << name;
  return file ? json::parse(file).at(array) : json::array();
}

int64_t at(const Layout &layout, int64_t thread, int64_t value) {
  return layout(IntTuple::tuple({thread, value}));
}

/// The names of truth tables for atoms.
constexpr std::pair<const char *, const char *> products[] = {
    {"SM80_16x8x8_F32F16F16F32_TN", "mma_m16n8k8_f32_f16"},
    {"SM80_16x8x8_F32BF16BF16F32_TN", "mma_m16n8k8_f32_bf16"},
    {"SM80_16x8x16_F32F16F16F32_TN", "mma_m16n8k16_f32_f16"},
    {"SM80_16x8x16_F32BF16BF16F32_TN", "mma_m16n8k16_f32_bf16"},
    {"SM80_16x8x8_F16F16F16F16_TN", "mma_m16n8k8_f16_f16"},
    {"SM80_16x8x16_F16F16F16F16_TN", "mma_m16n8k16_f16_f16"},
    {"SM80_16x8x4_F32TF32TF32F32_TN", "mma_m16n8k4_f32_tf32"},
    {"SM80_16x8x8_F32TF32TF32F32_TN", "mma_m16n8k8_f32_tf32"},
    {"SM80_16x8x16_S32S8S8S32_TN", "mma_m16n8k16_s32_s8"},
    {"SM80_16x8x32_S32S8S8S32_TN", "mma_m16n8k32_s32_s8"},
    {"SM89_16x8x32_F32E4M3E4M3F32_TN", "mma_m16n8k32_f32_e4m3"},
};

/// Compares an operand, whose table counts the second index fastest for A and
/// C (m * columns + ...) and the first for B (k * N + n).
void compareOperand(const json &table, const Layout &layout, int64_t rows,
                    int64_t columns, bool transposed) {
  for (int64_t thread = 0; thread < layout.size(0); ++thread)
    for (int64_t value = 0; value < layout.size(1); ++value) {
      int64_t index = at(layout, thread, value);
      int64_t row = index % rows, column = index / rows;
      ASSERT_EQ(table.at(thread).at(value),
                transposed ? column * rows + row : row * columns + column)
          << "thread " << thread << " value " << value;
    }
}

TEST(LayoutTruth, FragmentsOfMmaSync) {
  unsigned compared = 0;
  for (const json &op : readTruth("mma_sync.json", "ops"))
    for (auto [theirs, ours] : products) {
      if (op.at("op") != theirs)
        continue;
      SCOPED_TRACE(ours);
      MmaAtom atom = mmaAtom(ours);
      auto [m, n, k] = atom.shape;
      ASSERT_EQ(op.at("K"), k);
      compareOperand(op.at("A"), atom.operand(Operand::A), m, k, false);
      compareOperand(op.at("B"), atom.operand(Operand::B), n, k, true);
      compareOperand(op.at("C"), atom.operand(Operand::C), m, n, false);
      ++compared;
    }
  EXPECT_EQ(compared, std::size(products));
}

/// Returns the name of the atom for "ldmatrix.m8n8.x4.trans.b16".
std::string atomOf(const std::string &ptx) {
  std::string name = ptx.substr(0, ptx.find('.'));
  for (const char *part : {"x1", "x2", "x4"})
    if (ptx.find(std::string(".") + part) != ptx.npos)
      name += std::string("_") + part;
  return name + (ptx.find(".trans") == ptx.npos ? "" : "_trans");
}

TEST(LayoutTruth, MatrixLoadsAndStores) {
  unsigned compared = 0;
  for (const json &op : readTruth("ldmatrix_stmatrix.json", "ops")) {
    if (op.at("elem_bits") != 16)
      continue;
    CopyAtom atom = copyAtom(atomOf(op.at("ptx")));
    SCOPED_TRACE(atom.name);
    bool loads = atom.name.starts_with("ld");
    const Layout &registers = loads ? atom.destination : atom.source;
    const Layout &rows = loads ? atom.source : atom.destination;
    const json &values = op.at("value");
    for (int64_t lane = 0; lane < 32; ++lane)
      for (size_t value = 0; value < values.at(lane).size(); ++value)
        ASSERT_EQ(values.at(lane).at(value),
                  at(registers, lane, int64_t(value) * 16) / 16)
            << "lane " << lane << " value " << value;
    const json &lanes = op.at("address_lane_of_row");
    for (size_t row = 0; row < lanes.size(); ++row)
      ASSERT_EQ(at(rows, lanes.at(row), 0), int64_t(row) * 128);
    ++compared;
  }
  EXPECT_EQ(compared, 12u);
}

/// Compares the layout of (64 rows, columns) with the sums of two tables.
void compareSums(const json &threads, const json &values,
                 const Layout &layout) {
  for (int64_t thread = 0; thread < layout.size(0); ++thread)
    for (int64_t value = 0; value < layout.size(1); ++value) {
      int64_t index = at(layout, thread, value);
      const json &t = threads.at(thread), &v = values.at(value);
      ASSERT_EQ(index % 64, t.at(0).get<int64_t>() + v.at(0).get<int64_t>());
      ASSERT_EQ(index / 64, t.at(1).get<int64_t>() + v.at(1).get<int64_t>());
    }
}

TEST(LayoutTruth, FragmentsOfWgmma) {
  json fragments = readTruth("wgmma.json", "fragments"), widest;
  for (const json &fragment : fragments)
    if (fragment.at("operand") == "C" && fragment.at("N") == 256)
      widest = fragment;
  unsigned compared = 0;
  for (const json &fragment : fragments) {
    bool isA = fragment.at("operand") == "A";
    SCOPED_TRACE(fragment.at("name"));
    std::string name =
        isA ? std::map<int, std::string>{{8, "wgmma_m64n8k8_f32_tf32_rs"},
                                         {16, "wgmma_m64n8k16_f32_f16_rs"},
                                         {32, "wgmma_m64n8k32_f32_e4m3_rs"}}
                  .at(fragment.at("K"))
            : "wgmma_m64n" + std::to_string(fragment.at("N").get<int>()) +
                  "k16_f32_f16";
    const json &own = isA ? fragment : widest;
    compareSums(own.at("thread_row_col"), own.at("value_row_col"),
                mmaAtom(name).operand(isA ? Operand::A : Operand::C));
    ++compared;
  }
  EXPECT_EQ(compared, 12u);
}

TEST(LayoutTruth, FragmentsOfTcgen05Ld) {
  unsigned compared = 0;
  for (const json &map : readTruth("tmem_ldst.json", "maps")) {
    std::string shape = map.at("shape");
    if (map.at("packed") || shape == "16x32bx2")
      continue;
    ThreadValue fragment =
        tmemFragment("tcgen05_ld_" + shape + "_x" +
                     std::to_string(map.at("num").get<int>()));
    SCOPED_TRACE(shape);
    const json &cells = map.at("cell");
    ASSERT_EQ(fragment.tile.mode(1).value(), map.at("columns"));
    for (int64_t t = 0; t < 32; ++t)
      for (size_t r = 0; r < cells.at(t).size(); ++r) {
        IntTuple cell = fragment.coordinate(t, int64_t(r));
        ASSERT_EQ(cells.at(t).at(r),
                  cell.mode(0).value() * 512 + cell.mode(1).value());
      }
    ++compared;
  }
  EXPECT_EQ(compared, 20u);
}

} // namespace

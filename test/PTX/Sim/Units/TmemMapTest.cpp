//===- TmemMapTest.cpp - Tensor memory layouts ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/SmallFloat.h"
#include "fmha/PTX/Sim/Units/TmemMap.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

TEST(TmemMap, LoadAndStoreShapes) {
  nlohmann::json data = readJson("tmem_ldst.json");
  unsigned cells = 0;
  for (const nlohmann::json &map : data["maps"]) {
    TmemAccess access;
    access.shape = *parseTmemShape(map["shape"].get<std::string>());
    access.num = map["num"];
    access.packed = map["packed"];
    // The library's second half of .16x32bx2 follows the first.
    access.halfSplit = access.num * (access.packed ? 2 : 1);
    ASSERT_EQ(access.registers(), map["regs"].get<uint32_t>());
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t r = 0; r < access.registers(); ++r, ++cells) {
        TmemCell cell = access.cell(t, r);
        ASSERT_EQ(cell.lane * 512 + cell.column,
                  map["cell"][t][r].get<uint32_t>())
            << map["ld"] << " thread " << t << " register " << r;
      }
  }
  EXPECT_GT(cells, 10000u);
  EXPECT_FALSE(parseTmemShape("64x64b"));
}

uint32_t listed(const nlohmann::json &list, uint32_t i) {
  if (list.is_string())
    return i;
  return list.is_number() ? list.get<uint32_t>() : list[i].get<uint32_t>();
}

TEST(TmemMap, AccumulatorsAndOperands) {
  nlohmann::json data = readJson("tmem_operands.json");
  const std::map<std::string, unsigned> bits = {
      {"f32", 32},  {"s32", 32}, {"f16", 16}, {"bf16", 16},
      {"tf32", 32}, {"e4m3", 8}, {"e5m2", 8}, {"s8", 8},
      {"u8", 8},    {"b16", 16}, {"b8", 8},   {"b32", 32}};
  unsigned cells = 0;
  for (const nlohmann::json &operand : data["operands"]) {
    bool isD = operand["operand"] == "D";
    uint32_t m = operand["M"];
    TmemLayout layout = layoutOf(operand["cta_group"], m, operand["ws"], false);
    std::string name(1, char('A' + unsigned(layout)));
    if (operand.contains("layout") && isD)
      EXPECT_EQ(name, operand["layout"].get<std::string>());
    uint32_t rows = operand["rows_per_cta"];
    uint32_t width = operand[isD ? "N" : "K"];
    if (isD) {
      EXPECT_EQ(rowsPerCta(layout), rows);
      EXPECT_EQ(accumulatorColumns(layout, width),
                operand["columns"].get<uint32_t>());
    }
    for (uint32_t i = 0; i < rows; ++i)
      for (uint32_t j = 0; j < width; ++j, ++cells) {
        TmemCell cell;
        uint32_t bit = 0;
        if (isD) {
          cell = accumulatorCell(layout, i, j, width);
        } else {
          auto type = operand["type"].get<std::string>();
          ASSERT_TRUE(bits.count(type)) << type;
          // The two-by-two datapath holds A twice (rows repeat every 64).
          OperandCell at = operandCell(layout, i, j, bits.at(type));
          cell = at.cell;
          bit = at.bit;
        }
        ASSERT_EQ(cell.lane, listed(operand["row_lane"], i) +
                                 listed(operand["col_lane_add"], j))
            << operand["operand"] << " " << name << " " << i << " " << j;
        ASSERT_EQ(cell.column, listed(operand["col_column"], j))
            << operand["operand"] << " " << name << " " << i << " " << j;
        ASSERT_EQ(bit, listed(operand["col_bit"], j));
      }
  }
  EXPECT_GT(cells, 100000u);
}

TEST(TmemMap, CopiesFromSharedMemory) {
  nlohmann::json data = readJson("tcgen05_cp.json");
  unsigned shapes = 0;
  for (const nlohmann::json &record : data["copies"]) {
    if (!record.contains("ptx"))
      continue;
    std::string name = record["ptx"];
    size_t dot = name.find('.');
    const TmemCopyShape *shape =
        findTmemCopy(name.substr(0, dot),
                     dot == std::string::npos ? "" : name.substr(dot + 1));
    ASSERT_TRUE(shape) << name;
    EXPECT_EQ(shape->rows, record["source_rows"].get<uint32_t>());
    EXPECT_EQ(shape->columns, record["columns"].get<uint32_t>());
    for (uint32_t row = 0; row < shape->rows; ++row) {
      std::vector<uint32_t> lanes, expected = {row};
      for (uint32_t copy = 0; copy < shape->copies; ++copy)
        lanes.push_back(shape->lane(row, copy));
      if (!record["row_lanes"].is_string())
        expected = record["row_lanes"][row].get<std::vector<uint32_t>>();
      EXPECT_EQ(lanes, expected) << name << " row " << row;
    }
    ++shapes;
  }
  EXPECT_EQ(shapes, 6u);
}

/// Lanes and columns of scale factors, from the library's layouts.
TEST(TmemMap, ScaleFactorsAreTheLibrarys) {
  nlohmann::json data = readJson("scale_factors.json");
  unsigned rows = 0;
  for (const nlohmann::json &layout : data["layouts"]) {
    std::string what = layout["what"];
    bool split = what.find("2x2") != what.npos;
    uint32_t count = layout["MN"];
    ScaleMap map{split ? count / 2 : 0};
    EXPECT_EQ(map.columns(count), (split ? count / 2 : count) / 32);
    for (const nlohmann::json &row : layout["sample"]) {
      TmemCell cell = map.cell(row[0]);
      EXPECT_EQ(cell.column, row[2].get<uint32_t>()) << what << row;
      ASSERT_EQ(map.copies(), row[1].size());
      for (uint32_t copy = 0; copy < map.copies(); ++copy, ++rows)
        EXPECT_EQ(cell.lane + copy * ScaleMap::copyLanes,
                  row[1][copy].get<uint32_t>())
            << what << row;
    }
  }
  EXPECT_GE(rows, 200u);
}

} // namespace

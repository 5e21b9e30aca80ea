//===- TmemTest.cpp - Tensor-memory operands against a table ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Tmem.h"

#include "TruthTable.h"

using namespace fmha::layout;
using nlohmann::json;

/// Operands of cta_group::1 that are not weight-stationary: layouts D and F.
static std::vector<json> operands(const std::string &which) {
  std::vector<json> result;
  for (const json &entry : readTruth("tmem_operands.json", "operands"))
    if (entry["operand"] == which && entry["cta_group"] == 1 &&
        !entry["ws"].get<bool>())
      result.push_back(entry);
  EXPECT_GE(result.size(), 8u);
  return result;
}

/// "i" in the table stands for 0, 1, 2, ..., and 0 for all zeros.
static unsigned listed(const json &list, unsigned i) {
  if (list.is_array())
    return list[i];
  return list == "i" ? i : list.get<unsigned>();
}

TEST(Tmem, RowsLieInTheLanesOfTheTable) {
  for (const char *which : {"A", "D"})
    for (const json &entry : operands(which)) {
      unsigned m = entry["M"];
      for (unsigned row = 0; row < m; ++row)
        EXPECT_EQ(tmemRowLane(m, row), listed(entry["row_lane"], row))
            << which << " M " << m;
    }
}

TEST(Tmem, AccumulatorsTakeOneColumnPerElement) {
  for (const json &entry : operands("D"))
    for (unsigned n = 0; n < entry["N"].get<unsigned>(); ++n) {
      EXPECT_EQ(listed(entry["col_column"], n), n);
      EXPECT_EQ(listed(entry["col_bit"], n), 0u);
    }
}

TEST(Tmem, PackedOperandsEqualTheTable) {
  static const std::map<std::string, unsigned> bits = {
      {"bf16", 16}, {"f16", 16}, {"tf32", 32}, {"e4m3", 8}, {"s8", 8}};
  for (const json &entry : operands("A")) {
    unsigned width = bits.at(entry["type"]);
    unsigned columns = entry["columns"], k = entry["K"];
    EXPECT_EQ(tmemPackedColumns(width, k), columns);
    EXPECT_EQ(columns, tmemColumnsPerKStep);
    for (unsigned i = 0; i < k; ++i) {
      TmemElement at = tmemPackedElement(width, i);
      EXPECT_EQ(at.column, listed(entry["col_column"], i));
      EXPECT_EQ(at.bit, listed(entry["col_bit"], i));
    }
  }
}

TEST(Tmem, AddressesAddLanesAndColumns) {
  uint32_t address = tmemAddress(96, 300);
  EXPECT_EQ(tmemLane(address), 96u);
  EXPECT_EQ(tmemColumn(address), 300u);
  EXPECT_EQ(address + 8, tmemAddress(96, 308));
  for (unsigned warp = 0; warp < 16; ++warp)
    EXPECT_EQ(tmemLane(tmemWarpOffset(warp)), 32 * (warp % 4));
}

TEST(Tmem, AllocationsArePowersOfTwo) {
  for (unsigned columns = 0; columns <= 600; ++columns) {
    unsigned got = tmemAllocation(columns);
    if (columns > 512) {
      EXPECT_EQ(got, 0u);
      continue;
    }
    EXPECT_GE(got, std::max(columns, 32u));
    EXPECT_EQ(got & (got - 1), 0u);
    EXPECT_TRUE(got == 32 || got / 2 < columns) << "not the least";
  }
}

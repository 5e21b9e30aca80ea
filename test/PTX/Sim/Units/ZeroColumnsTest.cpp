//===- ZeroColumnsTest.cpp - Zero-column masks ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruthData.h"

#include "fmha/PTX/Sim/Units/ZeroColumns.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

/// The descriptors that the vendor's library makes for a convolution: a column
/// is zero if its position lies outside the row of the image.
TEST(ZeroColumns, AreThoseOfAConvolution) {
  nlohmann::json data = readJson("zero_column_mask.json");
  unsigned checked = 0;
  for (const nlohmann::json &sample : data["samples"]) {
    uint32_t n = sample["N"], m = sample["M"];
    int width = sample["conv_q"], tile = sample["cta_coord_q"];
    int tap = sample["tap"], pad = sample["pad_left"];
    uint64_t word =
        uint64_t(std::stoul(sample["hi"].get<std::string>(), nullptr, 16))
            << 32 |
        std::stoul(sample["lo"].get<std::string>(), nullptr, 16);
    std::optional<std::string> error;
    ZeroColumns got = decodeZeroColumns(word, m, n, 32, error);
    EXPECT_FALSE(error) << *error;
    EXPECT_EQ(got.shift, uint32_t(tap));
    for (uint32_t j = 0; j < n; ++j) {
      int position = (tile * int(n) + int(j)) % width + tap - pad;
      EXPECT_EQ(got.zero[j], position < 0 || position >= width)
          << sample << " column " << j;
      ++checked;
    }
  }
  EXPECT_GE(checked, 1000u);
}

std::string lowBits(const ZeroColumns &columns, uint32_t first,
                    uint32_t count) {
  std::string bits;
  for (uint32_t j = 0; j < count; ++j)
    bits.insert(0, 1, columns.zero[first + j] ? '1' : '0');
  return bits;
}

uint64_t descriptorOf(std::array<uint64_t, 4> starts, uint64_t firstSpans,
                      uint64_t shift) {
  return starts[0] | starts[1] << 8 | starts[2] << 16 | starts[3] << 24 |
         firstSpans << 32 | uint64_t(1) << 39 | uint64_t(2) << 40 |
         uint64_t(3) << 48 | shift << 56;
}

/// Examples 1 to 4 of the manual.
TEST(ZeroColumns, AreThoseOfTheManual) {
  std::optional<std::string> error;
  ZeroColumns none = decodeZeroColumns(descriptorOf({}, 0, 0) & ~(1ull << 39),
                                       128, 64, 0, error);
  EXPECT_EQ(none.zero, std::vector<bool>(64));
  ZeroColumns one =
      decodeZeroColumns(descriptorOf({}, 0, 0), 128, 64, 0, error);
  EXPECT_EQ(lowBits(one, 0, 14), "11100001110000");
  ZeroColumns two = decodeZeroColumns(descriptorOf({}, 1, 0), 64, 64, 0, error);
  EXPECT_EQ(lowBits(two, 0, 17), "11100001110000111");
  EXPECT_EQ(lowBits(two, 32, 18), "000011100001110000");
  ZeroColumns four =
      decodeZeroColumns(descriptorOf({0, 1, 2, 1}, 3, 2), 32, 128, 16, error);
  EXPECT_EQ(lowBits(four, 0, 14), "00001110000111");
  EXPECT_EQ(lowBits(four, 32, 13), "0000111000011");
  EXPECT_EQ(lowBits(four, 64, 12), "111000011100");
  EXPECT_EQ(lowBits(four, 96, 13), "1110000111000");
  EXPECT_EQ(four.shift, 2u);
  EXPECT_FALSE(error);
}

TEST(ZeroColumns, RefuseIllegalFields) {
  auto errorOf = [](uint64_t word, uint32_t maxShift) {
    std::optional<std::string> error;
    decodeZeroColumns(word, 64, 64, maxShift, error);
    return error.has_value();
  };
  EXPECT_FALSE(errorOf(descriptorOf({}, 0, 8), 8));
  EXPECT_TRUE(errorOf(descriptorOf({}, 0, 9), 8));
  EXPECT_FALSE(errorOf(descriptorOf({}, 0, 32), 32));
  EXPECT_TRUE(errorOf(descriptorOf({}, 0, 33), 63));
  EXPECT_TRUE(errorOf(descriptorOf({}, 16, 0), 0));
  EXPECT_TRUE(errorOf(descriptorOf({}, 0, 0) | 1ull << 63, 0));
}

} // namespace

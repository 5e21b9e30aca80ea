//===- NpyTest.cpp - Reading and writing .npy -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>

using namespace ptxsim::tool;

namespace {

class NpyTest : public ::testing::Test {
protected:
  void TearDown() override { std::remove(path.c_str()); }

  Array read(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return readNpy(path);
  }

  std::string path = ::testing::TempDir() + "npy-test.npy";
};

Array randomArray(std::mt19937 &random, const char *dtype, unsigned bytes) {
  Array array{dtype, {}, {}};
  size_t count = bytes;
  for (unsigned i = random() % 4; i > 0; --i) {
    array.shape.push_back(random() % 5);
    count *= array.shape.back();
  }
  array.bytes.resize(count);
  for (uint8_t &byte : array.bytes)
    byte = uint8_t(random());
  return array;
}

TEST_F(NpyTest, WhatIsWrittenIsReadBack) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round)
    for (auto [dtype, bytes] : {std::pair("f4", 4u), std::pair("u1", 1u),
                                std::pair("i8", 8u), std::pair("f2", 2u)}) {
      Array array = randomArray(random, dtype, bytes);
      std::string text = npyText(array);
      EXPECT_EQ((text.size() - array.bytes.size()) % 64, 0u);
      Array got = read(text);
      EXPECT_EQ(got.dtype, array.dtype);
      EXPECT_EQ(got.shape, array.shape);
      EXPECT_EQ(got.bytes, array.bytes);
    }
}

TEST_F(NpyTest, EveryPrefixIsRefusedAndNothingCrashes) {
  Array array{"f4", {2, 3}, std::vector<uint8_t>(24, 7)};
  std::string text = npyText(array);
  for (size_t end = 0; end < text.size(); ++end)
    EXPECT_THROW(read(text.substr(0, end)), BadInput) << end;
}

TEST_F(NpyTest, DamagedBytesAreReadOrRefused) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Array array{"f4", {2, 3}, std::vector<uint8_t>(24, 7)};
  const std::string whole = npyText(array);
  unsigned refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    text[random() % (text.size() - 24)] = char(random());
    try {
      Array got = read(text);
      EXPECT_EQ(got.bytes.size(), 24u);
    } catch (const BadInput &) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 30u);
}

TEST_F(NpyTest, HugeShapeIsNoMultiplicationOverflow) {
  Array array{"f8", {uint64_t(1) << 32, uint64_t(1) << 32}, {}};
  EXPECT_THROW(read(npyText(array)), BadInput);
}

} // namespace

//===- TensorMapTest.cpp - The encoder against the driver's answers -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Core/SiliconCoverage.h"
#include "TruthData.h"

#include <gtest/gtest.h>

using namespace ptxsim;
using namespace ptxsim::test;

namespace {

std::optional<std::string> encode(const nlohmann::json &p, unsigned sm,
                                  std::array<uint8_t, 128> &out) {
  // The recorded maps lay over an allocation, whose address is a multiple of
  // 256 bytes.
  if (p["kind"] == "im2col")
    return encodeIm2col(im2colParams(p, 0x10000), out, sm);
  return encodeTiled(tiledParams(p, 0x10000), out, sm);
}

TEST(TensorMap, AgreesWithTheDriver) {
  unsigned tables = 0, calls = 0, refused = 0;
  for (const nlohmann::json *table : Recordings::get().named("encode.")) {
    ++tables;
    for (const nlohmann::json &call : (*table)["calls"]) {
      std::array<uint8_t, 128> out{};
      auto why = encode(call["params"], 90, out);
      bool expected = call["result"] != 0;
      EXPECT_EQ(why.has_value(), expected)
          << call["name"] << ": " << why.value_or("accepted");
      ++calls;
      refused += expected;
    }
  }
  EXPECT_EQ(tables, entriesOf("TensorMap.AgreesWithTheDriver"));
  EXPECT_EQ(calls, 139u);
  EXPECT_GT(refused, 50u);
}

/// Launches that were recorded as far as the driver's refusal of their map.
TEST(TensorMap, RefusesTheMapsThatTheDriverRefused) {
  unsigned refused = 0;
  for (const nlohmann::json &entry : Recordings::get().entries) {
    std::string error = entry.value("error", "");
    if (error.find("cuTensorMapEncode") == std::string::npos)
      continue;
    std::array<uint8_t, 128> out{};
    EXPECT_TRUE(encode(entry["tensormap"], 90, out)) << entry["name"];
    ++refused;
  }
  EXPECT_EQ(refused, entriesOf("TensorMap.RefusesTheMapsThatTheDriverRefused"));
}

TEST(TensorMap, RoundTripsEveryRecordedMap) {
  unsigned maps = 0;
  for (const nlohmann::json &entry : Recordings::get().entries) {
    if (!entry.contains("tensormap") || entry.contains("error"))
      continue;
    const nlohmann::json &p = entry["tensormap"];
    std::array<uint8_t, 128> out{};
    ASSERT_EQ(encode(p, 90, out), std::nullopt) << entry["name"];
    auto map = decodeTensorMap(out);
    ASSERT_TRUE(map) << entry["name"];
    EXPECT_EQ(map->im2col, p["kind"] == "im2col");
    EXPECT_EQ(map->rank, p["rank"].get<unsigned>());
    EXPECT_EQ(unsigned(map->type), p["dtype"].get<unsigned>());
    EXPECT_EQ(unsigned(map->swizzle), p["swizzle"].get<unsigned>());
    for (unsigned i = 0; i < map->rank; ++i) {
      EXPECT_EQ(map->dims[i], p["dims"][i].get<uint64_t>());
      EXPECT_EQ(map->elementStrides[i], p["estr"][i].get<uint32_t>());
      if (i)
        EXPECT_EQ(map->strides[i], p["strides"][i - 1].get<uint64_t>());
      if (!map->im2col)
        EXPECT_EQ(map->box[i], p["box"][i].get<uint32_t>());
    }
    ++maps;
  }
  EXPECT_GT(maps, 250u);
}

TEST(TensorMap, DetectsBytesThatAreNoMap) {
  std::array<uint8_t, 128> bytes{};
  EXPECT_FALSE(decodeTensorMap(bytes));
  TiledParams p;
  p.dataType = 6;
  p.rank = 2;
  p.address = 4096;
  p.dims = {64, 64};
  p.strides = {0, 128};
  p.box = {64, 64};
  p.elementStrides = {1, 1};
  ASSERT_FALSE(encodeTiled(p, bytes));
  ASSERT_TRUE(decodeTensorMap(bytes));
  for (unsigned i = 0; i < 128; ++i) {
    auto torn = bytes;
    torn[i] ^= 0x10;
    EXPECT_FALSE(decodeTensorMap(torn)) << "byte " << i;
  }
}

TEST(TensorMap, NewerTypesNeedNewerHardware) {
  TiledParams p;
  p.dataType = unsigned(MapType::U4Align16);
  p.rank = 2;
  p.address = 4096;
  p.dims = {256, 64};
  p.strides = {0, 128};
  p.box = {128, 64};
  p.elementStrides = {1, 1};
  std::array<uint8_t, 128> bytes{};
  EXPECT_TRUE(encodeTiled(p, bytes, 90));
  EXPECT_FALSE(encodeTiled(p, bytes, 100));
  p.box[0] = 64;
  EXPECT_TRUE(encodeTiled(p, bytes, 100));
}

} // namespace

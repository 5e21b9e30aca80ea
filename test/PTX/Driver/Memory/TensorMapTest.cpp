//===- TensorMapTest.cpp - Tensor-map encoding against a real driver ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Api.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>

using Json = nlohmann::json;

namespace {

struct alignas(256) Storage {
  unsigned char bytes[512];
};
Storage tensor, mapStorage;

template <typename T> std::vector<T> list(const Json &params, const char *key) {
  return params.at(key).get<std::vector<T>>();
}

CUresult encode(const Json &p) {
  auto dims = list<uint64_t>(p, "dims"), strides = list<uint64_t>(p, "strides");
  auto elementStrides = list<uint32_t>(p, "estr");
  void *address = tensor.bytes + p.value("byte_offset", 0);
  auto *map = reinterpret_cast<CUtensorMap *>(mapStorage.bytes +
                                              p.value("map_misalign", 0));
  int dtype = p["dtype"], interleave = p["interleave"], swizzle = p["swizzle"];
  int l2 = p["l2"], oob = p["oob"];
  uint32_t rank = p["rank"];
  if (p["kind"] == "tiled") {
    auto box = list<uint32_t>(p, "box");
    return call("cuTensorMapEncodeTiled", map, dtype, rank, address,
                dims.data(), strides.data(), box.data(), elementStrides.data(),
                interleave, swizzle, l2, oob);
  }
  auto lower = list<int>(p, "lower"), upper = list<int>(p, "upper");
  uint32_t channels = p["channels"], pixels = p["pixels"];
  return call("cuTensorMapEncodeIm2col", map, dtype, rank, address, dims.data(),
              strides.data(), lower.data(), upper.data(), channels, pixels,
              elementStrides.data(), interleave, swizzle, l2, oob);
}

class TensorMapTest : public DriverTest {};

TEST_F(TensorMapTest, AnswersAsTheRecordedDriver) {
  std::ifstream file(FMHA_TEST_DATA "/silicon-encode.json");
  Json calls = Json::parse(file)["calls"];
  ASSERT_EQ(calls.size(), 139u);
  // The recording device is an H200, which knows fewer types and swizzles.
  option("target", "sm_90");
  for (const Json &recorded : calls)
    EXPECT_EQ(int(encode(recorded["params"])), recorded["result"].get<int>())
        << recorded["name"] << ": " << textCall("ptxsimLastError");
}

Json goodParams() {
  return {{"kind", "tiled"},   {"dtype", 6},       {"rank", 2},
          {"dims", {256, 64}}, {"strides", {512}}, {"box", {64, 16}},
          {"estr", {1, 1}},    {"interleave", 0},  {"swizzle", 3},
          {"l2", 0},           {"oob", 0}};
}

TEST_F(TensorMapTest, EmptyTensorsAreRefusedWithTheReason) {
  Json params = goodParams();
  ASSERT_EQ(encode(params), CUDA_SUCCESS);
  params["dims"] = {256, 0};
  EXPECT_EQ(encode(params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(std::strstr(textCall("ptxsimLastError"), "globalDim[1]"), nullptr)
      << textCall("ptxsimLastError");
}

TEST_F(TensorMapTest, RefusedMapIsLeftAlone) {
  std::memset(mapStorage.bytes, 0x5A, sizeof mapStorage.bytes);
  Json params = goodParams();
  params["box"] = {64, 257};
  ASSERT_EQ(encode(params), CUDA_ERROR_INVALID_VALUE);
  for (unsigned char byte : mapStorage.bytes)
    ASSERT_EQ(byte, 0x5A);
}

TEST_F(TensorMapTest, ReplacedAddressGivesTheMapOfThatAddress) {
  auto *map = reinterpret_cast<CUtensorMap *>(mapStorage.bytes);
  ASSERT_EQ(encode(goodParams()), CUDA_SUCCESS);
  ASSERT_EQ(call("cuTensorMapReplaceAddress", map,
                 static_cast<void *>(tensor.bytes + 64)),
            CUDA_SUCCESS);
  Storage replaced = mapStorage;
  Json moved = goodParams();
  moved["byte_offset"] = 64;
  ASSERT_EQ(encode(moved), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(replaced.bytes, mapStorage.bytes, 128), 0);
  EXPECT_EQ(call("cuTensorMapReplaceAddress", map,
                 static_cast<void *>(tensor.bytes + 4)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMapTest, BytesThatAreNoMapCannotBeReplaced) {
  std::memset(mapStorage.bytes, 0, sizeof mapStorage.bytes);
  EXPECT_EQ(call("cuTensorMapReplaceAddress",
                 reinterpret_cast<CUtensorMap *>(mapStorage.bytes),
                 static_cast<void *>(tensor.bytes)),
            CUDA_ERROR_INVALID_VALUE);
}

} // namespace

//===- TruthData.h - Reading recorded and computed tables -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_UNITS_TRUTHDATA_H
#define FMHA_TEST_PTX_SIM_UNITS_TRUTHDATA_H

#include "fmha/PTX/Sim/Units/TensorMap.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace ptxsim::test {

inline std::string dataPath(const std::string &name) {
  return std::string(FMHA_TEST_DATA) + "/truth/" + name;
}

inline nlohmann::json readJson(const std::string &name) {
  std::ifstream in(dataPath(name));
  if (!in)
    throw std::runtime_error("cannot open " + dataPath(name));
  return nlohmann::json::parse(in);
}

inline std::vector<uint8_t> readBytes(const std::string &name) {
  std::ifstream in(dataPath(name), std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot open " + dataPath(name));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The launches recorded on silicon.
struct Recordings {
  nlohmann::json entries = readJson("async/index.json")["entries"];
  std::vector<uint8_t> bytes = readBytes("async/tma_sync.bin");

  static const Recordings &get() {
    static const Recordings recordings;
    return recordings;
  }
  /// Entries whose name starts with `prefix`.
  std::vector<const nlohmann::json *> named(const std::string &prefix) const {
    std::vector<const nlohmann::json *> found;
    for (const nlohmann::json &entry : entries)
      if (entry["name"].get<std::string>().rfind(prefix, 0) == 0)
        found.push_back(&entry);
    return found;
  }
  static const nlohmann::json *find(const nlohmann::json &list,
                                    const std::string &name) {
    for (const nlohmann::json &array : list)
      if (array["name"] == name)
        return &array;
    return nullptr;
  }
  static uint64_t sizeOf(const nlohmann::json &array) {
    static const std::map<std::string, unsigned> sizes = {
        {"u8", 1},  {"s8", 1},   {"u16", 2},  {"s16", 2},
        {"f16", 2}, {"bf16", 2}, {"b16", 2},  {"u32", 4},
        {"s32", 4}, {"f32", 4},  {"tf32", 4}, {"b32", 4},
        {"u64", 8}, {"s64", 8},  {"f64", 8},  {"b64", 8}};
    uint64_t n = sizes.at(array["dtype"].get<std::string>());
    for (uint64_t extent : array["shape"])
      n *= extent;
    return n;
  }
  std::vector<uint8_t> data(const nlohmann::json &array,
                            const char *key = "offset") const {
    uint64_t at = array[key];
    return {bytes.begin() + at, bytes.begin() + at + sizeOf(array)};
  }
  template <typename T>
  std::vector<T> values(const nlohmann::json &array) const {
    std::vector<uint8_t> raw = data(array);
    std::vector<T> result(raw.size() / sizeof(T));
    std::memcpy(result.data(), raw.data(), raw.size());
    return result;
  }
};

inline TiledParams tiledParams(const nlohmann::json &p, uint64_t address) {
  TiledParams params;
  params.dataType = p["dtype"];
  params.rank = p["rank"];
  params.address = address + p.value("byte_offset", 0);
  for (size_t i = 0; i < std::min<size_t>(5, p["dims"].size()); ++i) {
    params.dims[i] = p["dims"][i];
    params.box[i] = p["box"][i];
    params.elementStrides[i] = p["estr"][i];
    if (i)
      params.strides[i] = p["strides"][i - 1];
  }
  params.interleave = p["interleave"];
  params.swizzle = p["swizzle"];
  params.l2Promotion = p["l2"];
  params.oobFill = p["oob"];
  return params;
}

inline Im2colParams im2colParams(const nlohmann::json &p, uint64_t address) {
  Im2colParams params;
  params.dataType = p["dtype"];
  params.rank = p["rank"];
  params.address = address + p.value("byte_offset", 0);
  for (size_t i = 0; i < p["dims"].size(); ++i) {
    params.dims[i] = p["dims"][i];
    params.elementStrides[i] = p["estr"][i];
    if (i)
      params.strides[i] = p["strides"][i - 1];
  }
  for (size_t i = 0; i < p["lower"].size(); ++i) {
    params.lowerCorner[i] = p["lower"][i];
    params.upperCorner[i] = p["upper"][i];
  }
  params.channelsPerPixel = p["channels"];
  params.pixelsPerColumn = p["pixels"];
  params.interleave = p["interleave"];
  params.swizzle = p["swizzle"];
  params.l2Promotion = p["l2"];
  params.oobFill = p["oob"];
  return params;
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_UNITS_TRUTHDATA_H

//===- MmaOracle.h - Products computed by a model of the hardware -*- C++ -*-=//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// scripts/check/mma_oracle.py draws tiles of 128 x 32 sums of one instruction's
// K and writes what mmasim says of them. FMHA_MMA_ORACLE names a folder with
// other tiles than the committed ones.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_UNITS_MMAORACLE_H
#define FMHA_TEST_PTX_SIM_UNITS_MMAORACLE_H

#include "fmha/PTX/Sim/Units/InstrDescriptor.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptxsim::test {

struct OracleTile {
  static constexpr uint32_t m = 128, n = 32;
  std::string name;
  MmaKind kind = MmaKind::F16;
  ElementType a = ElementType::F16, b = ElementType::F16, d = ElementType::F32;
  bool negateA = false, negateB = false, accumulate = false;
  uint32_t scale = 0, k = 0;
  /// Bits of the elements: m x k, n x k, m x n, m x n.
  std::vector<uint32_t> left, right, before, after;
};

/// A folder of index.json and the arrays that it describes.
class OracleData {
public:
  explicit OracleData(std::string from) : folder(std::move(from)) {
    index = nlohmann::json::parse(read("index.json"));
    source = index["source"].dump();
    unpack(index["bytes"]);
  }

  std::vector<uint32_t> elements(size_t offset, size_t count,
                                 unsigned width) const {
    if (offset + count * width > bytes.size())
      throw std::runtime_error("array beyond the end of tiles.bin.z");
    std::vector<uint32_t> values(count);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(&values[i], &bytes[offset + i * width], width);
    return values;
  }

  static ElementType typeOf(const std::string &name) {
    for (unsigned type = 0; type <= unsigned(ElementType::UE4M3); ++type)
      if (nameOf(ElementType(type)) == name)
        return ElementType(type);
    throw std::runtime_error("no element type " + name);
  }

  static MmaKind kindOf(const std::string &name) {
    if (auto kind = parseMmaKind("kind::" + name))
      return *kind;
    throw std::runtime_error("no kind " + name);
  }

  nlohmann::json index;
  /// Seed and versions, to be printed with a failure.
  std::string source;

private:
  std::string read(const char *name) const {
    std::ifstream in(folder + "/" + name, std::ios::binary);
    if (!in)
      throw std::runtime_error("cannot read " + folder + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void unpack(uLongf size) {
    std::string packed = read("tiles.bin.z");
    bytes.resize(size);
    int status = uncompress(bytes.data(), &size,
                            reinterpret_cast<const Bytef *>(packed.data()),
                            static_cast<uLong>(packed.size()));
    if (status != Z_OK || size != bytes.size())
      throw std::runtime_error("tiles.bin.z does not unpack to its size");
  }

  std::string folder;
  std::vector<uint8_t> bytes;
};

/// Returns the folder that the environment names, or the committed one.
inline std::string oracleFolder(const char *variable, const char *committed) {
  const char *other = std::getenv(variable);
  return other ? other : std::string(FMHA_TEST_DATA "/") + committed;
}

class MmaOracle : public OracleData {
public:
  MmaOracle() : OracleData(oracleFolder("FMHA_MMA_ORACLE", "mma-oracle")) {
    for (const nlohmann::json &tile : index["tiles"])
      tiles.push_back(tileOf(tile));
  }

  std::vector<OracleTile> tiles;

private:
  OracleTile tileOf(const nlohmann::json &json) const {
    OracleTile tile;
    tile.kind = kindOf(json["kind"]);
    tile.a = typeOf(json["a"]);
    tile.b = typeOf(json["b"]);
    tile.d = typeOf(json["d"]);
    tile.negateA = json["negateA"];
    tile.negateB = json["negateB"];
    tile.accumulate = json["accumulate"];
    tile.scale = json["scale"];
    unsigned width = containerBits(tile.a) / 8;
    unsigned result = tile.d == ElementType::F16 ? 2 : 4;
    tile.k = 32 / width;
    tile.name = json["recipe"].get<std::string>() + " " + nameOf(tile.a) + " " +
                nameOf(tile.b) + " " + nameOf(tile.d);
    tile.left = elements(json["offsetA"], tile.m * tile.k, width);
    tile.right = elements(json["offsetB"], tile.n * tile.k, width);
    tile.before = elements(json["offsetC"], tile.m * tile.n, result);
    tile.after = elements(json["offsetD"], tile.m * tile.n, result);
    return tile;
  }
};

/// D of a tile, element by element, against the model's.
template <typename Tile>
void expectSums(const Tile &tile, const std::vector<uint32_t> &got) {
  ASSERT_EQ(got.size(), tile.after.size()) << tile.name;
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] != tile.after[i])
      first = wrong++ ? first : i;
  EXPECT_EQ(wrong, 0u) << tile.name << " element " << first << std::hex
                       << ": got 0x" << got[first] << ", expected 0x"
                       << tile.after[first];
}

} // namespace ptxsim::test

#endif // FMHA_TEST_PTX_SIM_UNITS_MMAORACLE_H

//===- MapFile.cpp - Tensor maps described in JSON ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MapFile.h"

#include "ElementType.h"
#include "Files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace ptxsim::tool {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

// In the order of the driver's enums, without CU_TENSOR_MAP_<KIND>_.
const Names typeNames = {
    "UINT8",        "UINT16",       "UINT32",        "INT32",
    "UINT64",       "INT64",        "FLOAT16",       "FLOAT32",
    "FLOAT64",      "BFLOAT16",     "FLOAT32_FTZ",   "TFLOAT32",
    "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B"};
const Names interleaveNames = {"NONE", "16B", "32B"};
const Names swizzleNames = {"NONE",          "32B",
                            "64B",           "128B",
                            "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B",
                            "128B_ATOM_64B"};
const Names promotionNames = {"NONE", "L2_64B", "L2_128B", "L2_256B"};
const Names fillNames = {"NONE", "NAN_REQUEST_ZERO_FMA"};

class MapReader {
public:
  MapReader(const std::string &path) : path(path) {
    json = Json::parse(readFile(path), nullptr, false, true);
    if (!json.is_object())
      fail("expected one JSON object with the arguments of "
           "cuTensorMapEncodeTiled");
    for (const auto &[key, value] : json.items())
      checkKey(key);
  }

  MapRequest read() {
    MapRequest request;
    request.tensor = unsigned(number("tensor", {}, 0));
    request.offset = number("offset", {"byte_offset"}, 0);
    if (find("pixelsPerColumn", {"pixels"}))
      request.params = readIm2col();
    else
      request.params = readTiled();
    return request;
  }

private:
  [[noreturn]] void fail(const std::string &why) const {
    throw BadInput(path + ": " + why);
  }

  void checkKey(const std::string &key) const {
    static const Names known = {"tensor",
                                "offset",
                                "byte_offset",
                                "kind",
                                "tensorDataType",
                                "dtype",
                                "tensorRank",
                                "rank",
                                "globalDim",
                                "dims",
                                "globalStrides",
                                "strides",
                                "boxDim",
                                "box",
                                "elementStrides",
                                "estr",
                                "interleave",
                                "swizzle",
                                "l2Promotion",
                                "l2",
                                "oobFill",
                                "oob",
                                "pixelBoxLowerCorner",
                                "lower",
                                "pixelBoxUpperCorner",
                                "upper",
                                "channelsPerPixel",
                                "channels",
                                "pixelsPerColumn",
                                "pixels"};
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail("unknown key '" + key +
           "', expected the names of the driver's "
           "manual: tensorDataType, tensorRank, globalDim, globalStrides, "
           "boxDim, elementStrides, interleave, swizzle, l2Promotion, oobFill, "
           "and tensor, offset");
  }

  /// Returns the value under the key or one of its short names, or null.
  const Json *find(const std::string &key, const Names &aliases) const {
    if (auto it = json.find(key); it != json.end())
      return &*it;
    for (const std::string &alias : aliases)
      if (auto it = json.find(alias); it != json.end())
        return &*it;
    return nullptr;
  }

  const Json &need(const std::string &key, const Names &aliases) const {
    if (const Json *value = find(key, aliases))
      return *value;
    fail("missing '" + key + "'");
  }

  uint64_t number(const std::string &key, const Names &aliases,
                  uint64_t fallback) const {
    const Json *value = find(key, aliases);
    if (value && !value->is_number_unsigned())
      fail("'" + key + "' is " + value->dump() + ", expected a number >= 0");
    return value ? value->get<uint64_t>() : fallback;
  }

  /// Returns an enum value, given as a number, or as a name with or without the
  /// driver's prefix.
  uint32_t choice(const std::string &key, const Names &aliases,
                  const Names &names, uint32_t fallback) const {
    const Json *value = find(key, aliases);
    if (!value)
      return fallback;
    if (!value->is_string())
      return uint32_t(number(key, aliases, fallback));
    std::string text = *value, expected;
    for (char &c : text)
      c = char(std::toupper(static_cast<unsigned char>(c)));
    for (size_t i = 0; i < names.size(); ++i) {
      std::string ending = "_" + names[i];
      // A longer name may end like a shorter one, so match the whole prefix.
      bool prefixed =
          text.starts_with("CU_TENSOR_MAP_") && prefixOf(text, ending);
      if (text == names[i] || prefixed)
        return uint32_t(i);
      expected += (i ? ", " : "") + names[i];
    }
    fail("'" + key + "' is " + value->dump() +
         ", expected a number or one of " + expected);
  }

  static bool prefixOf(const std::string &text, const std::string &ending) {
    static const Names kinds = {
        "CU_TENSOR_MAP_DATA_TYPE", "CU_TENSOR_MAP_INTERLEAVE",
        "CU_TENSOR_MAP_SWIZZLE", "CU_TENSOR_MAP_L2_PROMOTION",
        "CU_TENSOR_MAP_FLOAT_OOB_FILL"};
    return std::any_of(kinds.begin(), kinds.end(), [&](const std::string &k) {
      return text == k + ending;
    });
  }

  /// Sets exactly `count` elements of `out`, starting at `first`.
  template <typename T, size_t N>
  void list(const std::string &key, const Names &aliases, size_t first,
            size_t count, std::array<T, N> &out) const {
    const Json &value = need(key, aliases);
    if (!value.is_array() || value.size() != count)
      fail("'" + key + "' is " + value.dump() + ", expected a list of " +
           std::to_string(count) + " numbers");
    for (size_t i = 0; i < count; ++i) {
      bool fits = std::is_signed_v<T> ? value[i].is_number_integer()
                                      : value[i].is_number_unsigned();
      if (!fits || first + i >= N)
        fail("'" + key + "' holds " + value[i].dump() +
             ", expected at most 5 whole numbers");
      out[first + i] = value[i].get<T>();
    }
  }

  template <typename Params> Params readCommon() const {
    Params p;
    p.dataType = choice("tensorDataType", {"dtype"}, typeNames, ~0u);
    if (p.dataType == ~0u)
      need("tensorDataType", {"dtype"});
    const Json &dims = need("globalDim", {"dims"});
    p.rank = uint32_t(number("tensorRank", {"rank"}, dims.size()));
    if (p.rank < 1 || p.rank > 5)
      fail("'tensorRank' is " + std::to_string(p.rank) + ", expected 1..5");
    list("globalDim", {"dims"}, 0, p.rank, p.dims);
    if (p.rank > 1)
      list("globalStrides", {"strides"}, 1, p.rank - 1, p.strides);
    p.elementStrides.fill(1);
    if (find("elementStrides", {"estr"}))
      list("elementStrides", {"estr"}, 0, p.rank, p.elementStrides);
    p.interleave = choice("interleave", {}, interleaveNames, 0);
    p.swizzle = choice("swizzle", {}, swizzleNames, 0);
    p.l2Promotion = choice("l2Promotion", {"l2"}, promotionNames, 0);
    p.oobFill = choice("oobFill", {"oob"}, fillNames, 0);
    return p;
  }

  TiledParams readTiled() const {
    auto p = readCommon<TiledParams>();
    list("boxDim", {"box"}, 0, p.rank, p.box);
    return p;
  }

  Im2colParams readIm2col() const {
    auto p = readCommon<Im2colParams>();
    if (p.rank < 3)
      fail("'tensorRank' is " + std::to_string(p.rank) +
           ", expected 3..5 for im2col");
    list("pixelBoxLowerCorner", {"lower"}, 0, p.rank - 2, p.lowerCorner);
    list("pixelBoxUpperCorner", {"upper"}, 0, p.rank - 2, p.upperCorner);
    p.channelsPerPixel = uint32_t(number("channelsPerPixel", {"channels"}, 0));
    p.pixelsPerColumn = uint32_t(number("pixelsPerColumn", {"pixels"}, 0));
    return p;
  }

  std::string path;
  Json json;
};

std::optional<std::string> encodeParams(const TiledParams &params,
                                        std::span<uint8_t, 128> out,
                                        unsigned cc) {
  return encodeTiled(params, out, cc);
}
std::optional<std::string> encodeParams(const Im2colParams &params,
                                        std::span<uint8_t, 128> out,
                                        unsigned cc) {
  return encodeIm2col(params, out, cc);
}

} // namespace

MapRequest readMapFile(const std::string &path) {
  return MapReader(path).read();
}

std::vector<uint8_t> encode(const MapRequest &request, uint64_t address,
                            unsigned cc, const std::string &path) {
  std::array<uint8_t, 128> bytes{};
  auto error = std::visit(
      [&](auto params) {
        params.address = address + request.offset;
        return encodeParams(params, bytes, cc);
      },
      request.params);
  if (error)
    throw BadInput(path +
                   ": the driver would reject this tensor map: " + *error);
  return {bytes.begin(), bytes.end()};
}

} // namespace ptxsim::tool

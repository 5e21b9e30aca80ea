//===- TensorMap.cpp - The simulator's tensor map -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/TensorMap.h"

#include <cstddef>
#include <cstring>

namespace ptxsim {
namespace {

struct TypeInfo {
  const char *name;
  uint8_t bits;
  bool isFloat;
};

constexpr std::array<TypeInfo, 16> typeTable = {{{"u8", 8, false},
                                                 {"u16", 16, false},
                                                 {"u32", 32, false},
                                                 {"s32", 32, false},
                                                 {"u64", 64, false},
                                                 {"s64", 64, false},
                                                 {"f16", 16, true},
                                                 {"f32", 32, true},
                                                 {"f64", 64, true},
                                                 {"bf16", 16, true},
                                                 {"f32.ftz", 32, true},
                                                 {"tf32", 32, true},
                                                 {"tf32.ftz", 32, true},
                                                 {"b4x16", 4, false},
                                                 {"b4x16_p64", 4, false},
                                                 {"b6x16_p32", 6, false}}};

constexpr unsigned lastByteType = unsigned(MapType::TF32Ftz);

/// Contents of the 128 bytes, in this order and without padding.
struct Stored {
  uint64_t magic;
  uint64_t address;
  std::array<uint64_t, 4> strides;
  std::array<uint32_t, 5> lastIndex; // dims - 1, so that 2^32 fits
  std::array<uint16_t, 5> box;
  std::array<int16_t, 3> lower, upper;
  uint16_t channels, pixels;
  std::array<uint8_t, 5> elementStrides;
  uint8_t kind, type, rank, interleave, swizzle, l2, oob;
  uint8_t reserved[18];
  uint32_t checksum;
};
static_assert(sizeof(Stored) == 128);

constexpr uint64_t mapMagic = 0x70614d6d69537450; // "PtSimMap"

uint32_t checksumOf(const Stored &stored) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&stored);
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < offsetof(Stored, checksum); ++i)
    hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

/// Returns the violation with the value that caused it.
std::string reject(const std::string &what, uint64_t got,
                   const std::string &expected) {
  return what + " is " + std::to_string(got) + ", expected " + expected;
}

std::string indexed(const char *what, unsigned i) {
  return std::string(what) + "[" + std::to_string(i) + "]";
}

template <typename Params>
std::optional<std::string> checkModes(const Params &p, unsigned sm) {
  unsigned lastType = sm >= 100 ? 15 : lastByteType;
  unsigned lastSwizzle = sm >= 100 ? 6 : 3;
  if (p.dataType > lastType)
    return reject("dataType", p.dataType, "0.." + std::to_string(lastType));
  if (p.swizzle > lastSwizzle)
    return reject("swizzle", p.swizzle, "0.." + std::to_string(lastSwizzle));
  if (p.interleave > 2)
    return reject("interleave", p.interleave, "0..2");
  if (p.l2Promotion > 3)
    return reject("l2Promotion", p.l2Promotion, "0..3");
  if (p.oobFill > 1)
    return reject("oobFill", p.oobFill, "0 or 1");
  if (p.oobFill == 1 && !typeTable[p.dataType].isFloat)
    return std::string("oobFill NaN needs a floating-point type, got ") +
           typeTable[p.dataType].name;
  return std::nullopt;
}

bool isPadded(uint32_t type) {
  return type == unsigned(MapType::U4Align16) ||
         type == unsigned(MapType::U6Align16);
}

template <typename Params>
std::optional<std::string> checkTensor(const Params &p) {
  unsigned align = p.interleave == 2 || isPadded(p.dataType) ? 32 : 16;
  if (p.address % align)
    return reject("globalAddress", p.address,
                  "a multiple of " + std::to_string(align));
  for (unsigned i = 0; i < p.rank; ++i) {
    if (p.dims[i] == 0 || p.dims[i] > (uint64_t(1) << 32))
      return reject(indexed("globalDim", i), p.dims[i], "1..2^32");
    if (p.elementStrides[i] == 0 || p.elementStrides[i] > 8)
      return reject(indexed("elementStrides", i), p.elementStrides[i], "1..8");
  }
  for (unsigned i = 1; i < p.rank; ++i)
    if (p.strides[i] % align || p.strides[i] >= (uint64_t(1) << 40))
      return reject(indexed("globalStrides", i - 1), p.strides[i],
                    "a multiple of " + std::to_string(align) + " below 2^40");
  if (isPadded(p.dataType) && p.dims[0] % 128)
    return reject("globalDim[0]", p.dims[0],
                  "a multiple of 128 for a padded sub-byte type");
  if (p.dataType == unsigned(MapType::U4Align8) && p.dims[0] % 2)
    return reject("globalDim[0]", p.dims[0], "an even number for 4-bit types");
  return std::nullopt;
}

/// Checks that one row of the box consists of whole 16-byte chunks and fits the
/// swizzle row.
std::optional<std::string> checkRow(const char *what, uint32_t count,
                                    uint32_t type, uint32_t swizzle) {
  if (isPadded(type))
    return count == 128
               ? std::nullopt
               : std::optional(reject(what, count, "128 for a padded type"));
  uint64_t bits = uint64_t(count) * typeTable[type].bits;
  if (bits % 128)
    return reject(std::string(what) + " in bits", bits,
                  "a multiple of 16 bytes");
  unsigned span = swizzleSpan(MapSwizzle(swizzle));
  if (span && bits / 8 > span)
    return reject(std::string(what) + " in bytes", bits / 8,
                  "at most the swizzle row of " + std::to_string(span));
  return std::nullopt;
}

std::optional<std::string> checkBox(const TiledParams &p) {
  uint64_t bits = typeTable[p.dataType].bits;
  for (unsigned i = 0; i < p.rank; ++i) {
    if (p.box[i] == 0 || p.box[i] > 256)
      return reject(indexed("boxDim", i), p.box[i], "1..256");
    bits *= p.box[i];
  }
  // The driver rejects a box of 256 KiB and accepts 64 KiB; the limit is
  // assumed to be the shared memory of a CTA.
  constexpr uint64_t largestBox = 227 * 1024;
  if (bits / 8 > largestBox)
    return reject("the box in bytes", bits / 8,
                  "at most " + std::to_string(largestBox));
  return checkRow("boxDim[0]", p.box[0], p.dataType, p.swizzle);
}

std::optional<std::string> checkCorners(const Im2colParams &p) {
  constexpr std::array<int32_t, 3> limits = {32768, 128, 16};
  int32_t limit = limits[p.rank - 3];
  for (unsigned i = 0; i + 2 < p.rank; ++i) {
    int64_t lower = p.lowerCorner[i], upper = p.upperCorner[i];
    bool inRange =
        lower >= -limit && lower < limit && upper >= -limit && upper < limit;
    if (!inRange)
      return "corner " + std::to_string(i) + " is {" + std::to_string(lower) +
             ", " + std::to_string(upper) + "}, expected -" +
             std::to_string(limit) + ".." + std::to_string(limit - 1);
    if (lower > int64_t(p.dims[i + 1]) - 1 + upper)
      return "the bounding box is empty along dimension " +
             std::to_string(i + 1);
  }
  return std::nullopt;
}

std::optional<std::string> checkColumn(const Im2colParams &p) {
  if (p.channelsPerPixel == 0 || p.channelsPerPixel > 256)
    return reject("channelsPerPixel", p.channelsPerPixel, "1..256");
  if (p.pixelsPerColumn == 0 || p.pixelsPerColumn > 1024)
    return reject("pixelsPerColumn", p.pixelsPerColumn, "1..1024");
  return checkRow("channelsPerPixel", p.channelsPerPixel, p.dataType,
                  p.swizzle);
}

template <typename Params> Stored storeCommon(const Params &p) {
  Stored s{};
  s.magic = mapMagic;
  s.address = p.address;
  for (unsigned i = 0; i < p.rank; ++i) {
    s.lastIndex[i] = uint32_t(p.dims[i] - 1);
    s.elementStrides[i] = uint8_t(p.elementStrides[i]);
    if (i)
      s.strides[i - 1] = p.strides[i];
  }
  s.type = uint8_t(p.dataType);
  s.rank = uint8_t(p.rank);
  s.interleave = uint8_t(p.interleave);
  s.swizzle = uint8_t(p.swizzle);
  s.l2 = uint8_t(p.l2Promotion);
  s.oob = uint8_t(p.oobFill);
  return s;
}

void seal(Stored &stored, std::span<uint8_t, 128> out) {
  stored.checksum = checksumOf(stored);
  std::memcpy(out.data(), &stored, sizeof(stored));
}

} // namespace

std::optional<std::string>
encodeTiled(const TiledParams &p, std::span<uint8_t, 128> out, unsigned sm) {
  if (p.rank < 1 || p.rank > 5)
    return reject("tensorRank", p.rank, "1..5");
  if (p.interleave && p.rank < 3)
    return reject("tensorRank", p.rank, "3..5 with interleave");
  if (auto why = checkModes(p, sm))
    return why;
  if (auto why = checkTensor(p))
    return why;
  if (auto why = checkBox(p))
    return why;
  Stored stored = storeCommon(p);
  for (unsigned i = 0; i < p.rank; ++i)
    stored.box[i] = uint16_t(p.box[i]);
  seal(stored, out);
  return std::nullopt;
}

std::optional<std::string>
encodeIm2col(const Im2colParams &p, std::span<uint8_t, 128> out, unsigned sm) {
  if (p.rank < 3 || p.rank > 5)
    return reject("tensorRank", p.rank, "3..5 for im2col");
  if (auto why = checkModes(p, sm))
    return why;
  if (auto why = checkTensor(p))
    return why;
  if (auto why = checkCorners(p))
    return why;
  if (auto why = checkColumn(p))
    return why;
  Stored stored = storeCommon(p);
  stored.kind = 1;
  for (unsigned i = 0; i < 3; ++i) {
    stored.lower[i] = int16_t(p.lowerCorner[i]);
    stored.upper[i] = int16_t(p.upperCorner[i]);
  }
  stored.channels = uint16_t(p.channelsPerPixel);
  stored.pixels = uint16_t(p.pixelsPerColumn);
  seal(stored, out);
  return std::nullopt;
}

std::optional<TensorMap> decodeTensorMap(std::span<const uint8_t, 128> bytes) {
  Stored s;
  std::memcpy(&s, bytes.data(), sizeof(s));
  if (s.magic != mapMagic || s.checksum != checksumOf(s))
    return std::nullopt;
  TensorMap map;
  map.im2col = s.kind == 1;
  map.type = MapType(s.type);
  map.rank = s.rank;
  map.address = s.address;
  for (unsigned i = 0; i < s.rank; ++i) {
    map.dims[i] = uint64_t(s.lastIndex[i]) + 1;
    map.box[i] = s.box[i];
    map.elementStrides[i] = s.elementStrides[i];
    if (i)
      map.strides[i] = s.strides[i - 1];
  }
  map.interleave = MapInterleave(s.interleave);
  map.swizzle = MapSwizzle(s.swizzle);
  map.nanFill = s.oob == 1;
  for (unsigned i = 0; i < 3; ++i) {
    map.lowerCorner[i] = s.lower[i];
    map.upperCorner[i] = s.upper[i];
  }
  map.channelsPerPixel = s.channels;
  map.pixelsPerColumn = s.pixels;
  return map;
}

unsigned elementBits(MapType type) { return typeTable[unsigned(type)].bits; }

const char *nameOf(MapType type) { return typeTable[unsigned(type)].name; }

unsigned swizzleSpan(MapSwizzle swizzle) {
  constexpr std::array<unsigned, 7> spans = {0, 32, 64, 128, 128, 128, 128};
  return spans[unsigned(swizzle)];
}

unsigned TensorMap::elementBits() const { return ptxsim::elementBits(type); }

uint32_t TensorMap::boxCount(unsigned i) const {
  if (i == 0)
    return box[0];
  return (box[i] + elementStrides[i] - 1) / elementStrides[i];
}

} // namespace ptxsim

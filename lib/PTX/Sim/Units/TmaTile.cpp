//===- TmaTile.cpp - The bytes that one tensor copy moves -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/TmaTile.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {
namespace {

using Coordinates = std::array<int64_t, 5>;

uint32_t bytesOf(MapType type, uint32_t elements) {
  return uint32_t(uint64_t(elements) * elementBits(type) / 8);
}

bool isPadded(MapType type) {
  return type == MapType::U4Align16 || type == MapType::U6Align16;
}

/// Sets the fields of the plan that do not depend on the rows.
TilePlan startPlan(const TensorMap &map, uint32_t rowElements) {
  TilePlan plan;
  plan.type = map.type;
  plan.address = map.address;
  plan.swizzle = map.swizzle;
  plan.nanFill = map.nanFill;
  plan.rowBytes = bytesOf(map.type, rowElements);
  if (isPadded(map.type))
    plan.packedBytes = map.type == MapType::U4Align16 ? 8 : 12;
  unsigned span = swizzleSpan(map.swizzle);
  plan.pitch = span ? span : plan.imageBytes();
  if (map.interleave != MapInterleave::None)
    plan.fault = TileFault::Unsupported;
  return plan;
}

void finishPlan(TilePlan &plan) {
  plan.txBytes = plan.rowBytes * uint32_t(plan.rows.size());
  plan.sharedBytes = plan.pitch * uint32_t(plan.rows.size());
}

TileFault checkStart(const TensorMap &map, std::span<const int32_t> start,
                     TileDirection direction) {
  int64_t alignmentBits =
      isPadded(map.type) ? 128 * int64_t(elementBits(map.type)) : 128;
  if (int64_t(start[0]) * elementBits(map.type) % alignmentBits)
    return TileFault::InnerUnaligned;
  if (direction == TileDirection::Store)
    for (int32_t c : start)
      if (c < 0)
        return TileFault::NegativeStore;
  return TileFault::None;
}

/// Adds the row of `rowElements` elements that starts at `at`.
void addRow(TilePlan &plan, const TensorMap &map, const Coordinates &at,
            uint32_t rowElements, TileDirection direction) {
  TileRow row;
  row.shared = plan.pitch * uint32_t(plan.rows.size());
  bool inside = true;
  uint64_t address = map.address;
  for (unsigned i = 1; i < map.rank; ++i) {
    inside &= at[i] >= 0 && at[i] < int64_t(map.dims[i]);
    address += uint64_t(at[i]) * map.strides[i];
  }
  int64_t begin = std::clamp<int64_t>(-at[0], 0, rowElements);
  int64_t end =
      std::clamp<int64_t>(int64_t(map.dims[0]) - at[0], begin, rowElements);
  if (inside && begin < end) {
    unsigned bits = elementBits(map.type);
    row.validBegin = uint32_t(begin * bits / 8);
    row.validEnd = uint32_t((end * bits + 7) / 8);
    // A store clips the innermost dimension only in units of 16 bytes.
    if (direction == TileDirection::Store)
      row.validEnd = std::min((row.validEnd + 15) & ~15u, plan.rowBytes);
    row.global = address + uint64_t((at[0] + begin) * int64_t(bits) / 8);
  }
  plan.rows.push_back(row);
}

uint32_t tf32OfLoad(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fffe000;
  uint32_t odd = (bits >> 13) & 1;
  return (bits + 0xfff + odd) & ~0x1fffu;
}

void fillBytes(const TilePlan &plan, std::span<uint8_t> bytes) {
  if (!plan.nanFill) {
    std::memset(bytes.data(), 0, bytes.size());
    return;
  }
  constexpr uint8_t pattern[2] = {0xf7, 0x7f};
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = pattern[i & 1];
}

/// Advances a position in the im2col bounding box: dimensions 1 .. rank-2 are
/// spatial, rank-1 is the batch.
void advancePixel(const TensorMap &map, Coordinates &at) {
  for (unsigned i = 1; i + 1 < map.rank; ++i) {
    at[i] += map.elementStrides[i];
    if (at[i] <= int64_t(map.dims[i]) - 1 + map.upperCorner[i - 1])
      return;
    at[i] = map.lowerCorner[i - 1];
  }
  ++at[map.rank - 1];
}

} // namespace

bool TilePlan::isOutside() const {
  return std::none_of(rows.begin(), rows.end(),
                      [](const TileRow &row) { return row.validBytes(); });
}

const char *describe(TileFault fault) {
  static constexpr std::array<const char *, 5> texts = {
      "no fault",
      "the first coordinate times the element size must be a multiple of 16 "
      "bytes",
      "a store or reduction must not start at a negative coordinate; clip at "
      "the left with another map or a plain store",
      "the tensor map's kind or rank does not fit the instruction",
      "interleaved tensor maps are not simulated"};
  return texts[unsigned(fault)];
}

TilePlan planTile(const TensorMap &map, std::span<const int32_t> coordinates,
                  TileDirection direction) {
  TilePlan plan = startPlan(map, map.box[0]);
  if (map.im2col || coordinates.size() != map.rank)
    plan.fault = TileFault::WrongMode;
  if (plan.fault == TileFault::None)
    plan.fault = checkStart(map, coordinates, direction);
  if (plan.fault != TileFault::None)
    return plan;
  uint32_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i)
    rows *= map.boxCount(i);
  plan.rows.reserve(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    Coordinates at{};
    at[0] = coordinates[0];
    uint32_t rest = row;
    for (unsigned i = 1; i < map.rank; ++i) {
      at[i] = coordinates[i] +
              int64_t(rest % map.boxCount(i)) * map.elementStrides[i];
      rest /= map.boxCount(i);
    }
    addRow(plan, map, at, map.box[0], direction);
  }
  finishPlan(plan);
  return plan;
}

TilePlan planGather4(const TensorMap &map, std::span<const int32_t> coordinates,
                     TileDirection direction) {
  TilePlan plan = startPlan(map, map.box[0]);
  if (map.im2col || map.rank != 2 || coordinates.size() != 5)
    plan.fault = TileFault::WrongMode;
  if (plan.fault == TileFault::None)
    plan.fault = checkStart(map, coordinates, direction);
  if (plan.fault != TileFault::None)
    return plan;
  for (unsigned i = 1; i <= 4; ++i)
    addRow(plan, map, {coordinates[0], coordinates[i]}, map.box[0], direction);
  finishPlan(plan);
  return plan;
}

TilePlan planIm2col(const TensorMap &map, std::span<const int32_t> coordinates,
                    std::span<const uint16_t> offsets) {
  TilePlan plan = startPlan(map, map.channelsPerPixel);
  if (!map.im2col || coordinates.size() != map.rank ||
      offsets.size() + 2 != map.rank)
    plan.fault = TileFault::WrongMode;
  if (plan.fault == TileFault::None)
    plan.fault = checkStart(map, coordinates, TileDirection::Load);
  if (plan.fault != TileFault::None)
    return plan;
  Coordinates at{};
  std::copy(coordinates.begin(), coordinates.end(), at.begin());
  for (uint32_t pixel = 0; pixel < map.pixelsPerColumn; ++pixel) {
    Coordinates shifted = at;
    for (unsigned i = 0; i < offsets.size(); ++i)
      shifted[i + 1] += offsets[i];
    addRow(plan, map, shifted, map.channelsPerPixel, TileDirection::Load);
    advancePixel(map, at);
  }
  finishPlan(plan);
  return plan;
}

void loadRowImage(const TilePlan &plan, const TileRow &row,
                  std::span<const uint8_t> valid, std::span<uint8_t> image) {
  if (plan.packedBytes != 16) {
    // Padded sub-byte types are never out of bounds inside a row: dimension 0
    // is a multiple of the box.
    for (uint32_t chunk = 0; chunk * 16 < image.size(); ++chunk)
      if (valid.empty())
        std::memset(&image[chunk * 16], 0, plan.packedBytes);
      else
        std::memcpy(&image[chunk * 16], &valid[chunk * plan.packedBytes],
                    plan.packedBytes);
    return;
  }
  fillBytes(plan, image.first(row.validBegin));
  std::copy(valid.begin(), valid.begin() + row.validBytes(),
            image.begin() + row.validBegin);
  fillBytes(plan, image.subspan(row.validEnd));
  if (plan.type != MapType::TF32 && plan.type != MapType::TF32Ftz)
    return;
  for (uint32_t at = row.validBegin; at < row.validEnd; at += 4) {
    uint32_t bits;
    std::memcpy(&bits, &image[at], 4);
    bits = tf32OfLoad(bits);
    std::memcpy(&image[at], &bits, 4);
  }
}

} // namespace ptxsim

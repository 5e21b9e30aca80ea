//===- TmemMap.cpp - Locations of elements in tensor memory ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/TmemMap.h"

#include <array>

namespace ptxsim {
namespace {

using CellFunction = TmemCell (*)(uint32_t t, uint32_t r);

struct ShapeInfo {
  std::string_view name;
  uint32_t registersPerNum, lanes;
  CellFunction cell;
};

constexpr std::array<ShapeInfo, 5> shapes = {{
    {"32x32b", 1, 32, [](uint32_t t, uint32_t r) { return TmemCell{t, r}; }},
    {"16x64b", 1, 16,
     [](uint32_t t, uint32_t r) {
       return TmemCell{t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
     }},
    {"16x128b", 2, 16,
     [](uint32_t t, uint32_t r) {
       return TmemCell{t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4};
     }},
    {"16x256b", 4, 16,
     [](uint32_t t, uint32_t r) {
       return TmemCell{t / 4 + 8 * (r / 2 % 2),
                       8 * (r / 4) + 2 * (t % 4) + r % 2};
     }},
    {"16x32bx2", 1, 16,
     [](uint32_t t, uint32_t r) { return TmemCell{t % 16, r}; }},
}};

const ShapeInfo &infoOf(TmemShape shape) { return shapes[unsigned(shape)]; }

/// Returns the lane of row m: half of every 32 lanes are used.
uint32_t spreadLane(uint32_t m) { return m / 16 * 32 + m % 16; }

} // namespace

std::optional<TmemShape> parseTmemShape(std::string_view name) {
  for (unsigned i = 0; i < shapes.size(); ++i)
    if (shapes[i].name == name)
      return TmemShape(i);
  return std::nullopt;
}

uint32_t TmemAccess::registers() const {
  return num * infoOf(shape).registersPerNum;
}

uint32_t TmemAccess::lanes() const { return infoOf(shape).lanes; }

TmemCell TmemAccess::cell(uint32_t t, uint32_t r) const {
  TmemCell cell = infoOf(shape).cell(t, r);
  if (packed)
    cell.column *= 2;
  if (shape == TmemShape::L16x32bx2 && t >= 16) {
    cell.lane += halfSplit >> 16;
    cell.column += halfSplit & 0xffff;
  }
  return cell;
}

TmemLayout layoutOf(unsigned ctaGroup, uint32_t m, bool weightStationary,
                    bool sparse) {
  if (ctaGroup == 2) {
    if (m == 256)
      return TmemLayout::A;
    return sparse ? TmemLayout::C : TmemLayout::B;
  }
  if (m == 128)
    return TmemLayout::D;
  if (m == 32)
    return TmemLayout::G;
  return weightStationary ? TmemLayout::E : TmemLayout::F;
}

TmemCell accumulatorCell(TmemLayout layout, uint32_t m, uint32_t n,
                         uint32_t nTotal) {
  switch (layout) {
  case TmemLayout::A:
  case TmemLayout::D:
    return {m, n};
  case TmemLayout::C:
  case TmemLayout::F:
    return {spreadLane(m), n};
  case TmemLayout::B:
  case TmemLayout::E:
    return {m + 64 * (n / (nTotal / 2)), n % (nTotal / 2)};
  case TmemLayout::G:
    return {m + 32 * (n / (nTotal / 4)), n % (nTotal / 4)};
  }
  return {};
}

uint32_t accumulatorColumns(TmemLayout layout, uint32_t nTotal) {
  if (layout == TmemLayout::B || layout == TmemLayout::E)
    return nTotal / 2;
  return layout == TmemLayout::G ? nTotal / 4 : nTotal;
}

uint32_t rowsPerCta(TmemLayout layout) {
  constexpr std::array<uint32_t, 7> rows = {128, 64, 64, 128, 64, 64, 32};
  return rows[unsigned(layout)];
}

OperandCell operandCell(TmemLayout layout, uint32_t m, uint32_t k,
                        unsigned elementBits) {
  uint32_t perColumn = 32 / elementBits;
  bool spread = layout == TmemLayout::F || layout == TmemLayout::C;
  uint32_t lane = spread ? spreadLane(m) : m;
  return {{lane, k / perColumn}, k % perColumn * elementBits};
}

uint32_t operandRows(TmemLayout layout) {
  bool spread = layout == TmemLayout::F || layout == TmemLayout::C;
  return spread ? 64 : tmemLanes;
}

OperandCell MetadataMap::cell(uint32_t m, uint32_t group) const {
  bool spread = layout == TmemLayout::F || layout == TmemLayout::C;
  if (!paired)
    return {{spread ? spreadLane(m) : m, group / 8}, 4 * (group % 8)};
  uint32_t block = m / 16 * (spread ? 32 : 16);
  return {{block + m % 8 + 8 * (group / 4), 0},
          4 * (group % 4) + 16 * (m / 8 % 2)};
}

TmemCell ScaleMap::cell(uint32_t mn) const {
  uint32_t half = split ? mn / split : 0;
  uint32_t row = mn - half * split;
  return {row % copyLanes + 64 * half, row / copyLanes};
}

const TmemCopyShape *findTmemCopy(std::string_view shape,
                                  std::string_view multicast) {
  static constexpr std::array<TmemCopyShape, 6> table = {
      {{"128x256b", "", 128, 8, 128, 0, 1, 0},
       {"128x128b", "", 128, 4, 128, 0, 1, 0},
       {"4x256b", "", 4, 8, 1, 32, 1, 0},
       {"32x128b", "warpx4", 32, 4, 32, 0, 4, 32},
       {"64x128b", "warpx2::02_13", 64, 4, 64, 0, 2, 64},
       {"64x128b", "warpx2::01_23", 64, 4, 32, 64, 2, 32}}};
  for (const TmemCopyShape &entry : table)
    if (entry.shape == shape && entry.multicast == multicast)
      return &entry;
  return nullptr;
}

} // namespace ptxsim

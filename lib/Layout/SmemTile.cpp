//===- SmemTile.cpp - Matrix tiles in shared memory -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/SmemTile.h"

#include <cassert>

using namespace fmha::layout;

SmemTile SmemTile::make(Major major, Swizzle mode, unsigned elementBytes,
                        unsigned mn, unsigned k, AtomOrder order) {
  SmemTile tile{major, mode, elementBytes, mn, k, 0, 0};
  unsigned atom = spanBytes(mode) * groupRows(mode);
  if (order == AtomOrder::Across) {
    tile.groupPitch = atom;
    tile.spanPitch = tile.across() * spanBytes(mode);
  } else {
    tile.spanPitch = atom;
    unsigned spans = tile.contiguous() * elementBytes / spanBytes(mode);
    tile.groupPitch = spans * atom;
  }
  return tile;
}

std::optional<std::string> SmemTile::check() const {
  const char *along = major == Major::K ? "k" : "mn";
  const char *over = major == Major::K ? "mn" : "k";
  auto multiple = [](const std::string &what, unsigned got, unsigned of) {
    return "expected " + what + " to be a positive multiple of " +
           std::to_string(of) + ", got " + std::to_string(got);
  };
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4)
    return "expected elements of 1, 2 or 4 bytes, got " +
           std::to_string(elementBytes);
  if (mode == Swizzle::Bytes128Atom32 &&
      (major != Major::MN || elementBytes != 4))
    return "the 128-byte swizzle of 32-byte atoms serves MN-major 32-bit "
           "operands only; take Bytes128";
  unsigned row = contiguous() * elementBytes;
  if (row == 0 || row % spanBytes(mode))
    return multiple("the bytes of a row (" + std::string(along) +
                        " times the element size)",
                    row, spanBytes(mode));
  if (across() == 0 || across() % groupRows(mode))
    return multiple(over, across(), groupRows(mode));
  if (k * elementBytes % kStepBytes)
    return multiple("the bytes of K", k * elementBytes, kStepBytes);
  return std::nullopt;
}

uint32_t SmemTile::linearOffset(unsigned mnIndex, unsigned kIndex) const {
  unsigned span = spanBytes(mode), rows = groupRows(mode);
  unsigned along = (major == Major::K ? kIndex : mnIndex) * elementBytes;
  unsigned over = major == Major::K ? mnIndex : kIndex;
  return along / span * spanPitch + along % span + over / rows * groupPitch +
         over % rows * span;
}

uint64_t SmemTile::descriptorFields() const { return descriptor(0); }

uint64_t SmemTile::descriptor(uint32_t start) const {
  bool swizzled = mode != Swizzle::None;
  if (major == Major::K)
    return smemDescriptor(start, swizzled ? 16 : spanPitch, groupPitch, mode);
  if (swizzled)
    return smemDescriptor(start, spanPitch, groupPitch, mode);
  return smemDescriptor(start, groupPitch, spanPitch, mode);
}

uint64_t fmha::layout::smemDescriptor(uint32_t start, uint32_t leadingBytes,
                                      uint32_t strideBytes, Swizzle mode) {
  auto encode = [](uint32_t bytes) {
    assert(bytes % 16 == 0 && bytes < (1u << 18) &&
           "descriptor fields count 16-byte units of an 18-bit address");
    return uint64_t(bytes) >> 4;
  };
  constexpr uint64_t version = 1; // bits 46-48 are fixed to 0b001
  return encode(start) | encode(leadingBytes) << 16 |
         encode(strideBytes) << 32 | version << 46 |
         uint64_t(descriptorCode(mode)) << 61;
}

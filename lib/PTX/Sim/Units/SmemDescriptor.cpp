//===- SmemDescriptor.cpp - Shared-memory matrix descriptors --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/SmemDescriptor.h"

namespace ptxsim {
namespace {

struct SwizzleInfo {
  uint32_t rowBytes;
  XorSwizzle xorFunction;
};

constexpr std::array<SwizzleInfo, 5> swizzles = {{{16, {0, 4, 3}},
                                                  {128, {2, 5, 2}},
                                                  {128, {3, 4, 3}},
                                                  {64, {2, 4, 3}},
                                                  {32, {1, 4, 3}}}};

constexpr uint64_t field(uint64_t raw, unsigned low, unsigned width) {
  return (raw >> low) & ((uint64_t(1) << width) - 1);
}

std::string bits(unsigned low, unsigned high, uint64_t got, uint64_t expected) {
  return "bits " + std::to_string(low) + "-" + std::to_string(high) +
         " of the shared-memory descriptor are " + std::to_string(got) +
         ", expected " + std::to_string(expected);
}

struct Reserved {
  unsigned low, width;
  uint64_t tcgen05, wgmma;
};

/// Fields with one legal value. The base offset must be zero because every
/// tile is expected at a multiple of its swizzle pattern.
constexpr std::array<Reserved, 6> reserved = {{{14, 2, 0, 0},
                                               {30, 2, 0, 0},
                                               {46, 3, 1, 0},
                                               {49, 3, 0, 0},
                                               {52, 1, 0, 0},
                                               {53, 8, 0, 0}}};

/// Swizzle codes of bits 61-63; the older encoding is one bit higher.
constexpr std::array<std::optional<SmemSwizzle>, 8> swizzleCodes = {
    SmemSwizzle::None, SmemSwizzle::B128Atom32,
    SmemSwizzle::B128, std::nullopt,
    SmemSwizzle::B64,  std::nullopt,
    SmemSwizzle::B32,  std::nullopt};

} // namespace

uint32_t SmemDescriptor::rowBytes() const {
  return swizzles[unsigned(swizzle)].rowBytes;
}

XorSwizzle SmemDescriptor::xorFunction() const {
  return swizzles[unsigned(swizzle)].xorFunction;
}

uint32_t SmemDescriptor::address(Major major, unsigned elementBytes,
                                 uint32_t mn, uint32_t k) const {
  uint32_t row = rowBytes();
  bool plain = swizzle == SmemSwizzle::None;
  if (major == Major::K) {
    uint32_t byte = k * elementBytes;
    uint32_t inner = plain ? byte / 16 * leadingOffset + byte % 16 : byte;
    return xorFunction()(start + mn / 8 * strideOffset + mn % 8 * row + inner);
  }
  uint32_t byte = mn * elementBytes;
  uint32_t group = swizzle == SmemSwizzle::B128Atom32 ? 4 : 8;
  // Without swizzle the two offsets swap roles.
  uint32_t mnStep = plain ? strideOffset : leadingOffset;
  uint32_t kStep = plain ? leadingOffset : strideOffset;
  return xorFunction()(start + byte / row * mnStep + byte % row +
                       k % group * row + k / group * kStep);
}

DecodedDescriptor decodeSmemDescriptor(uint64_t raw, DescriptorArch arch) {
  bool tcgen05 = arch == DescriptorArch::Tcgen05;
  DecodedDescriptor result;
  result.descriptor.start = uint32_t(field(raw, 0, 14) << 4);
  result.descriptor.leadingOffset = uint32_t(field(raw, 16, 14) << 4);
  result.descriptor.strideOffset = uint32_t(field(raw, 32, 14) << 4);
  unsigned code = unsigned(field(raw, 61, 3));
  bool legal = swizzleCodes[code] && (tcgen05 || code != 1);
  if (legal)
    result.descriptor.swizzle = *swizzleCodes[code];
  else
    result.error = "swizzle code " + std::to_string(code) +
                   " of the shared-memory descriptor is not defined";
  for (const Reserved &r : reserved) {
    uint64_t got = field(raw, r.low, r.width);
    uint64_t expected = tcgen05 ? r.tcgen05 : r.wgmma;
    if (got != expected && !result.error)
      result.error = bits(r.low, r.low + r.width - 1, got, expected);
  }
  return result;
}

std::optional<std::string> checkOperandSwizzle(const SmemDescriptor &descriptor,
                                               Major major,
                                               unsigned elementBytes) {
  bool atom32 = descriptor.swizzle == SmemSwizzle::B128Atom32;
  if (major == Major::MN && elementBytes == 4 && !atom32)
    return "a 32-bit operand with M or N contiguous needs the 128-byte swizzle "
           "with 32-byte atoms (code 1)";
  if (atom32 && elementBytes != 4)
    return "the 128-byte swizzle with 32-byte atoms is for 32-bit operands "
           "only; use code 2";
  return std::nullopt;
}

} // namespace ptxsim

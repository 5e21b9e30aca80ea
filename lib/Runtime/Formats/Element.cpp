//===- Element.cpp - Element types of arrays and tensors ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Element.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace fmha::runtime {

std::string_view stringify(ElementType type) { return launch::nameOf(type); }

std::optional<ElementType> parseElementType(std::string_view name) {
  return launch::parseName<ElementType>(name);
}

uint16_t toBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40;
  // Adding half of the last kept place, minus one if that place is even, rounds
  // ties to even; a carry into the exponent gives the correct result.
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float fromBFloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

uint16_t toHalf(float value) {
  uint16_t sign = uint16_t(std::bit_cast<uint32_t>(value) >> 16 & 0x8000);
  if (std::isnan(value))
    return sign | 0x7e00;
  float magnitude = std::fabs(value);
  // 65520 is halfway between the largest number and 2^16, and rounds to even.
  if (magnitude >= 65520.0f)
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) {
    // Subnormals are multiples of 2^-24; nearbyint rounds ties to even.
    return sign | uint16_t(std::nearbyint(magnitude * 0x1p24f));
  }
  uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  uint32_t rounded = bits + 0xfff + ((bits >> 13) & 1);
  return sign | uint16_t((rounded >> 13) - ((127 - 15) << 10));
}

float fromHalf(uint16_t bits) {
  float sign = bits & 0x8000 ? -1.0f : 1.0f;
  int exponent = bits >> 10 & 0x1f;
  int mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return mantissa ? std::numeric_limits<float>::quiet_NaN()
                    : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(float(mantissa), -24);
  return sign * std::ldexp(float(mantissa | 0x400), exponent - 25);
}

uint8_t toE4M3(float value) {
  constexpr uint8_t nan = 0x7f, largest = 0x7e;
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return nan;
  float magnitude = std::fabs(value);
  if (magnitude >= 448)
    return sign | largest;
  // Subnormals are multiples of 2^-9; nearbyint rounds ties to even.
  if (magnitude < 0x1p-6f)
    return sign | uint8_t(std::nearbyint(magnitude * 0x1p9f));
  uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  uint32_t rounded = bits + 0x7ffff + ((bits >> 20) & 1);
  return sign | uint8_t((rounded >> 20) - ((127 - 7) << 3));
}

float fromE4M3(uint8_t bits) {
  float sign = bits & 0x80 ? -1.0f : 1.0f;
  int exponent = bits >> 3 & 0xf, mantissa = bits & 7;
  if (exponent == 0xf && mantissa == 7)
    return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0)
    return sign * std::ldexp(float(mantissa), -9);
  return sign * std::ldexp(float(mantissa | 8), exponent - 10);
}

void storeElement(ElementType type, void *to, float value) {
  if (type == ElementType::E4M3) {
    *static_cast<uint8_t *>(to) = toE4M3(value);
    return;
  }
  if (type == ElementType::F32) {
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  uint16_t bits = type == ElementType::F16 ? toHalf(value) : toBFloat16(value);
  std::memcpy(to, &bits, sizeof(bits));
}

float loadElement(ElementType type, const void *from) {
  if (type == ElementType::E4M3)
    return fromE4M3(*static_cast<const uint8_t *>(from));
  if (type == ElementType::F32) {
    float value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  return type == ElementType::F16 ? fromHalf(bits) : fromBFloat16(bits);
}

} // namespace fmha::runtime

//===- Rounding.cpp - 16-bit floating point on the host ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Rounding.h"

#include <bit>
#include <cmath>

using namespace fmha::reference;

static uint16_t toBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40; // quiet, so that it stays a NaN
  // Adds just under half of the last place, and the last bit itself at a tie.
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static uint16_t toF16(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7E00;
  float magnitude = std::fabs(value);
  // 65520 is half way between the largest f16 and what would follow it.
  if (magnitude >= 65520.0f)
    return sign | 0x7C00;
  if (magnitude == 0) // has no exponent
    return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Smallest exponent of a normal number is -14; below, the grid stays 2^-24.
  int scale = 11 - (exponent < -13 ? -13 : exponent);
  // Both the scaling and, in the default mode, rint are exact and ties-to-even.
  auto units = uint32_t(std::nearbyint(std::ldexp(double(magnitude), scale)));
  uint32_t biased = exponent < -13 ? 0 : uint32_t(exponent + 13) << 10;
  return uint16_t(sign | (biased + units));
}

static float fromF16(uint16_t bits) {
  float sign = bits & 0x8000 ? -1.0f : 1.0f;
  int exponent = bits >> 10 & 31;
  float fraction = float(bits & 0x3FF);
  if (exponent == 31)
    return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0)
    return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0f + fraction, exponent - 25);
}

uint16_t fmha::reference::toBits(Element type, float value) {
  return type == Element::F16 ? toF16(value) : toBF16(value);
}

float fmha::reference::fromBits(Element type, uint16_t bits) {
  return type == Element::F16 ? fromF16(bits)
                              : std::bit_cast<float>(uint32_t(bits) << 16);
}

double fmha::reference::unitRoundoff(Element type) {
  constexpr double all[] = {0x1p-11, 0x1p-8, 0x1p-18};
  return all[size_t(type)];
}

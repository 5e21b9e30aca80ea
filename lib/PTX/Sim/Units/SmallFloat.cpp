//===- SmallFloat.cpp - Element formats of the tensor core ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ptxsim {
namespace {

/// How a format uses its largest codes.
enum class Special : uint8_t {
  Ieee,    ///< The largest exponent holds infinity and NaN.
  OnlyNan, ///< Only the all-ones code is NaN (e4m3).
  None,    ///< Every code is a number.
};

struct Format {
  const char *name;
  uint8_t container, exponentBits, mantissaBits;
  Special special;
};

constexpr std::array<Format, 15> formats = {{
    {"f16", 16, 5, 10, Special::Ieee},
    {"bf16", 16, 8, 7, Special::Ieee},
    {"tf32", 32, 8, 10, Special::Ieee},
    {"e4m3", 8, 4, 3, Special::OnlyNan},
    {"e5m2", 8, 5, 2, Special::Ieee},
    {"e2m3", 8, 2, 3, Special::None},
    {"e3m2", 8, 3, 2, Special::None},
    {"e2m1", 8, 2, 1, Special::None},
    {"s8", 8, 0, 0, Special::None},
    {"u8", 8, 0, 0, Special::None},
    {"f32", 32, 8, 23, Special::Ieee},
    {"s32", 32, 0, 0, Special::None},
    {"e2m1", 4, 2, 1, Special::None},
    {"ue8m0", 8, 8, 0, Special::None},
    {"ue4m3", 8, 4, 3, Special::OnlyNan},
}};

const Format &formatOf(ElementType type) { return formats[unsigned(type)]; }

float decodeFloat(const Format &f, uint32_t bits) {
  unsigned width = 1 + f.exponentBits + f.mantissaBits;
  uint32_t mantissa = bits & ((1u << f.mantissaBits) - 1);
  uint32_t top = (1u << f.exponentBits) - 1;
  uint32_t exponent = (bits >> f.mantissaBits) & top;
  float sign = (bits >> (width - 1)) & 1 ? -1.0f : 1.0f;
  int bias = int(top >> 1);
  bool allOnes = mantissa == (1u << f.mantissaBits) - 1;
  if (exponent == top && f.special == Special::Ieee)
    return mantissa ? std::numeric_limits<float>::quiet_NaN()
                    : sign * std::numeric_limits<float>::infinity();
  if (exponent == top && allOnes && f.special == Special::OnlyNan)
    return std::numeric_limits<float>::quiet_NaN();
  uint32_t significand = mantissa | (exponent ? 1u << f.mantissaBits : 0);
  int scale = int(exponent ? exponent : 1) - bias - f.mantissaBits;
  return sign * std::ldexp(float(significand), scale);
}

/// Encodes with `mantissaBits` and `exponentBits` as in IEEE 754, rounding to
/// nearest even.
uint16_t encodeHalf(double value, int mantissaBits, int exponentBits) {
  if (std::isnan(value))
    return 0x7fff;
  uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  if (magnitude == 0)
    return uint16_t(sign);
  if (std::isinf(magnitude))
    return uint16_t(sign | infinity);
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // A rounding that carries into the next exponent is still correct because the
  // fields are adjacent.
  double steps = std::ldexp(magnitude, mantissaBits - exponent);
  uint32_t rounded = uint32_t(std::nearbyint(steps));
  uint64_t bits = (uint64_t(exponent + bias - 1) << mantissaBits) + rounded;
  return uint16_t(sign | std::min<uint64_t>(bits, infinity));
}

} // namespace

const char *nameOf(ElementType type) { return formatOf(type).name; }

unsigned containerBits(ElementType type) { return formatOf(type).container; }

int minExponent(ElementType type) {
  // Every code of ue8m0 but NaN is a power of two, from 2^-127 on.
  if (type == ElementType::UE8M0)
    return -127;
  return 2 - (1 << (formatOf(type).exponentBits - 1));
}

float decodeElement(ElementType type, uint32_t bits) {
  switch (type) {
  case ElementType::F16:
    return decodeF16(bits);
  case ElementType::BF16:
    return decodeBF16(bits);
  case ElementType::TF32:
    return std::bit_cast<float>(bits & ~0x1fffu);
  case ElementType::F32:
    return std::bit_cast<float>(bits);
  case ElementType::S8:
    return float(int8_t(bits));
  case ElementType::U8:
    return float(uint8_t(bits));
  case ElementType::UE8M0:
    return (bits & 0xff) == 0xff ? std::numeric_limits<float>::quiet_NaN()
                                 : std::ldexp(1.0f, int(bits & 0xff) - 127);
  case ElementType::UE4M3:
    return decodeFloat(formatOf(type), bits & 0x7f);
  default:
    return decodeFloat(formatOf(type), bits);
  }
}

uint16_t encodeF16(double value) { return encodeHalf(value, 10, 5); }

uint16_t encodeBF16(double value) { return encodeHalf(value, 7, 8); }

} // namespace ptxsim

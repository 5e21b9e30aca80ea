//===- ElementType.cpp - Element types by name ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementType.h"

#include "fmha/PTX/Host/OptionText.h"
#include "fmha/PTX/Sim/Units/SmallFloat.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ptxsim::tool {
namespace {

using Kind = ElementType::Kind;

constexpr ElementType types[] = {
    {"u8", Kind::Unsigned, 1, "u1"},  {"u16", Kind::Unsigned, 2, "u2"},
    {"u32", Kind::Unsigned, 4, "u4"}, {"u64", Kind::Unsigned, 8, "u8"},
    {"i8", Kind::Signed, 1, "i1"},    {"i16", Kind::Signed, 2, "i2"},
    {"i32", Kind::Signed, 4, "i4"},   {"i64", Kind::Signed, 8, "i8"},
    {"s8", Kind::Signed, 1, "i1"},    {"s16", Kind::Signed, 2, "i2"},
    {"s32", Kind::Signed, 4, "i4"},   {"s64", Kind::Signed, 8, "i8"},
    {"b8", Kind::Bits, 1, "u1"},      {"b16", Kind::Bits, 2, "u2"},
    {"b32", Kind::Bits, 4, "u4"},     {"b64", Kind::Bits, 8, "u8"},
    {"f16", Kind::F16, 2, "f2"},      {"bf16", Kind::BF16, 2, "f4"},
    {"f32", Kind::F32, 4, "f4"},      {"f64", Kind::F64, 8, "f8"},
};

std::vector<uint8_t> bytesOf(uint64_t bits, unsigned count) {
  std::vector<uint8_t> bytes(count);
  for (unsigned i = 0; i < count; ++i)
    bytes[i] = uint8_t(bits >> (8 * i));
  return bytes;
}

[[noreturn]] void reject(const ElementType &type, std::string_view text,
                         const char *why) {
  throw BadInput("'" + std::string(text) + "' is no " + type.name + ": " + why);
}

uint64_t unsignedBits(const ElementType &type, std::string_view text) {
  auto value = parseUnsigned(text);
  if (!value)
    reject(type, text, "expected a decimal or 0x number");
  if (type.bytes < 8 && *value >> (8 * type.bytes))
    reject(type, text, "out of range");
  return *value;
}

uint64_t signedBits(const ElementType &type, std::string_view text) {
  bool negative = !text.empty() && text[0] == '-';
  auto magnitude = parseUnsigned(negative ? text.substr(1) : text);
  if (!magnitude)
    reject(type, text, "expected a decimal or 0x number");
  uint64_t limit = uint64_t(1) << (8 * type.bytes - 1);
  if (*magnitude > limit || (*magnitude == limit && !negative))
    reject(type, text, "out of range");
  return negative ? 0 - *magnitude : *magnitude;
}

double number(const ElementType &type, std::string_view text) {
  std::string copy(text);
  char *end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end || std::isspace(static_cast<unsigned char>(copy[0])))
    reject(type, text, "expected a number, inf or nan");
  return value;
}

/// Rounds to nearest even into a format with the given exponent and fraction
/// widths. The double has more than twice the bits, so the value is rounded
/// only once.
uint64_t narrow(double value, unsigned exponentBits, unsigned fractionBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  uint64_t sign = uint64_t(std::signbit(value))
                  << (exponentBits + fractionBits);
  uint64_t infinity = ((uint64_t(1) << exponentBits) - 1) << fractionBits;
  if (std::isnan(value))
    return infinity | uint64_t(1) << (fractionBits - 1);
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent = std::isinf(magnitude) ? bias + 1 : std::ilogb(magnitude);
  if (exponent > bias)
    return sign | infinity;
  exponent = std::max(exponent, 1 - bias);
  double scaled =
      std::nearbyint(std::ldexp(magnitude, int(fractionBits) - exponent));
  // The implicit bit carries into the exponent field, and rounding up past the
  // largest number gives infinity, as required.
  uint64_t bits =
      (uint64_t(exponent + bias - 1) << fractionBits) + uint64_t(scaled);
  return sign | std::min(bits, infinity);
}

uint64_t floatBits(const ElementType &type, std::string_view text) {
  double value = number(type, text);
  switch (type.kind) {
  case Kind::F16:
    return narrow(value, 5, 10);
  case Kind::BF16:
    return narrow(value, 8, 7);
  case Kind::F32:
    return std::bit_cast<uint32_t>(float(value));
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

std::string hexText(std::span<const uint8_t> bytes) {
  std::string text = "0x";
  for (size_t i = bytes.size(); i-- > 0;) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

std::string floatText(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

} // namespace

const ElementType *findNpyType(std::string_view dtype) {
  for (const ElementType &type : types)
    // Skip bf16, which is stored as another type.
    if (dtype == type.npy && type.kind != Kind::BF16)
      return &type;
  return nullptr;
}

const ElementType *findType(std::string_view name) {
  for (const ElementType &type : types)
    if (name == type.name)
      return &type;
  return nullptr;
}

std::string typeNames() {
  std::string names;
  for (const ElementType &type : types)
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

std::vector<uint8_t> parseValue(const ElementType &type,
                                std::string_view text) {
  switch (type.kind) {
  case Kind::Unsigned:
  case Kind::Bits:
    return bytesOf(unsignedBits(type, text), type.bytes);
  case Kind::Signed:
    return bytesOf(signedBits(type, text), type.bytes);
  default:
    return bytesOf(floatBits(type, text), type.bytes);
  }
}

std::string valueText(const ElementType *type, std::span<const uint8_t> bytes) {
  if (!type || bytes.size() != type->bytes)
    return hexText(bytes);
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    bits |= uint64_t(bytes[i]) << (8 * i);
  unsigned unused = 64 - 8 * type->bytes;
  switch (type->kind) {
  case Kind::Unsigned:
    return std::to_string(bits);
  case Kind::Signed:
    return std::to_string(int64_t(bits << unused) >> unused);
  case Kind::Bits:
    return hexText(bytes);
  case Kind::F16:
    return floatText(decodeF16(uint32_t(bits)), 5);
  case Kind::BF16:
    return floatText(decodeBF16(uint32_t(bits)), 4);
  case Kind::F32:
    return floatText(std::bit_cast<float>(uint32_t(bits)), 9);
  case Kind::F64:
    return floatText(std::bit_cast<double>(bits), 17);
  }
  return hexText(bytes);
}

std::vector<uint8_t> widenBf16(const std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> wide(bytes.size() * 2);
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    wide[2 * i + 2] = bytes[i];
    wide[2 * i + 3] = bytes[i + 1];
  }
  return wide;
}

} // namespace ptxsim::tool

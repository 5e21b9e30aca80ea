//===- ElementTypeTest.cpp - Values of --arg ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementType.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

using namespace ptxsim::tool;

namespace {

std::string exact(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

uint64_t bitsOf(const char *type, const std::string &text) {
  std::vector<uint8_t> bytes = parseValue(*findType(type), text);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  return bits;
}

/// The value of a 16-bit float, from its definition.
double decode(uint16_t bits, int exponentBits) {
  int fractionBits = 15 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits & 0x7FFF) >> fractionBits;
  int fraction = bits & ((1 << fractionBits) - 1);
  int implicit = exponent ? 1 << fractionBits : 0;
  double magnitude = std::ldexp(double(fraction + implicit),
                                std::max(exponent, 1) - bias - fractionBits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Every value between two neighbors must go to the nearer one, and a tie to
/// the even one. The neighbors come from the definition, not from the encoder.
void checkRounding(const char *type, int exponentBits, uint16_t largest) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<unsigned> pick(0, largest - 1u);
  for (int i = 0; i < 20000; ++i) {
    uint16_t low = uint16_t(pick(random)), high = uint16_t(low + 1);
    double a = decode(low, exponentBits), b = decode(high, exponentBits);
    double middle = (a + b) / 2;
    uint16_t even = low & 1 ? high : low;
    ASSERT_EQ(bitsOf(type, exact(a)), low);
    ASSERT_EQ(bitsOf(type, exact(middle)), even) << exact(middle);
    ASSERT_EQ(bitsOf(type, exact(std::nextafter(middle, a))), low);
    ASSERT_EQ(bitsOf(type, exact(std::nextafter(middle, b))), high);
    ASSERT_EQ(bitsOf(type, exact(-std::nextafter(middle, b))), high | 0x8000);
  }
}

TEST(ElementType, HalfRoundsToNearestEven) { checkRounding("f16", 5, 0x7BFF); }
TEST(ElementType, Bf16RoundsToNearestEven) { checkRounding("bf16", 8, 0x7F7F); }

TEST(ElementType, OverflowIsInfinityFromHalfAnUlpOn) {
  EXPECT_EQ(bitsOf("f16", "65519.99"), 0x7BFFu);
  EXPECT_EQ(bitsOf("f16", "65520"), 0x7C00u);
  EXPECT_EQ(bitsOf("bf16", "-1e39"), 0xFF80u);
  EXPECT_EQ(bitsOf("f16", "inf"), 0x7C00u);
  EXPECT_GT(bitsOf("bf16", "nan") & 0x7FFF, 0x7F80u);
  EXPECT_EQ(bitsOf("f16", "-0"), 0x8000u);
  EXPECT_EQ(bitsOf("f16", "1e-30"), 0u);
}

TEST(ElementType, WideFloatsAreTheLanguages) {
  EXPECT_EQ(bitsOf("f32", "0.1"), std::bit_cast<uint32_t>(0.1f));
  EXPECT_EQ(bitsOf("f64", "-1e300"), std::bit_cast<uint64_t>(-1e300));
}

TEST(ElementType, IntegersReachBothEnds) {
  EXPECT_EQ(bitsOf("u8", "255"), 255u);
  EXPECT_EQ(bitsOf("i8", "-128"), 0x80u);
  EXPECT_EQ(bitsOf("s16", "-1"), 0xFFFFu);
  EXPECT_EQ(bitsOf("u64", "18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(bitsOf("i64", "-9223372036854775808"), uint64_t(1) << 63);
  EXPECT_EQ(bitsOf("b32", "0xDEADbeef"), 0xDEADBEEFu);
  for (auto [type, text] :
       {std::pair("u8", "256"), std::pair("i8", "128"), std::pair("i8", "-129"),
        std::pair("u64", "18446744073709551616"), std::pair("u32", "1 "),
        std::pair("u32", "1.5"), std::pair("u32", "0x"), std::pair("i32", "-"),
        std::pair("f32", ""), std::pair("f32", " 1"), std::pair("f32", "1x")})
    EXPECT_THROW(bitsOf(type, text), BadInput) << type << ":" << text;
}

/// What a value is printed as is read back as the same bits.
TEST(ElementType, ValueTextReadsBack) {
  for (auto [name, text] :
       {std::pair("u8", "255"), std::pair("i8", "-128"), std::pair("s64", "-1"),
        std::pair("u64", "18446744073709551615"),
        std::pair("b32", "0xdeadbeef"), std::pair("f16", "0.099976"),
        std::pair("bf16", "-45.25"), std::pair("f32", "0.100000001"),
        std::pair("f64", "0.10000000000000001"), std::pair("f16", "-inf")}) {
    const ElementType &type = *findType(name);
    std::vector<uint8_t> bytes = parseValue(type, text);
    EXPECT_EQ(valueText(&type, bytes), text) << name;
    EXPECT_EQ(parseValue(type, valueText(&type, bytes)), bytes) << name;
  }
  const uint8_t odd[] = {1, 2, 0xab};
  EXPECT_EQ(valueText(nullptr, odd), "0xab0201");
  EXPECT_EQ(valueText(findType("f32"), odd), "0xab0201");
  EXPECT_STREQ(findNpyType("f4")->name, "f32");
  EXPECT_EQ(findNpyType("V3"), nullptr);
}

TEST(ElementType, WideningKeepsBf16Values) {
  std::vector<uint8_t> wide = widenBf16({0x80, 0x3F, 0x34, 0xC2});
  float values[2];
  ASSERT_EQ(wide.size(), sizeof values);
  std::memcpy(values, wide.data(), sizeof values);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -45.0f);
}

} // namespace

//===- RoundingTest.cpp - Roundings against exact arithmetic ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Rounding.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace fmha::reference;

static constexpr Element types[] = {Element::F16, Element::BF16};

static bool isNan(Element type, unsigned bits) {
  unsigned fraction = type == Element::F16 ? 0x3FF : 0x7F;
  return (bits & 0x7FFF) > (0x7FFFu & ~fraction);
}

/// The value of a bit pattern by the definition of the format.
static double valueOf(Element type, unsigned bits) {
  int fractionBits = type == Element::F16 ? 10 : 7;
  int bias = type == Element::F16 ? 15 : 127;
  int top = type == Element::F16 ? 31 : 255;
  int exponent = int(bits >> fractionBits) & top;
  int fraction = int(bits & ((1u << fractionBits) - 1));
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == top)
    return sign * INFINITY;
  double significand = fraction + (exponent ? std::ldexp(1, fractionBits) : 0);
  int power = (exponent ? exponent : 1) - bias - fractionBits;
  return sign * std::ldexp(significand, power);
}

TEST(Rounding, EveryPatternComesBack) {
  for (Element type : types)
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      float value = fromBits(type, uint16_t(bits));
      if (isNan(type, bits)) {
        EXPECT_TRUE(std::isnan(value));
        EXPECT_TRUE(isNan(type, toBits(type, value)));
        continue;
      }
      EXPECT_EQ(value, valueOf(type, bits)) << bits;
      EXPECT_EQ(toBits(type, value), bits);
    }
}

/// The neighbors of `value` are the pattern and the one before or after it;
/// the result must be the nearer, or the even one.
static void expectNearest(Element type, float value) {
  unsigned got = toBits(type, value);
  double exact = value, rounded = valueOf(type, got);
  if (std::isinf(rounded)) {
    // Half way between the largest number and the next power of two.
    double most = valueOf(type, got - 1), below = valueOf(type, got - 2);
    EXPECT_GE(std::fabs(exact), std::fabs(most + (most - below) / 2));
    return;
  }
  double error = std::fabs(rounded - exact);
  for (unsigned other : {got - 1, got + 1}) {
    if ((other ^ got) & 0x8000 || isNan(type, other))
      continue;
    double distance = std::fabs(valueOf(type, other) - exact);
    EXPECT_TRUE(error < distance || (error == distance && got % 2 == 0))
        << std::hexfloat << value << " became " << rounded;
  }
}

TEST(Rounding, TakesTheNearestAndEvenAtTies) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (Element type : types) {
    for (unsigned i = 0; i < 200000; ++i) {
      float value = std::bit_cast<float>(uint32_t(random()));
      if (std::isfinite(value))
        expectNearest(type, value);
      // Most random floats are out of f16's range.
      expectNearest(type,
                    std::ldexp(float(random()) - 0x1p31f, -int(random() % 60)));
    }
    // Exact ties between all neighbors.
    for (unsigned bits = 0; bits < 0x7F00; ++bits)
      if (!isNan(type, bits + 1) && !std::isinf(valueOf(type, bits + 1)))
        expectNearest(
            type, float((valueOf(type, bits) + valueOf(type, bits + 1)) / 2));
  }
}

TEST(Rounding, Limits) {
  EXPECT_EQ(toBits(Element::F16, 65519.99f), 0x7BFF);
  EXPECT_EQ(toBits(Element::F16, 65520.0f), 0x7C00);
  EXPECT_EQ(toBits(Element::F16, -1e30f), 0xFC00);
  EXPECT_EQ(toBits(Element::F16, 0x1p-25f), 0); // tie with 0
  EXPECT_EQ(toBits(Element::F16, 0x1.8p-25f), 1);
  EXPECT_EQ(toBits(Element::BF16, 3.4e38f), 0x7F80);
  EXPECT_EQ(toBits(Element::BF16, -0.0f), 0x8000);
  EXPECT_EQ(toBits(Element::F16, -0.0f), 0x8000);
}

TEST(Rounding, UnitRoundoffBoundsTheError) {
  for (Element type : types) {
    double worst = 0;
    for (unsigned i = 0; i < 100000; ++i) {
      float value = 1.0f + float(i) / 100000;
      worst = std::max(worst,
                       std::fabs(double(roundTo(type, value)) - value) / value);
    }
    EXPECT_LE(worst, unitRoundoff(type));
    EXPECT_GT(worst, 0.9 * unitRoundoff(type));
  }
}

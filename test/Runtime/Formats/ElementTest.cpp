//===- ElementTest.cpp - Rounding to types of 8 bits ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Element.h"

#include <cmath>
#include <gtest/gtest.h>
#include <iostream>
#include <limits>
#include <random>

using namespace fmha::runtime;

namespace {

constexpr uint8_t nan8 = 0x7f;

/// The definition: (-1)^s 2^(e-7) (1 + m/8), or 2^-6 m/8 where e is 0.
float valueOf(int code) {
  int e = code >> 3 & 15, m = code & 7;
  double magnitude =
      e ? std::pow(2.0, e - 7) * (1 + m / 8.0) : std::pow(2.0, -6) * m / 8.0;
  return float(code & 0x80 ? -magnitude : magnitude);
}

TEST(Element, EachNumberOfE4M3IsItself) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == nan8) {
      EXPECT_TRUE(std::isnan(fromE4M3(uint8_t(code)))) << code;
      continue;
    }
    EXPECT_EQ(fromE4M3(uint8_t(code)), valueOf(code)) << code;
    EXPECT_EQ(toE4M3(valueOf(code)), code);
  }
}

/// Between two neighbors: below the middle to the lower, at the middle to the
/// even code.
TEST(Element, E4M3RoundsToTheNearestAndTiesToEven) {
  for (int code = 0; code < 0x7e; ++code) {
    float low = valueOf(code), high = valueOf(code + 1);
    float middle = (low + high) / 2;
    EXPECT_EQ(toE4M3(middle), code + code % 2) << middle;
    EXPECT_EQ(toE4M3(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(toE4M3(std::nextafter(middle, high)), code + 1);
    EXPECT_EQ(toE4M3(-middle), 0x80 | (code + code % 2));
  }
}

TEST(Element, E4M3HasNoInfinity) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(toE4M3(infinity), 0x7e);
  EXPECT_EQ(toE4M3(-infinity), 0xfe);
  EXPECT_EQ(toE4M3(1e30f), 0x7e);
  EXPECT_EQ(toE4M3(std::numeric_limits<float>::quiet_NaN()), nan8);
  EXPECT_EQ(toE4M3(1e-30f), 0);
  EXPECT_EQ(toE4M3(-1e-30f), 0x80);
}

TEST(Element, E4M3IsStoredInOneByte) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  EXPECT_EQ(sizeOf(ElementType::E4M3), 1u);
  EXPECT_EQ(stringify(ElementType::E4M3), "e4m3");
  for (int n = 0; n < 100; ++n) {
    uint8_t bytes[3] = {11, 22, 33};
    float value = float(int(random() % 2000) - 1000) / 7;
    storeElement(ElementType::E4M3, &bytes[1], value);
    EXPECT_EQ(bytes[0], 11);
    EXPECT_EQ(bytes[2], 33);
    EXPECT_EQ(loadElement(ElementType::E4M3, &bytes[1]),
              fromE4M3(toE4M3(value)));
  }
}

} // namespace

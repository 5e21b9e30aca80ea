//===- RoundingTest.cpp - Rounding against exact arithmetic ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are drawn so that the exact result fits __float128 (113 bits). A
// result is right if the exact value lies where the rounding direction puts it
// between the result and its neighbors; that needs no second rounding routine.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Scalar/Scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>

using namespace ptxsim::scalar;

namespace {

using Exact = __float128;

Exact magnitude(Exact x) { return x < 0 ? -x : x; }

/// Is `r` the rounding of `exact` in direction `mode`, given r's neighbors and
/// whether its last bit is even?
bool isRounded(Exact exact, Exact r, Exact below, Exact above, bool even,
               const std::string &mode) {
  if (mode == "rm")
    return r <= exact && exact < above;
  if (mode == "rp")
    return below < exact && exact <= r;
  if (mode == "rz")
    return exact >= 0 ? r <= exact && exact < above
                      : below < exact && exact <= r;
  Exact down = (r + below) / 2, up = (r + above) / 2;
  return even ? down <= exact && exact <= up : down < exact && exact < up;
}

template <typename V>
bool isRounded(Exact exact, V r, const std::string &mode) {
  constexpr V infinity = std::numeric_limits<V>::infinity();
  using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;
  return isRounded(exact, r, std::nextafter(r, -infinity),
                   std::nextafter(r, infinity), !(std::bit_cast<Bits>(r) & 1),
                   mode);
}

template <typename V> uint64_t slotOf(V v) {
  if constexpr (sizeof(V) == 4)
    return std::bit_cast<uint32_t>(v);
  else
    return std::bit_cast<uint64_t>(v);
}
template <typename V> V valueOf(uint64_t slot) {
  if constexpr (sizeof(V) == 4)
    return std::bit_cast<float>(static_cast<uint32_t>(slot));
  else
    return std::bit_cast<double>(slot);
}

class Rounded : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    generator.seed(seed);
  }

  /// A value with a random mantissa and an exponent in [low, high].
  template <typename V> V draw(int low, int high) {
    double mantissa = 1.0 + (generator() >> 12) * 0x1p-52;
    // Short mantissas make ties and exact results.
    if (generator() % 4 == 0)
      mantissa = 1.0 + static_cast<double>(generator() % 8) / 8;
    int exponent = low + static_cast<int>(generator() % (high - low + 1));
    V value = static_cast<V>(std::ldexp(mantissa, exponent));
    return generator() & 1 ? -value : value;
  }

  Row run(const std::string &opcode, const std::array<Row, 3> &operands) {
    const Form *form = find(opcode);
    EXPECT_TRUE(form) << opcode;
    Row result{};
    if (!form)
      return result;
    Row *dst[] = {&result, nullptr};
    const Row *src[] = {&operands[0], &operands[1], &operands[2],
                        nullptr,      nullptr,      nullptr};
    form->function(Context(), ~LaneMask(0), dst, src);
    return result;
  }

  template <typename V, typename Reference>
  void check(const std::string &op, const std::string &type, int low, int high,
             Reference reference) {
    std::string mode = GetParam(), opcode = op + "." + mode + "." + type;
    for (unsigned round = 0; round < 400; ++round) {
      std::array<Row, 3> operands;
      for (Row &row : operands)
        for (uint64_t &slot : row)
          slot = slotOf(draw<V>(low, high));
      Row result = run(opcode, operands);
      for (unsigned lane = 0; lane < 32; ++lane) {
        V a = valueOf<V>(operands[0][lane]), b = valueOf<V>(operands[1][lane]),
          c = valueOf<V>(operands[2][lane]), r = valueOf<V>(result[lane]);
        ASSERT_TRUE(reference(a, b, c, r, mode))
            << opcode << " " << std::hexfloat << a << " " << b << " " << c
            << " gave " << r << " seed " << seed;
      }
    }
  }

  uint64_t seed = 0;
  std::mt19937_64 generator;
};

template <typename V> bool sum(V a, V b, V, V r, const std::string &mode) {
  return isRounded(Exact(a) + b, r, mode);
}
template <typename V> bool product(V a, V b, V, V r, const std::string &mode) {
  return isRounded(Exact(a) * b, r, mode);
}
bool fused(float a, float b, float c, float r, const std::string &mode) {
  return isRounded(Exact(a) * b + c, r, mode);
}

TEST_P(Rounded, SinglePrecision) {
  check<float>("add", "f32", -40, 40, sum<float>);
  check<float>("sub", "f32", -40, 40,
               [](float a, float b, float, float r, const std::string &mode) {
                 return isRounded(Exact(a) - b, r, mode);
               });
  check<float>("mul", "f32", -40, 40, product<float>);
  check<float>("fma", "f32", -15, 15, fused);
  // Products and sums near the subnormal range.
  check<float>("mul", "f32", -75, -62, product<float>);
  check<float>("fma", "f32", -72, -60, fused);
}

TEST_P(Rounded, DoublePrecision) {
  check<double>("add", "f64", -25, 25, sum<double>);
  check<double>("mul", "f64", -40, 40, product<double>);
}

TEST_P(Rounded, PairsAreTwoSingles) {
  std::string mode = GetParam();
  for (const char *op : {"add", "sub", "mul", "fma"}) {
    std::array<Row, 3> pairs, low, high;
    for (unsigned i = 0; i < 3; ++i)
      for (unsigned lane = 0; lane < 32; ++lane) {
        low[i][lane] = slotOf(draw<float>(-126, 126));
        high[i][lane] = slotOf(draw<float>(-126, 126));
        pairs[i][lane] = low[i][lane] | high[i][lane] << 32;
      }
    for (const char *ftz : {"", "ftz."}) {
      std::string opcode = std::string(op) + "." + mode + "." + ftz + "f32";
      Row both = run(opcode + "x2", pairs);
      Row first = run(opcode, low), second = run(opcode, high);
      for (unsigned lane = 0; lane < 32; ++lane)
        ASSERT_EQ(both[lane], first[lane] | second[lane] << 32)
            << opcode << "x2 seed " << seed;
    }
  }
}

/// Quotients and roots are compared by multiplying back, which is exact: the
/// bounds between which the exact value lies, times the divisor or squared, lie
/// around the dividend or the radicand.
TEST_P(Rounded, QuotientsAndRoots) {
  std::string mode = GetParam();
  auto between = [&](Exact exact, float r, Exact divisor, bool square) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    Exact down = std::nextafter(r, -inf), up = std::nextafter(r, inf);
    bool upper = mode == "rp" || (mode == "rz" && r < 0);
    Exact low = upper ? down : Exact(r), high = upper ? Exact(r) : up;
    if (mode == "rn") {
      low = (Exact(r) + down) / 2;
      high = (Exact(r) + up) / 2;
    }
    Exact first = square ? low * low : low * divisor;
    Exact second = square ? high * high : high * divisor;
    return (first <= exact && exact <= second) ||
           (second <= exact && exact <= first);
  };
  check<float>("div", "f32", -40, 40,
               [&](float a, float b, float, float r, const std::string &) {
                 return between(a, r, b, false);
               });
  check<float>("rcp", "f32", -100, 100,
               [&](float a, float, float, float r, const std::string &) {
                 return between(1, r, a, false);
               });
  check<float>("sqrt", "f32", -100, 100,
               [&](float a, float, float, float r, const std::string &) {
                 return a < 0 ? r != r : between(a, r, 0, true);
               });
}

/// .ftz: what is tiny before rounding is the zero of its sign.
TEST_P(Rounded, FlushesWhatIsTinyBeforeRounding) {
  check<float>("fma", "ftz.f32", -66, -60,
               [](float a, float b, float c, float r, const std::string &mode) {
                 Exact exact = Exact(a) * b + c;
                 if (magnitude(exact) >= Exact(0x1p-126f))
                   return isRounded(exact, r, mode);
                 return r == 0 &&
                        (exact == 0 || std::signbit(r) == (exact < 0));
               });
  check<float>("mul", "ftz.f32", -66, -60,
               [](float a, float b, float, float r, const std::string &mode) {
                 Exact exact = Exact(a) * b;
                 if (magnitude(exact) >= Exact(0x1p-126f))
                   return isRounded(exact, r, mode);
                 return r == 0 && std::signbit(r) == (exact < 0);
               });
}

INSTANTIATE_TEST_SUITE_P(Modes, Rounded,
                         testing::Values("rn", "rz", "rm", "rp"));

/// An independent reading of a 16-bit float.
double decode16(unsigned bits, unsigned mantissaBits) {
  unsigned exponentBits = 15 - mantissaBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = static_cast<int>((bits & 0x7FFF) >> mantissaBits);
  double fraction = bits & ((1u << mantissaBits) - 1);
  int scale = -bias - static_cast<int>(mantissaBits);
  double value =
      exponent ? std::ldexp(fraction + (1 << mantissaBits), exponent + scale)
               : std::ldexp(fraction, 1 + scale);
  return bits & 0x8000 ? -value : value;
}

class Rounded16 : public Rounded {};

TEST_P(Rounded16, FusedRoundsOnce) {
  std::string type = GetParam();
  unsigned mantissaBits = type == "f16" ? 10 : 7;
  unsigned infinity = type == "f16" ? 0x7C00 : 0x7F80;
  auto drawBits = [&] {
    // bf16 exponents near 1, so that the exact result fits the reference.
    unsigned low = type == "f16" ? 0 : 0x3880;
    unsigned span = type == "f16" ? infinity : 0x0E00;
    return (low + generator() % span) | (generator() & 0x8000);
  };
  for (unsigned round = 0; round < 2000; ++round) {
    std::array<Row, 3> operands;
    for (Row &row : operands)
      for (uint64_t &slot : row)
        slot = drawBits();
    Row result = run("fma.rn." + type, operands);
    for (unsigned lane = 0; lane < 32; ++lane) {
      auto value = [&](uint64_t bits) {
        return Exact(decode16(bits, mantissaBits));
      };
      Exact exact = value(operands[0][lane]) * value(operands[1][lane]) +
                    value(operands[2][lane]);
      unsigned code = result[lane] & 0x7FFF;
      Exact size = magnitude(exact);
      // The code above the largest finite decodes to the overflow threshold's
      // partner, so infinity needs no case of its own below it.
      Exact at = value(code), above = value(code + 1);
      Exact below = code ? value(code - 1) : -above;
      bool right = code == infinity
                       ? size >= (at + below) / 2
                       : isRounded(size, at, below, above, !(code & 1), "rn");
      ASSERT_TRUE(right) << type << " lane " << lane << " result " << std::hex
                         << result[lane] << " seed " << std::dec << seed;
      if (exact != 0)
        ASSERT_EQ(result[lane] >> 15, exact < 0 ? 1u : 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Rounded16, testing::Values("f16", "bf16"));

} // namespace

//===- ApproximateTest.cpp - The three modes of approximate functions -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Scalar/Scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iostream>
#include <random>
#include <string>

using namespace ptxsim::scalar;
using ptxsim::ApproxMode;

namespace {

float asFloat(uint64_t slot) {
  return std::bit_cast<float>(static_cast<uint32_t>(slot));
}

/// The manual's bounds count units of the last place, or are absolute, or
/// relative.
enum class Kind { Ulp, Absolute, Relative };

/// A function, its reference in long double, the range to draw from, and the
/// manual's bound there.
struct Case {
  const char *opcode;
  long double (*reference)(long double);
  float low, high;
  Kind kind;
  double bound;

  double boundAt(long double exact) const {
    float size = std::fabs(static_cast<float>(exact));
    if (kind == Kind::Ulp)
      return bound * (std::nextafter(size, INFINITY) - size);
    return kind == Kind::Relative ? bound * size : bound;
  }
};

long double rcp(long double x) { return 1 / x; }
long double rsqrt(long double x) { return 1 / std::sqrt(x); }
long double exp2Of(long double x) { return std::exp2(x); }
long double lg2Of(long double x) { return std::log2(x); }
long double sqrtOf(long double x) { return std::sqrt(x); }
long double sinOf(long double x) { return std::sin(x); }
long double cosOf(long double x) { return std::cos(x); }
long double tanhOf(long double x) { return std::tanh(x); }

// 2^-22.9 and 2^-20.5.
constexpr double rsqrtBound = 0x1.125fbep-23, turnBound = 0x1.6a09e6p-21;

const Case cases[] = {
    {"ex2.approx.ftz.f32", exp2Of, -120, 120, Kind::Ulp, 2},
    {"ex2.approx.f32", exp2Of, -1, 1, Kind::Ulp, 2},
    {"ex2.approx.f32", exp2Of, -148, -126, Kind::Ulp, 2},
    {"lg2.approx.f32", lg2Of, 0.5001f, 1.9999f, Kind::Absolute, 0x1p-22},
    {"lg2.approx.ftz.f32", lg2Of, 2, 1e30f, Kind::Relative, 0x1p-22},
    {"lg2.approx.ftz.f32", lg2Of, 1e-3f, 0.5f, Kind::Relative, 0x1p-22},
    {"rcp.approx.ftz.f32", rcp, -1e6f, 1e6f, Kind::Ulp, 1},
    {"rsqrt.approx.ftz.f32", rsqrt, 1e-6f, 1e6f, Kind::Relative, rsqrtBound},
    {"sqrt.approx.ftz.f32", sqrtOf, 1e-6f, 1e6f, Kind::Relative, 0x1p-23},
    {"sin.approx.ftz.f32", sinOf, -3.14f, 3.14f, Kind::Absolute, turnBound},
    {"cos.approx.ftz.f32", cosOf, -3.14f, 3.14f, Kind::Absolute, turnBound},
    {"tanh.approx.f32", tanhOf, -4, 4, Kind::Relative, 0x1p-11},
};

Row apply(const char *opcode, const Row &input, ApproxMode mode,
          uint64_t seed = 0) {
  Context context;
  context.approx = mode;
  context.perturbSeed = seed;
  Row result{};
  Row *dst[] = {&result, nullptr};
  const Row *src[] = {&input};
  find(opcode)->function(context, ~LaneMask(0), dst, src);
  return result;
}

class Approximate : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    generator.seed(seed);
  }
  /// Returns values other than zero. At zero a result can be infinite, and its
  /// difference from the exact one is NaN; PerturbKeepsWhatIsExact covers zero.
  Row draw() {
    std::uniform_real_distribution<float> values(GetParam().low,
                                                 GetParam().high);
    Row row;
    for (uint64_t &slot : row) {
      float value = 0;
      while (value == 0)
        value = values(generator);
      slot = std::bit_cast<uint32_t>(value);
    }
    return row;
  }
  Row run(const Row &input, ApproxMode mode, uint64_t perturbSeed = 0) {
    return apply(GetParam().opcode, input, mode, perturbSeed);
  }
  uint64_t seed = 0;
  std::mt19937_64 generator;
};

/// The double below a result is good to 2^-50; a reference closer than that to
/// a halfway point may round either way.
TEST_P(Approximate, CorrectIsTheRoundedReference) {
  for (unsigned round = 0; round < 500; ++round) {
    Row input = draw(), result = run(input, ApproxMode::Correct);
    for (unsigned lane = 0; lane < 32; ++lane) {
      long double exact = GetParam().reference(asFloat(input[lane]));
      float got = asFloat(result[lane]);
      ASSERT_TRUE(got == static_cast<float>(exact * (1 - 0x1p-50L)) ||
                  got == static_cast<float>(exact * (1 + 0x1p-50L)))
          << GetParam().opcode << "(" << asFloat(input[lane]) << ") = " << got
          << " seed " << seed;
    }
  }
}

TEST_P(Approximate, PerturbStaysInsideTheBoundAndMoves) {
  size_t moved = 0, lanes = 0;
  for (unsigned round = 0; round < 500; ++round) {
    Row input = draw(), result = run(input, ApproxMode::Perturb, seed);
    Row correct = run(input, ApproxMode::Correct);
    for (unsigned lane = 0; lane < 32; ++lane, ++lanes) {
      long double exact = GetParam().reference(asFloat(input[lane]));
      float got = asFloat(result[lane]);
      ASSERT_LE(std::fabs(static_cast<double>(got - exact)),
                GetParam().boundAt(exact))
          << GetParam().opcode << "(" << asFloat(input[lane]) << ") seed "
          << seed;
      moved += result[lane] != correct[lane];
    }
  }
  EXPECT_GT(moved, lanes / 10);
}

/// One operand gives one result, in whichever lane and however often.
TEST_P(Approximate, PerturbIsAFunctionOfTheOperand) {
  Row input = draw(), turned;
  for (unsigned lane = 0; lane < 32; ++lane)
    turned[lane] = input[(lane + 5) % 32];
  Row result = run(input, ApproxMode::Perturb, seed);
  Row again = run(turned, ApproxMode::Perturb, seed);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(again[lane], result[(lane + 5) % 32]) << "seed " << seed;
  EXPECT_NE(result, run(input, ApproxMode::Perturb, seed + 1));
}

/// The unit's own errors are inside the bounds, too. ex2 needs the manual's
/// letter: 2 ulp count from the correctly rounded result; it is up to 2.06 away
/// from the exact one.
TEST_P(Approximate, Sm90StaysInsideTheBound) {
  for (unsigned round = 0; round < 500; ++round) {
    Row input = draw(), result = run(input, ApproxMode::Sm90);
    for (unsigned lane = 0; lane < 32; ++lane) {
      long double exact = GetParam().reference(asFloat(input[lane]));
      if (GetParam().kind == Kind::Ulp)
        exact = static_cast<float>(exact);
      ASSERT_LE(std::fabs(static_cast<double>(asFloat(result[lane]) - exact)),
                GetParam().boundAt(exact))
          << GetParam().opcode << "(" << asFloat(input[lane]) << ") seed "
          << seed;
    }
  }
}

/// Sign, and whether zero, finite, infinite or NaN.
int classOf(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL
             ? 8 * std::signbit(x) + FP_NORMAL
             : 8 * std::signbit(x) + std::fpclassify(x);
}

/// Over all floats, and near the ends of ranges, no draw makes or takes away a
/// zero, an infinity, a NaN or a sign, and sin, cos and tanh stay within 1.
TEST_P(Approximate, PerturbKeepsWhatIsExact) {
  static const uint32_t edges[] = {
      0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1,
      0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x3F800000, 0x42FFFFFF,
      0xC2FC0000, 0xC2FBFFFF, 0xC2FC0001, 0xC3150000, 0x7E800000, 0x7E7FFFFF,
      0x7E800001, 0x41200000, 0xC1200000, 0x3FC90FDB};
  std::string name = GetParam().opcode;
  bool bounded = name[0] == 't' || name[0] == 'c' || name.find("sin") == 0;
  for (unsigned round = 0; round < 2000; ++round) {
    Row input;
    for (uint64_t &slot : input)
      slot = generator() % 4 ? generator() & 0xFFFFFFFF
                             : edges[generator() % std::size(edges)];
    Row correct = run(input, ApproxMode::Correct);
    Row result = run(input, ApproxMode::Perturb, seed);
    for (unsigned lane = 0; lane < 32; ++lane) {
      ASSERT_EQ(classOf(asFloat(result[lane])), classOf(asFloat(correct[lane])))
          << GetParam().opcode << "(" << std::hex << input[lane] << ") seed "
          << std::dec << seed;
      if (bounded && !std::isnan(asFloat(result[lane])))
        ASSERT_LE(std::fabs(asFloat(result[lane])), 1.0f) << seed;
      if (std::isinf(asFloat(input[lane])))
        ASSERT_EQ(result[lane], correct[lane]) << GetParam().opcode;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, Approximate, testing::ValuesIn(cases));

/// The 16-bit forms, their widening, reference and bound; `tiny` is the
/// smallest step of the format, which bounds the error where results are
/// subnormal.
struct HalfCase {
  const char *opcode;
  bool brain;
  long double (*reference)(long double);
  Kind kind;
  double bound, tiny;
};

const HalfCase halfCases[] = {
    {"ex2.approx.f16", false, exp2Of, Kind::Relative, 0x1.125fbep-10, 0x1p-24},
    {"ex2.approx.ftz.bf16", true, exp2Of, Kind::Relative, 0x1p-7, 0x1p-126},
    {"tanh.approx.f16", false, tanhOf, Kind::Absolute, 0x1.02513p-11, 0},
    {"tanh.approx.bf16", true, tanhOf, Kind::Absolute, 0x1p-8, 0},
};

float widen(bool brain, uint16_t bits) {
  if (brain)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  float magnitude = std::bit_cast<float>(uint32_t(bits & 0x7FFF) << 13);
  magnitude *= 0x1p112f;
  if ((bits & 0x7C00) == 0x7C00)
    magnitude = bits & 0x3FF ? NAN : INFINITY;
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Every input in every mode; what exceeds the format is infinite.
TEST(ApproximateHalves, StayInsideTheBound) {
  uint64_t state = std::random_device()();
  std::cout << "seed " << state << "\n";
  for (const HalfCase &c : halfCases)
    for (auto mode :
         {ApproxMode::Correct, ApproxMode::Perturb, ApproxMode::Sm90})
      for (uint32_t base = 0; base < 0x10000; base += 32) {
        Row input;
        for (uint32_t lane = 0; lane < 32; ++lane)
          input[lane] = base + lane;
        Row result = apply(c.opcode, input, mode, state);
        for (uint32_t lane = 0; lane < 32; ++lane) {
          float x = widen(c.brain, uint16_t(base + lane));
          float got = widen(c.brain, uint16_t(result[lane]));
          long double exact = c.reference(x);
          if (!(std::fabs(exact) < (c.brain ? 0x1.ffp127L : 0x1p16L))) {
            ASSERT_TRUE(got == exact || std::isinf(got) || std::isnan(exact));
            continue;
          }
          double size = c.kind == Kind::Relative ? std::fabs(exact) : 1;
          ASSERT_LE(std::fabs(double(got - exact)),
                    std::max(c.bound * size, c.tiny))
              << c.opcode << "(" << x << ") = " << got;
        }
      }
}

TEST(ApproximateSpecials, AreTheSameInEveryMode) {
  const std::tuple<const char *, uint32_t, uint32_t> table[] = {
      {"ex2.approx.ftz.f32", 0x80000000, 0x3F800000},
      {"ex2.approx.ftz.f32", 0xFF800000, 0},
      {"ex2.approx.ftz.f32", 0x7F800000, 0x7F800000},
      {"ex2.approx.ftz.f32", 0xFFC00000, 0x7FFFFFFF},
      {"ex2.approx.ftz.f32", 0xC2FE0000, 0}, // 2^-127 is flushed
      {"lg2.approx.ftz.f32", 0x80000001, 0xFF800000},
      {"lg2.approx.f32", 0x3F800000, 0},
      {"lg2.approx.f32", 0xBF800000, 0x7FFFFFFF},
      {"rcp.approx.ftz.f32", 0x80000001, 0xFF800000},
      {"rcp.approx.ftz.f32", 0xFF800000, 0x80000000},
      {"rsqrt.approx.ftz.f32", 0x80000000, 0xFF800000},
      {"rsqrt.approx.ftz.f32", 0xBF800000, 0x7FFFFFFF},
      {"sqrt.approx.f32", 0x80000000, 0x80000000},
      {"sqrt.approx.ftz.f32", 0x7F800000, 0x7F800000},
      {"tanh.approx.f32", 0x7F800000, 0x3F800000},
      {"tanh.approx.f32", 0xFF800000, 0xBF800000},
      {"cos.approx.f32", 0x80000001, 0x3F800000},
      {"ex2.approx.f32", 0x00000001, 0x3F800000},
  };
  for (auto mode : {ApproxMode::Correct, ApproxMode::Perturb, ApproxMode::Sm90})
    for (auto [opcode, input, expected] : table) {
      // lg2(1) is no special of the manual, so Perturb may move it.
      if (mode == ApproxMode::Perturb && input == 0x3F800000)
        continue;
      Row row{}, result{};
      row.fill(input);
      Context context;
      context.approx = mode;
      context.perturbSeed = 7;
      Row *dst[] = {&result, nullptr};
      const Row *src[] = {&row};
      find(opcode)->function(context, 1, dst, src);
      EXPECT_EQ(result[0], expected) << opcode << " " << std::hex << input;
    }
}

} // namespace

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

using namespace ptxsim::scalar;
using ptxsim::ApproxMode;

namespace {

float asFloat(uint64_t slot) {
  return std::bit_cast<float>(static_cast<uint32_t>(slot));
}

/// A function, its reference in long double, the range to draw from, and the
/// manual's bound: in ulp of the result where positive, else -absolute error.
struct Case {
  const char *opcode;
  long double (*reference)(long double);
  float low, high;
  double bound;
};

long double rcp(long double x) { return 1 / x; }
long double rsqrt(long double x) { return 1 / std::sqrt(x); }
long double exp2Of(long double x) { return std::exp2(x); }
long double lg2Of(long double x) { return std::log2(x); }
long double sqrtOf(long double x) { return std::sqrt(x); }
long double sinOf(long double x) { return std::sin(x); }
long double cosOf(long double x) { return std::cos(x); }
long double tanhOf(long double x) { return std::tanh(x); }

const Case cases[] = {
    {"ex2.approx.ftz.f32", exp2Of, -120, 120, 2},
    {"ex2.approx.f32", exp2Of, -1, 1, 2},
    {"lg2.approx.f32", lg2Of, 0.5f, 2, -0x1p-22},
    {"lg2.approx.ftz.f32", lg2Of, 2, 1e30f, 2},
    {"rcp.approx.ftz.f32", rcp, -1e6f, 1e6f, 1},
    {"rsqrt.approx.ftz.f32", rsqrt, 1e-6f, 1e6f, 2},
    {"sqrt.approx.ftz.f32", sqrtOf, 1e-6f, 1e6f, 1},
    {"sin.approx.ftz.f32", sinOf, -3.1f, 3.1f, -0x1p-20},
    {"cos.approx.ftz.f32", cosOf, -3.1f, 3.1f, -0x1p-20},
    {"tanh.approx.f32", tanhOf, -4, 4, -0x1p-11},
};

class Approximate : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    generator.seed(seed);
  }
  Row draw() {
    std::uniform_real_distribution<float> values(GetParam().low,
                                                 GetParam().high);
    Row row;
    for (uint64_t &slot : row)
      slot = std::bit_cast<uint32_t>(values(generator));
    return row;
  }
  Row run(const Row &input, ApproxMode mode, uint64_t *state = nullptr) {
    Context context;
    context.approx = mode;
    context.random = state;
    Row result{};
    Row *dst[] = {&result, nullptr};
    const Row *src[] = {&input};
    find(GetParam().opcode)->function(context, ~LaneMask(0), dst, src);
    return result;
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
  uint64_t state = seed;
  size_t moved = 0, lanes = 0;
  for (unsigned round = 0; round < 500; ++round) {
    Row input = draw(), result = run(input, ApproxMode::Perturb, &state);
    Row correct = run(input, ApproxMode::Correct);
    for (unsigned lane = 0; lane < 32; ++lane, ++lanes) {
      long double exact = GetParam().reference(asFloat(input[lane]));
      float got = asFloat(result[lane]);
      float size = std::fabs(static_cast<float>(exact));
      double bound =
          GetParam().bound > 0
              ? GetParam().bound * (std::nextafter(size, INFINITY) - size)
              : -GetParam().bound;
      ASSERT_LE(std::fabs(static_cast<double>(got - exact)), bound)
          << GetParam().opcode << "(" << asFloat(input[lane]) << ") seed "
          << seed;
      moved += result[lane] != correct[lane];
    }
  }
  EXPECT_GT(moved, lanes / 10);
}

TEST_P(Approximate, PerturbRepeatsWithItsState) {
  Row input = draw();
  uint64_t first = seed, second = seed, other = seed + 1;
  Row result = run(input, ApproxMode::Perturb, &first);
  EXPECT_EQ(result, run(input, ApproxMode::Perturb, &second));
  EXPECT_EQ(first, second);
  EXPECT_NE(result, run(input, ApproxMode::Perturb, &other));
}

INSTANTIATE_TEST_SUITE_P(Functions, Approximate, testing::ValuesIn(cases));

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
  };
  uint64_t state = 7;
  for (auto mode : {ApproxMode::Correct, ApproxMode::Perturb, ApproxMode::Sm90})
    for (auto [opcode, input, expected] : table) {
      // lg2(1) is no special of the manual, so Perturb may move it.
      if (mode == ApproxMode::Perturb && input == 0x3F800000)
        continue;
      Row row{}, result{};
      row.fill(input);
      Context context;
      context.approx = mode;
      context.random = &state;
      Row *dst[] = {&result, nullptr};
      const Row *src[] = {&row};
      find(opcode)->function(context, 1, dst, src);
      EXPECT_EQ(result[0], expected) << opcode << " " << std::hex << input;
    }
}

} // namespace

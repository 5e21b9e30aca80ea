//===- CompareTest.cpp - The tolerance, from both sides ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Compare.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace fmha::reference;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// A result with R = `value` and A = `magnitude` everywhere, and an output that
/// equals it.
struct Case {
  Problem problem;
  Result expected;
  std::vector<float> o, lse;
  Element type = Element::BF16;

  Case(int64_t batch, int64_t rows, int64_t heads, int64_t dim,
       double value = 0.5, double magnitude = 1) {
    problem.batch = batch;
    problem.qLen = rows;
    problem.qHeads = heads;
    problem.headDim = problem.headDimV = dim;
    expected.o.assign(batch * rows * heads * dim, value);
    expected.a.assign(expected.o.size(), magnitude);
    expected.lse.assign(batch * rows * heads, 2.0);
    o.assign(expected.o.begin(), expected.o.end());
    lse.assign(expected.lse.begin(), expected.lse.end());
  }
  Comparison run(bool withLse = true) const {
    Tensor view =
        Tensor::dense(o.data(), problem.qLen, problem.qHeads, problem.headDimV);
    return compare(problem, expected, type, view,
                   withLse ? lse.data() : nullptr);
  }
};

void expectFinite(const Comparison &c) {
  for (double value : {c.cosine, c.minHeadCosine, c.relL2, c.maxAbsError,
                       c.maxErrorInTolerance, c.lseMaxAbsError.value_or(0)})
    EXPECT_TRUE(std::isfinite(value));
}

} // namespace

TEST(Compare, EqualOutputIsPerfect) {
  Comparison got = Case(2, 16, 4, 8).run();
  EXPECT_TRUE(got.ok);
  EXPECT_DOUBLE_EQ(got.cosine, 1);
  EXPECT_DOUBLE_EQ(got.minHeadCosine, 1);
  EXPECT_EQ(got.relL2, 0);
  EXPECT_EQ(got.maxAbsError, 0);
  EXPECT_EQ(got.maxErrorInTolerance, 0);
  EXPECT_EQ(got.lseMaxAbsError, 0);
}

TEST(Compare, ElementBoundHasTwoSides) {
  const std::pair<Element, int> types[] = {
      {Element::F16, -11}, {Element::BF16, -8}, {Element::F32, -18}};
  for (auto [type, exponent] : types) {
    double u = std::ldexp(1, exponent);
    double bound = u * 1.1 * (0.5 + 1) + 1e-6;
    for (double share : {0.99, 1.01}) {
      Case c(1, 4, 2, 8);
      c.type = type;
      c.o[13] = float(0.5 + share * bound);
      Comparison got = c.run();
      EXPECT_EQ(got.ok, share < 1);
      // The output is rounded to f32.
      EXPECT_NEAR(got.maxErrorInTolerance, share, 1e-3 + 0x1p-24 / bound);
      EXPECT_NEAR(got.maxAbsError, share * bound, 1e-6);
      EXPECT_EQ(got.worst, (std::array<int64_t, 4>{0, 0, 1, 5}));
    }
  }
}

TEST(Compare, AbsoluteFloorWhereAllIsZero) {
  for (double share : {0.99, 1.01}) {
    Case c(1, 1, 1, 4, 0, 0);
    c.o[2] = float(share * 1e-6);
    EXPECT_EQ(c.run().ok, share < 1);
  }
}

TEST(Compare, LseBoundHasTwoSides) {
  for (double lse : {0.1, 2.0, -80.0, 1000.0})
    for (double share : {0.9, 1.1}) {
      Case c(1, 4, 1, 4);
      // Both are floats, so that their difference is what is meant.
      c.expected.lse[3] = float(lse);
      double bound = 1e-5 * std::max(1.0, std::fabs(lse)) + 1e-5;
      c.expected.lse[3] = double(c.lse[3] = float(lse)) + share * bound;
      bound = 1e-5 * std::max(1.0, std::fabs(c.expected.lse[3])) + 1e-5;
      Comparison got = c.run();
      EXPECT_EQ(got.ok, share * 1.0 < 1) << lse;
      EXPECT_NEAR(*got.lseMaxAbsError, share * bound, 1e-3 * bound);
    }
}

TEST(Compare, RowMaximaAndSumsHaveBoundsOfTheirOwn) {
  for (double max : {0.5, -80.0})
    for (double share : {0.0, 0.9, 1.1, -1.1}) {
      Case c(1, 4, 1, 4);
      c.expected.rowMax.assign(4, max);
      c.expected.rowSum.assign(4, 256.0);
      std::vector<float> maxima(4, float(max)), sums(4, 256.0f);
      Tensor view = Tensor::dense(c.o.data(), 4, 1, 4);
      Outputs outputs{view, false, nullptr, maxima.data(), sums.data()};
      double bound = 1e-5 * std::max(1.0, std::fabs(max)) + 1e-5;
      maxima[2] = float(max + share * bound);
      Comparison got = compare(c.problem, c.expected, c.type, outputs);
      EXPECT_EQ(got.ok, std::fabs(share) < 1) << max;
      EXPECT_NEAR(*got.rowMaxMaxAbsError, std::fabs(share) * bound,
                  0.01 * bound);
      maxima[2] = float(max);
      sums[1] = float(256.0 * (1 + share * (bound + 1e-5)));
      got = compare(c.problem, c.expected, c.type, outputs);
      EXPECT_EQ(got.ok, std::fabs(share) < 1) << max;
      EXPECT_NEAR(*got.rowSumMaxRelError, std::fabs(share) * (bound + 1e-5),
                  0.01 * bound);
    }
}

TEST(Compare, AnOutputInF32IsHeldToItsOwnRounding) {
  // Nothing is rounded but the weights, which have no share where A is 0.
  for (bool isF32 : {false, true}) {
    Case c(1, 1, 1, 4, 0.5, 0);
    c.o[1] += 1e-4f;
    Tensor view = Tensor::dense(c.o.data(), 1, 1, 4);
    EXPECT_EQ(compare(c.problem, c.expected, c.type, Outputs{view, isF32}).ok,
              !isF32);
  }
}

TEST(Compare, MinusInfinityEqualsOnlyItself) {
  auto run = [](double want, float got) {
    Case c(1, 2, 1, 4);
    c.expected.lse[1] = want;
    c.lse[1] = got;
    Comparison result = c.run();
    expectFinite(result);
    return result.ok;
  };
  EXPECT_TRUE(run(-INFINITY, -infinity));
  EXPECT_FALSE(run(-INFINITY, infinity));
  EXPECT_FALSE(run(-INFINITY, -1e30f));
  EXPECT_FALSE(run(-INFINITY, notANumber));
  EXPECT_FALSE(run(3.0, -infinity));
  EXPECT_FALSE(run(3.0, notANumber));
}

TEST(Compare, WithoutLseThereIsNone) {
  EXPECT_EQ(Case(1, 2, 1, 4).run(/*withLse=*/false).lseMaxAbsError,
            std::nullopt);
}

TEST(Compare, AveragesCountFrom512ElementsOn) {
  // Each error is inside its own bound (A is large), the norm of all is not.
  for (int64_t rows : {63, 64}) {
    Case c(1, rows, 1, 8, 0.5, 2);
    for (float &value : c.o)
      value += 0.004f;
    Comparison got = c.run();
    EXPECT_LT(got.maxErrorInTolerance, 1);
    EXPECT_NEAR(got.relL2, 0.008, 1e-5);
    EXPECT_EQ(got.ok, rows * 8 < 512) << rows;
  }
}

TEST(Compare, F16HasATighterNorm) {
  for (Element type : {Element::F16, Element::BF16}) {
    Case c(1, 64, 1, 8, 0.5, 2);
    c.type = type;
    for (float &value : c.o)
      value += 0.0005f; // rel_l2 1e-3
    Comparison got = c.run();
    EXPECT_LT(got.maxErrorInTolerance, 1);
    EXPECT_EQ(got.ok, type == Element::BF16);
  }
}

TEST(Compare, F32HasTheTightestAverages) {
  for (double error : {5e-6, 2e-5}) {
    // Within the bound of each element, which grows with A.
    Case c(1, 64, 1, 8, 0.5, 20);
    c.type = Element::F32;
    for (float &value : c.o)
      value = float(value * (1 + error));
    Comparison got = c.run();
    EXPECT_LT(got.maxErrorInTolerance, 1);
    EXPECT_EQ(got.ok, error < 1e-5);
  }
}

TEST(Compare, CosineOfTheWorstHead) {
  Case c(1, 8, 4, 8);
  // Head 2 points elsewhere.
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t d = 0; d < 8; ++d)
      c.o[(row * 4 + 2) * 8 + d] *= d % 2 ? -1 : 1;
  Comparison got = c.run();
  EXPECT_NEAR(got.minHeadCosine, 0, 1e-12);
  EXPECT_NEAR(got.cosine, 0.75, 1e-12);
  EXPECT_FALSE(got.ok);
}

TEST(Compare, ZeroNorms) {
  Case same(1, 4, 1, 4, 0, 0);
  Comparison got = same.run();
  EXPECT_TRUE(got.ok);
  EXPECT_EQ(got.cosine, 1);
  EXPECT_EQ(got.relL2, 0);
  // An output where there should be none: 0 and the absolute error.
  Case other(1, 4, 1, 4, 0, 0);
  other.o[0] = 3;
  other.o[7] = 4;
  got = other.run();
  EXPECT_FALSE(got.ok);
  EXPECT_EQ(got.cosine, 0);
  EXPECT_DOUBLE_EQ(got.relL2, 5);
}

TEST(Compare, EmptyOutput) {
  for (auto [batch, rows] : {std::pair(0, 4), std::pair(2, 0)}) {
    Comparison got = Case(batch, rows, 2, 8).run();
    EXPECT_TRUE(got.ok);
    EXPECT_EQ(got.cosine, 1);
    EXPECT_EQ(got.minHeadCosine, 1);
    EXPECT_EQ(got.relL2, 0);
    EXPECT_EQ(got.maxAbsError, 0);
  }
}

TEST(Compare, OutputThatIsNoNumberFailsInFiniteFigures) {
  for (float bad : {notANumber, infinity, -infinity}) {
    Case c(1, 64, 2, 8);
    c.o[100] = bad;
    Comparison got = c.run();
    EXPECT_FALSE(got.ok);
    EXPECT_EQ(got.nonFinite, 1);
    EXPECT_EQ(got.cosine, 0);
    expectFinite(got);
    EXPECT_EQ(got.worst, (std::array<int64_t, 4>{0, 6, 0, 4}));
  }
}

TEST(Compare, NaNAndInfinitiesMustStandWhereTheReferenceHasThem) {
  const float values[] = {notANumber, infinity, -infinity, 0.5f};
  for (float want : values)
    for (float got : values) {
      Case c(1, 64, 2, 8);
      c.expected.o[100] = want;
      c.expected.a[100] = std::fabs(want);
      c.o[100] = got;
      c.expected.lse[5] = want;
      c.lse[5] = got;
      bool same = want == got || (std::isnan(want) && std::isnan(got));
      Comparison result = c.run();
      EXPECT_EQ(result.ok, same) << want << " and " << got;
      EXPECT_EQ(result.nonFinite, same ? 0 : 1) << want << " and " << got;
      expectFinite(result);
      // Elements that agree leave the averages alone.
      if (same) {
        EXPECT_DOUBLE_EQ(result.cosine, 1);
        EXPECT_EQ(result.relL2, 0);
      } else {
        EXPECT_EQ(result.worst, (std::array<int64_t, 4>{0, 6, 0, 4}));
      }
    }
}

TEST(Compare, RoundedReferenceIsWithinTolerance) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (Element type : {Element::F16, Element::BF16}) {
    Case c(2, 64, 4, 16);
    c.type = type;
    for (size_t i = 0; i < c.o.size(); ++i) {
      c.expected.o[i] = normal(random);
      c.expected.a[i] = std::fabs(c.expected.o[i]);
      c.o[i] = roundTo(type, float(c.expected.o[i]));
    }
    Comparison got = c.run();
    EXPECT_TRUE(got.ok);
    // A is |R| here, and one rounding is at most u * |R|.
    EXPECT_LT(got.maxErrorInTolerance, 0.46);
    EXPECT_GT(got.maxErrorInTolerance, 0.2);
  }
}

//===- SecondSourceTest.cpp - Two sources of keys under one softmax -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace fmha::reference;

namespace {

/// Dense [batch, length, heads, dim] of normal numbers.
struct Dense {
  std::vector<float> data;
  Tensor view;

  Dense(int64_t batch, int64_t length, int64_t heads, int64_t dim,
        std::mt19937 &random)
      : data(batch * length * heads * dim + 1) {
    std::normal_distribution<float> normal;
    for (float &element : data)
      element = normal(random);
    view = Tensor::dense(data.data(), length, heads, dim);
  }
};

struct Case {
  Problem problem;
  Dense q, k, v, k2, v2;

  Case(const Problem &p, int64_t kvLen2, std::mt19937 &random)
      : problem(p), q(p.batch, p.qLen, p.qHeads, p.headDim, random),
        k(p.batch, p.kvLen, p.kvHeads, p.headDim, random),
        v(p.batch, p.kvLen, p.kvHeads, p.headDimV, random),
        k2(p.batch, kvLen2, p.kvHeads, p.headDim, random),
        v2(p.batch, kvLen2, p.kvHeads, p.headDimV, random) {
    problem.second = Problem::Second{
        kvLen2, k2.view, v2.view, bool(random() % 2), bool(random() % 2), {}};
  }
  Result run() const { return attention(problem, q.view, k.view, v.view); }
  /// The first source alone.
  Result runFirst() const {
    Problem p = problem;
    p.second.reset();
    return attention(p, q.view, k.view, v.view);
  }
  /// The second one as if it were the first, with what it takes of a problem.
  Result runSecond() const {
    Problem p = problem;
    p.second.reset();
    p.sinks.clear();
    p.score = {problem.score.softcap, {}, {}, {}};
    p.left = p.right = std::nullopt;
    p.kvLen = problem.second->kvLen;
    p.causal = problem.second->causal;
    p.topLeft = problem.second->topLeft;
    return attention(p, q.view, k2.view, v2.view);
  }
};

Problem randomProblem(std::mt19937 &random) {
  Problem p;
  p.batch = 1 + random() % 2;
  p.kvHeads = 1 + random() % 2;
  p.qHeads = p.kvHeads * (1 + random() % 2);
  p.qLen = random() % 10;
  p.kvLen = random() % 12;
  p.headDim = 1 + random() % 8;
  p.headDimV = 1 + random() % 8;
  p.causal = random() % 2;
  p.topLeft = random() % 2;
  p.scale = 0.4;
  if (random() % 2)
    p.left = random() % 4;
  if (random() % 2)
    p.sinks.assign(p.qHeads, int(random() % 5) - 2);
  if (random() % 2)
    p.score.softcap = 1.5;
  if (random() % 2)
    p.score.slopes.assign(p.qHeads, 0.25);
  return p;
}

/// The share that a part with that LSE has in a whole.
double shareOf(double part, double whole) {
  return part == -INFINITY ? 0 : std::exp(part - whole);
}

void expectMerged(const Case &in) {
  const Problem &p = in.problem;
  Result both = in.run(), one = in.runFirst(), two = in.runSecond();
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.qLen; ++i)
      for (int64_t h = 0; h < p.qHeads; ++h) {
        int64_t at = (b * p.qHeads + h) * p.qLen + i;
        double whole = std::log(std::exp(one.lse[at]) + std::exp(two.lse[at]));
        if (whole == -INFINITY)
          EXPECT_EQ(both.lse[at], -INFINITY);
        else
          EXPECT_NEAR(both.lse[at], whole, 1e-12 * (1 + std::fabs(whole)));
        int64_t row = ((b * p.qLen + i) * p.qHeads + h) * p.headDimV;
        for (int64_t d = row; d < row + p.headDimV; ++d) {
          double first = shareOf(one.lse[at], whole);
          double second = shareOf(two.lse[at], whole);
          EXPECT_NEAR(both.o[d], first * one.o[d] + second * two.o[d], 1e-12);
          EXPECT_NEAR(both.a[d], first * one.a[d] + second * two.a[d], 1e-12);
        }
      }
}

} // namespace

TEST(SecondSource, IsMergedWithTheFirst) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int n = 0; n < 200; ++n) {
    Problem p = randomProblem(random);
    Case in(p, random() % 12, random);
    ASSERT_EQ(in.problem.check(), std::nullopt);
    expectMerged(in);
  }
}

/// Keys behind the length of a sequence are never read as numbers that count.
TEST(SecondSource, EndsWhereItsSequencesDo) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Problem p;
  p.batch = 2;
  p.qLen = 3;
  p.kvLen = 4;
  p.headDim = p.headDimV = 2;
  Case whole(p, 5, random);
  whole.problem.second->causal = true;
  whole.problem.second->topLeft = false;
  whole.problem.sequences = {{0, 0, 3, 0, 0, 4}, {1, 0, 3, 1, 0, 2}};
  whole.problem.second->lengths = {5, 1};
  ASSERT_EQ(whole.problem.check(), std::nullopt);
  for (int64_t j = 5 + 1; j < 10; ++j)
    for (int64_t d = 0; d < 2; ++d)
      whole.k2.data[j * 2 + d] = whole.v2.data[j * 2 + d] = NAN;
  Result got = whole.run();
  // Of one key, row 2 alone sees it.
  Problem own = whole.problem;
  own.sequences.reset();
  own.batch = 1;
  own.kvLen = 2;
  own.second->kvLen = 1;
  own.second->lengths.clear();
  own.second->k.data += 10;
  own.second->v.data += 10;
  auto from = [](Tensor tensor, int64_t offset) {
    tensor.data += offset;
    return tensor;
  };
  Result want = attention(own, from(whole.q.view, 6), from(whole.k.view, 8),
                          from(whole.v.view, 8));
  for (int64_t n = 0; n < 6; ++n)
    EXPECT_EQ(got.o[6 + n], want.o[n]);
  whole.problem.second->lengths = {5, 6};
  EXPECT_NE(whole.problem.check(), std::nullopt);
  whole.problem.second->lengths = {5};
  EXPECT_NE(whole.problem.check(), std::nullopt);
}

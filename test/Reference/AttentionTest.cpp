//===- AttentionTest.cpp - The reference against the definition -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Attention.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace fmha::reference;

namespace {

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// A tensor in memory of its own, padded by NaN between and around the rows.
struct Storage {
  std::vector<float> data;
  Tensor view;

  Storage(int64_t batch, int64_t length, int64_t heads, int64_t dim,
          std::mt19937 &random, float magnitude) {
    int64_t row = dim + random() % 4, head = random() % 3;
    bool headsFirst = random() % 2;
    int64_t perHead = (headsFirst ? length : 1) * row + head;
    int64_t perRow = headsFirst ? row : heads * perHead;
    int64_t perBatch = (headsFirst ? heads * perHead : length * perRow) + 5;
    data.assign(batch * perBatch + 7, notANumber);
    view = {data.data() + 3, {perBatch, perRow, perHead, 1}};
    std::normal_distribution<float> normal(0, magnitude);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t l = 0; l < length; ++l)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t d = 0; d < dim; ++d)
            data[3 + b * perBatch + l * perRow + h * perHead + d] =
                normal(random);
  }

  void set(int64_t b, int64_t l, int64_t h, int64_t d, float value) {
    const auto &steps = view.strides;
    data[3 + b * steps[0] + l * steps[1] + h * steps[2] + d * steps[3]] = value;
  }
};

struct Inputs {
  Problem problem;
  Storage q, k, v;
  std::vector<float> bias, keyScales, valueScales;
  std::vector<uint8_t> mask;

  Inputs(const Problem &p, std::mt19937 &random, float magnitude = 1)
      : problem(p), q(p.batch, p.qLen, p.qHeads, p.headDim, random, magnitude),
        k(p.batch, p.kvLen, p.kvHeads, p.headDim, random, magnitude),
        v(p.batch, p.kvLen, p.kvHeads, p.headDimV, random, 1) {}

  /// A bias and a mask, and scales of keys and values, some extents of which
  /// serve all.
  void addMaps(std::mt19937 &random) {
    const Problem &p = problem;
    std::array<int64_t, 4> dims = {p.batch, p.qHeads, p.qLen, p.kvLen};
    auto fill = [&](auto &map, auto &data, auto element) {
      map.dims = dims;
      int64_t count = 1;
      for (int64_t &extent : map.dims)
        count *= extent = random() % 3 ? std::max<int64_t>(extent, 1) : 1;
      for (int64_t n = 0; n < count; ++n)
        data.push_back(element());
      map.data = data.data();
    };
    if (random() % 2)
      fill(problem.score.bias, bias,
           [&] { return float(int(random() % 9) - 4) / 2; });
    if (random() % 2)
      fill(problem.score.mask, mask, [&] { return uint8_t(random() % 2); });
    dims = {p.batch, p.kvHeads, p.kvLen, 1};
    auto scale = [&] { return float(1 + random() % 7) / 4; };
    if (random() % 2)
      fill(problem.keyScales, keyScales, scale);
    if (random() % 2)
      fill(problem.valueScales, valueScales, scale);
  }

  Result run() const { return attention(problem, q.view, k.view, v.view); }
};

/// One row by the definition: no maximum subtracted, weights exp(s) over their
/// sum, all in extended precision, whose exponent reaches 2^16384.
struct NaiveRow {
  std::vector<long double> o, a;
  long double lse;
};

NaiveRow naive(const Inputs &in, int64_t b, int64_t i, int64_t h) {
  const Problem &p = in.problem;
  int64_t group = h / (p.qHeads / p.kvHeads);
  auto scaleOf = [&](const auto &map, const std::vector<float> &data,
                     int64_t j) -> long double {
    if (data.empty())
      return 1;
    int64_t indices[] = {b, group, j}, offset = 0;
    for (int d = 0; d < 3; ++d)
      offset = offset * map.dims[d] + (map.dims[d] > 1 ? indices[d] : 0);
    return data[offset];
  };
  NaiveRow row{std::vector<long double>(p.headDimV),
               std::vector<long double>(p.headDimV), 0};
  long double sum = p.sinks.empty() ? 0 : std::exp((long double)p.sinks[h]);
  for (int64_t j = 0; j < p.kvLen; ++j) {
    int64_t place = i + (p.topLeft ? 0 : p.kvLen - p.qLen);
    if ((p.causal && j > place) || (p.left && j < place - *p.left) ||
        (p.right && j > place + *p.right))
      continue;
    long double score = 0;
    for (int64_t d = 0; d < p.headDim; ++d)
      score +=
          (long double)in.q.view.at(b, i, h, d) * in.k.view.at(b, j, group, d);
    score *= (long double)p.scale * scaleOf(p.keyScales, in.keyScales, j);
    if (p.score.softcap)
      score = *p.score.softcap * std::tanh(score / *p.score.softcap);
    if (!p.score.slopes.empty())
      score -= p.score.slopes[h] * std::abs(place - j);
    auto at = [&](const auto &map, const auto &data) {
      int64_t indices[] = {b, h, i, j}, offset = 0;
      for (int d = 0; d < 4; ++d)
        offset = offset * map.dims[d] + (map.dims[d] > 1 ? indices[d] : 0);
      return data[offset];
    };
    if (p.score.bias.data)
      score += at(p.score.bias, in.bias);
    if (p.score.mask.data && !at(p.score.mask, in.mask))
      continue;
    long double weight = std::exp(score);
    sum += weight;
    for (int64_t d = 0; d < p.headDimV; ++d) {
      long double value = in.v.view.at(b, j, group, d) *
                          scaleOf(p.valueScales, in.valueScales, j);
      row.o[d] += weight * value;
      row.a[d] += weight * std::fabs(value);
    }
  }
  for (int64_t d = 0; d < p.headDimV && sum != 0; ++d) {
    row.o[d] /= sum;
    row.a[d] /= sum;
  }
  row.lse = std::log(sum);
  return row;
}

void expectNear(double got, long double want, long double scale) {
  EXPECT_LE(std::fabs(got - want), 1e-12L * scale) << got << " " << want;
}

/// Rounding of scores moves results by as much as the largest score, which the
/// bound allows for.
void expectDefinition(const Inputs &in, long double largestScore = 1) {
  const Problem &p = in.problem;
  Result got = in.run();
  ASSERT_EQ(got.o.size(), size_t(p.batch * p.qLen * p.qHeads * p.headDimV));
  ASSERT_EQ(got.a.size(), got.o.size());
  ASSERT_EQ(got.lse.size(), size_t(p.batch * p.qLen * p.qHeads));
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.qLen; ++i)
      for (int64_t h = 0; h < p.qHeads; ++h) {
        NaiveRow want = naive(in, b, i, h);
        int64_t base = ((b * p.qLen + i) * p.qHeads + h) * p.headDimV;
        for (int64_t d = 0; d < p.headDimV; ++d) {
          expectNear(got.o[base + d], want.o[d],
                     largestScore * (1 + want.a[d]));
          expectNear(got.a[base + d], want.a[d],
                     largestScore * (1 + want.a[d]));
        }
        double lse = got.lse[(b * p.qHeads + h) * p.qLen + i];
        if (std::isinf(want.lse)) {
          EXPECT_EQ(lse, -INFINITY);
          continue;
        }
        expectNear(lse, want.lse, largestScore * (1 + std::fabs(want.lse)));
      }
}

Problem randomProblem(std::mt19937 &random) {
  static constexpr int64_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 16, 33};
  Problem p;
  p.batch = random() % 3;
  p.kvHeads = 1 + random() % 3;
  p.qHeads = p.kvHeads * (1 + random() % 3);
  p.qLen = lengths[random() % 9];
  p.kvLen = lengths[random() % 9];
  p.headDim = 1 + random() % 20;
  p.headDimV = 1 + random() % 20;
  p.causal = random() % 2;
  p.topLeft = random() % 2;
  if (random() % 2)
    p.left = random() % 6;
  if (random() % 2)
    p.right = random() % 6;
  if (random() % 2)
    for (int64_t h = 0; h < p.qHeads; ++h)
      p.sinks.push_back(int(random() % 9) - 5);
  if (random() % 2)
    p.score.softcap = 0.5 + random() % 4;
  if (random() % 2)
    for (int64_t h = 0; h < p.qHeads; ++h)
      p.score.slopes.push_back(double(random() % 5) / 4);
  double scales[] = {1 / std::sqrt(double(p.headDim)), 0, -0.3, 1};
  p.scale = scales[random() % 4];
  return p;
}

} // namespace

TEST(Attention, EqualsTheDefinition) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (unsigned i = 0; i < 300; ++i) {
    Problem p = randomProblem(random);
    SCOPED_TRACE(testing::Message()
                 << "problem " << i << ": batch " << p.batch << ", heads "
                 << p.qHeads << "/" << p.kvHeads << ", lengths " << p.qLen
                 << "/" << p.kvLen << ", dims " << p.headDim << "/"
                 << p.headDimV << ", scale " << p.scale << ", causal "
                 << p.causal << ", top left " << p.topLeft << ", window "
                 << p.left.value_or(-1) << ".." << p.right.value_or(-1));
    ASSERT_EQ(p.check(), std::nullopt);
    Inputs in(p, random);
    in.addMaps(random);
    ASSERT_EQ(in.problem.check(), std::nullopt);
    expectDefinition(in);
  }
}

/// One row of a sequence, by the definition.
static NaiveRow naiveRow(const Inputs &in, const Sequence &one, int64_t row,
                         int64_t head) {
  auto from = [](const Storage &all, int64_t batch, int64_t first) -> Tensor {
    const auto &steps = all.view.strides;
    return {&all.data[3] + batch * steps[0] + first * steps[1], steps};
  };
  Inputs own = in;
  own.problem.sequences.reset();
  own.problem.qLen = one.queries;
  own.problem.kvLen = one.keys;
  own.q.view = from(in.q, one.queryBatch, one.firstQuery);
  own.k.view = from(in.k, one.keyBatch, one.firstKey);
  own.v.view = from(in.v, one.keyBatch, one.firstKey);
  return naive(own, 0, row, head);
}

/// Three sequences, packed on either side or not, are what three problems of
/// their own give; what no sequence has is NaN in q, k and v, and in the
/// result.
static void expectSequences(bool packedQ, bool packedK, std::mt19937 &random) {
  constexpr int64_t queries[] = {3, 0, 5}, keys[] = {4, 6, 0};
  Problem p;
  p.batch = packedQ ? 1 : 3;
  p.qHeads = 2;
  p.headDim = p.headDimV = 4;
  p.qLen = packedQ ? 10 : 5;
  p.kvLen = packedK ? 11 : 7;
  p.causal = random() % 2;
  Inputs in(p, random);
  // K and V may have another batch than Q.
  int64_t kBatch = packedK ? 1 : 3;
  in.k = Storage(kBatch, p.kvLen, 1, 4, random, 1);
  in.v = Storage(kBatch, p.kvLen, 1, 4, random, 1);
  Sequence next;
  std::vector<Sequence> all;
  std::vector<std::vector<bool>> used(kBatch, std::vector<bool>(p.kvLen));
  for (int n = 0; n < 3; ++n) {
    next.queries = queries[n];
    next.keys = keys[n];
    all.push_back(next);
    std::fill_n(used[next.keyBatch].begin() + next.firstKey, next.keys, true);
    (packedQ ? next.firstQuery : next.queryBatch) += packedQ ? next.queries : 1;
    (packedK ? next.firstKey : next.keyBatch) += packedK ? next.keys : 1;
  }
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t j = 0; j < p.kvLen; ++j)
      for (int64_t d = 0; d < 4 && !used[b][j]; ++d) {
        in.k.set(b, j, 0, d, NAN);
        in.v.set(b, j, 0, d, NAN);
      }
  in.problem.sequences = all;
  ASSERT_EQ(in.problem.check(), std::nullopt);
  Result got = in.run();
  std::vector<bool> owned(p.batch * p.qLen);
  for (const Sequence &one : all)
    for (int64_t i = 0; i < one.queries; ++i) {
      int64_t at = one.queryBatch * p.qLen + one.firstQuery + i;
      owned[at] = true;
      for (int64_t h = 0; h < 2; ++h) {
        NaiveRow want = naiveRow(in, one, i, h);
        for (int64_t d = 0; d < 4; ++d)
          expectNear(got.o[(at * 2 + h) * 4 + d], want.o[d], 1 + want.a[d]);
        double lse =
            got.lse[(one.queryBatch * 2 + h) * p.qLen + one.firstQuery + i];
        if (std::isinf(want.lse))
          EXPECT_EQ(lse, -INFINITY);
        else
          expectNear(lse, want.lse, 1 + std::fabs(want.lse));
      }
    }
  for (int64_t row = 0; row < int64_t(owned.size()); ++row)
    for (int64_t d = 0; d < 8 && !owned[row]; ++d)
      EXPECT_TRUE(std::isnan(got.o[row * 8 + d]));
}

TEST(Attention, SequencesAreProblemsOfTheirOwn) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int n = 0; n < 8; ++n)
    expectSequences(n & 1, n & 2, random);
}

TEST(Attention, NoSequenceReadsNothing) {
  Problem p;
  p.qLen = 2;
  p.headDim = p.headDimV = 1;
  p.kvLen = 3;
  p.sequences.emplace();
  const float q[2] = {1, 2};
  // K and V have no batch at all.
  Result got = attention(p, Tensor::dense(q, 2, 1, 1), Tensor(), Tensor());
  for (double one : got.o)
    EXPECT_TRUE(std::isnan(one));
}

TEST(Attention, SequencesOutsideTheBatchAreRefused) {
  Problem p;
  p.qLen = p.kvLen = 4;
  p.headDim = p.headDimV = 1;
  for (Sequence one :
       {Sequence{0, 1, 4, 0, 0, 4}, Sequence{0, 0, 4, 0, 2, 3},
        Sequence{1, 0, 4, 0, 0, 4}, Sequence{0, 0, -1, 0, 0, 4}}) {
    p.sequences = std::vector<Sequence>{one};
    EXPECT_NE(p.check(), std::nullopt);
  }
  p.sequences = std::vector<Sequence>{{0, 1, 3, 0, 2, 2}};
  EXPECT_EQ(p.check(), std::nullopt);
}

TEST(Attention, LargeLogitsStayFinite) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (float magnitude : {5.0f, 15.0f}) {
    Problem p{1, 2, 1, 9, 40, 16, 8, 1.0, true};
    expectDefinition(Inputs(p, random, magnitude), 4 * magnitude * magnitude);
  }
}

TEST(Attention, RowsWithoutKeys) {
  std::mt19937 random(1);
  // Five queries, two keys, aligned at the bottom right: three rows see none.
  Inputs in(Problem{1, 1, 1, 5, 2, 4, 4, 1.0, true}, random);
  Result got = in.run();
  for (int64_t i = 0; i < 5; ++i) {
    bool masked = i < 3;
    EXPECT_EQ(std::isinf(got.lse[i]), masked) << i;
    for (int64_t d = 0; d < 4; ++d)
      EXPECT_EQ(got.a[i * 4 + d] == 0, masked) << i;
  }
  Inputs empty(Problem{2, 2, 1, 3, 0, 4, 4, 1.0, false}, random);
  got = empty.run();
  for (double value : got.o)
    EXPECT_EQ(value, 0);
  for (double value : got.lse)
    EXPECT_EQ(value, -INFINITY);
}

TEST(Attention, ScoresOfMinusInfinityAreKeysThatNobodySees) {
  std::mt19937 random(3);
  Inputs in(Problem{1, 1, 1, 1, 3, 1, 1, 1.0, false}, random);
  in.q.set(0, 0, 0, 0, 1);
  for (int64_t j = 0; j < 3; ++j)
    in.k.set(0, j, 0, 0, -INFINITY);
  Result got = in.run();
  EXPECT_EQ(got.o[0], 0);
  EXPECT_EQ(got.lse[0], -INFINITY);
  in.k.set(0, 1, 0, 0, notANumber);
  got = in.run();
  EXPECT_TRUE(std::isnan(got.o[0]));
  EXPECT_TRUE(std::isnan(got.lse[0]));
}

/// Maxima and sums make LSE and output of what is not divided; a sink is in
/// neither, and does not change it.
TEST(Attention, RowsAreDividedByTheirSums) {
  std::mt19937 random(7);
  Problem problem;
  problem.qLen = 9;
  problem.kvLen = 6; // the first rows see nothing
  problem.headDim = problem.headDimV = 4;
  problem.scale = 3;
  problem.causal = true;
  Inputs in(problem, random);
  Result whole = attention(problem, in.q.view, in.k.view, in.v.view);
  problem.unnormalised = true;
  problem.sinks = {0.5};
  Result parts = attention(problem, in.q.view, in.k.view, in.v.view);
  for (int64_t i = 0; i < problem.qLen; ++i) {
    double max = parts.rowMax[i], sum = parts.rowSum[i];
    EXPECT_EQ(max, whole.rowMax[i]);
    EXPECT_EQ(sum, whole.rowSum[i]);
    if (i < problem.qLen - problem.kvLen) {
      EXPECT_EQ(max, -INFINITY);
      EXPECT_EQ(sum, 0);
      EXPECT_EQ(parts.lse[i], 0.5);
      continue;
    }
    EXPECT_GE(sum, 1);
    EXPECT_NEAR(max + std::log(sum), whole.lse[i], 1e-12);
    EXPECT_NEAR(std::log(std::exp(whole.lse[i]) + std::exp(0.5)), parts.lse[i],
                1e-12);
    for (int64_t d = 4 * i; d < 4 * i + 4; ++d) {
      EXPECT_NEAR(parts.o[d] / sum, whole.o[d], 1e-12);
      EXPECT_NEAR(parts.a[d] / sum, whole.a[d], 1e-12);
    }
  }
}

TEST(Attention, FirstAndLastCausalRow) {
  std::mt19937 random(2);
  // As many queries as keys: row 0 sees key 0 alone, so O = v.
  Inputs in(Problem{1, 1, 1, 6, 6, 4, 4, 1.0, true}, random);
  Result got = in.run();
  for (int64_t d = 0; d < 4; ++d)
    EXPECT_DOUBLE_EQ(got.o[d], in.v.view.at(0, 0, 0, d));
  in.problem.causal = false;
  Result whole = in.run();
  for (int64_t d = 0; d < 4; ++d)
    EXPECT_EQ(got.o[5 * 4 + d], whole.o[5 * 4 + d]);
}

TEST(Attention, GroupsThatDoNotDivideRoundDown) {
  Problem p;
  p.qHeads = 5;
  p.kvHeads = 2;
  std::vector<int64_t> heads;
  for (int64_t h = 0; h < 5; ++h)
    heads.push_back(p.kvHead(h));
  EXPECT_EQ(heads, (std::vector<int64_t>{0, 0, 0, 1, 1}));
}

TEST(Attention, CheckNamesWhatIsWrong) {
  Problem good{1, 2, 1, 3, 4, 5, 6, 1.0, false};
  EXPECT_EQ(good.check(), std::nullopt);
  Problem p = good;
  p.qLen = -1;
  EXPECT_EQ(p.check(), "expected batch, q_len and kv_len not to be negative, "
                       "got 1, -1 and 4");
  p = good;
  p.kvHeads = 0;
  EXPECT_EQ(p.check(),
            "expected at least one query head and one KV head, got 0");
  p = good;
  p.headDimV = 0;
  EXPECT_EQ(p.check(), "expected head dims of at least 1, got 0");
  p = good;
  p.scale = INFINITY;
  EXPECT_EQ(p.check(), "expected a finite scale, got inf");
}

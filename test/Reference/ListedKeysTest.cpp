//===- ListedKeysTest.cpp - The reference on lists of keys ----------------===//
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

std::vector<float> normals(size_t count, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(random);
  return numbers;
}

/// Returns the rows that `list` names of a tensor of one head.
std::vector<float> rowsOf(const std::vector<float> &tensor, int64_t dim,
                          const std::vector<int64_t> &list) {
  std::vector<float> rows;
  for (int64_t row : list)
    rows.insert(rows.end(), tensor.begin() + row * dim,
                tensor.begin() + (row + 1) * dim);
  return rows;
}

} // namespace

// Each row is that of attention to the rows that its list names, gathered one
// after the other; rows that no list names hold NaN.
TEST(ListedKeys, AreThoseOfGatheredRows) {
  std::mt19937 random(7);
  const std::vector<std::vector<int64_t>> lists = {
      {3, 0, 3, 8}, {}, {5}, {8, 0, 5, 3, 3, 3}};
  Problem whole;
  whole.qLen = int64_t(lists.size());
  whole.kvLen = 9;
  whole.headDim = 6;
  whole.headDimV = 4;
  whole.scale = 0.5;
  std::vector<float> q = normals(4 * 6, random), k = normals(9 * 6, random);
  std::vector<float> v = normals(9 * 4, random);
  std::vector<int32_t> times(4 * 9);
  for (size_t row = 0; row < lists.size(); ++row)
    for (int64_t key : lists[row])
      ++times[row * 9 + key];
  for (int64_t key : {1, 2, 4, 6, 7}) {
    std::fill_n(k.begin() + key * 6, 6, std::nanf(""));
    std::fill_n(v.begin() + key * 4, 4, std::nanf(""));
  }
  whole.listed = {times.data(), {1, 1, 4, 9}};
  ASSERT_EQ(whole.check(), std::nullopt);
  Result got = attention(whole, Tensor::dense(q.data(), 4, 1, 6),
                         Tensor::dense(k.data(), 9, 1, 6),
                         Tensor::dense(v.data(), 9, 1, 4));
  for (size_t row = 0; row < lists.size(); ++row) {
    Problem one = whole;
    one.listed = {};
    one.qLen = 1;
    one.kvLen = int64_t(lists[row].size());
    std::vector<float> keys = rowsOf(k, 6, lists[row]);
    std::vector<float> values = rowsOf(v, 4, lists[row]);
    Result want = attention(one, Tensor::dense(q.data() + row * 6, 1, 1, 6),
                            Tensor::dense(keys.data(), one.kvLen, 1, 6),
                            Tensor::dense(values.data(), one.kvLen, 1, 4));
    for (int64_t d = 0; d < 4; ++d) {
      EXPECT_NEAR(got.o[row * 4 + d], want.o[d], 1e-12) << row;
      EXPECT_NEAR(got.a[row * 4 + d], want.a[d], 1e-12) << row;
    }
    EXPECT_EQ(got.rowMax[row], want.rowMax[0]) << row;
    EXPECT_NEAR(got.rowSum[row], want.rowSum[0], 1e-12) << row;
    if (lists[row].empty())
      EXPECT_EQ(got.lse[row], -std::numeric_limits<double>::infinity());
    else
      EXPECT_NEAR(got.lse[row], want.lse[0], 1e-12) << row;
  }
  whole.listed.dims[2] = 3;
  EXPECT_NE(whole.check(), std::nullopt);
}

// Each query head has lists of its own, or all have the same.
TEST(ListedKeys, AreThoseOfEachHead) {
  std::mt19937 random(20261127);
  Problem both;
  both.qHeads = both.kvHeads = 2;
  both.qLen = 3;
  both.kvLen = 5;
  both.headDim = both.headDimV = 4;
  std::vector<float> q = normals(3 * 2 * 4, random),
                     k = normals(5 * 2 * 4, random),
                     v = normals(5 * 2 * 4, random);
  auto run = [&](const Problem &problem) {
    EXPECT_EQ(problem.check(), std::nullopt);
    return attention(problem, Tensor::dense(q.data(), 3, 2, 4),
                     Tensor::dense(k.data(), 5, 2, 4),
                     Tensor::dense(v.data(), 5, 2, 4));
  };
  std::vector<int32_t> times(2 * 3 * 5);
  for (int32_t &one : times)
    one = int32_t(random() % 3);
  both.listed = {times.data(), {1, 2, 3, 5}};
  Result got = run(both);
  for (int64_t head : {0, 1}) {
    Problem shared = both;
    shared.listed = {times.data() + head * 3 * 5, {1, 1, 3, 5}};
    Result want = run(shared);
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t d = 0; d < 4; ++d)
        EXPECT_EQ(got.o[(row * 2 + head) * 4 + d],
                  want.o[(row * 2 + head) * 4 + d])
            << head << ", " << row;
  }
  both.listed.dims[1] = 3;
  both.qHeads = 6;
  EXPECT_NE(both.check(), std::nullopt);
}

//===- SplitSharesTest.cpp - Slots of a batch with uneven lengths ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/SplitShares.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace fmha::schedule;

/// Expects that each slot belongs to at most one sequence, that each sequence
/// has one, and that there are no more than `splits` per sequence.
static void expectSound(const std::vector<int32_t> &lengths, unsigned splits,
                        unsigned keys) {
  std::vector<SplitShare> shares = shareSlots(lengths, splits, keys);
  ASSERT_EQ(shares.size(), lengths.size());
  std::vector<unsigned> owners(splits * lengths.size(), 0);
  for (const SplitShare &share : shares) {
    ASSERT_GE(share.parts, 1u);
    ASSERT_LE(uint64_t(share.first) + share.parts, owners.size());
    for (unsigned n = 0; n < share.parts; ++n)
      ++owners[share.first + n];
  }
  EXPECT_LE(*std::max_element(owners.begin(), owners.end()), 1u);
}

TEST(SplitShares, EqualLengthsHaveAsManyPartsAsWithoutSharing) {
  for (unsigned splits : {2u, 3u, 8u}) {
    std::vector<SplitShare> shares =
        shareSlots(std::vector<int32_t>(7, 6400), splits, 64);
    for (const SplitShare &share : shares)
      EXPECT_EQ(share.parts, splits);
  }
}

TEST(SplitShares, LongSequencesHaveMostSlots) {
  std::vector<int32_t> lengths = {65536, 64, 64, 64};
  std::vector<SplitShare> shares = shareSlots(lengths, 4, 64);
  // 16 slots, of which three are those of the short ones.
  EXPECT_EQ(shares[0], (SplitShare{0, 13}));
  EXPECT_EQ(shares[3], (SplitShare{15, 1}));
}

TEST(SplitShares, SequencesOfOneLaneAreNeighbors) {
  std::vector<int32_t> lengths(34, 64);
  std::vector<SplitShare> shares = shareSlots(lengths, 2, 64);
  EXPECT_EQ(shares[0].first, 0u);
  EXPECT_EQ(shares[32].first, shares[0].parts);
  EXPECT_EQ(shares[1].first, shares[0].parts + shares[32].parts);
}

TEST(SplitShares, EverySequenceHasASlotWhateverTheLengths) {
  constexpr int32_t most = std::numeric_limits<int32_t>::max();
  for (unsigned splits : {2u, 3u, 256u})
    for (unsigned keys : {16u, 128u}) {
      expectSound({0}, splits, keys);
      expectSound({most, most, most}, splits, keys);
      expectSound({-1, -most - 1, 0, 1}, splits, keys);
      expectSound(std::vector<int32_t>(3000, most), splits, keys);
    }
  EXPECT_TRUE(shareSlots({}, 2, 64).empty());
}

TEST(SplitShares, SlotsHaveTheFewestBlocksThatSuffice) {
  std::mt19937 random(23);
  auto ceilDiv = [](uint64_t a, uint64_t b) { return (a + b - 1) / b; };
  auto partsOf = [&](int32_t length, uint64_t blocks) {
    return ceilDiv(std::max((length + 63) / 64, 1), blocks);
  };
  for (int n = 0; n < 2000; ++n) {
    std::vector<int32_t> lengths(1 + random() % 100);
    unsigned shape = random() % 2, splits = 2 + random() % 7;
    uint64_t all = 0, count = lengths.size(), slots = splits * count;
    for (int32_t &length : lengths) {
      length = int32_t(random() % (shape && random() % 20 ? 500 : 100000));
      all += std::max((length + 63) / 64, 1);
    }
    uint64_t blocks = ceilDiv(all, slots);
    uint64_t step = ceilDiv(ceilDiv(all, slots - count) - blocks, 15);
    auto needed = [&] {
      uint64_t sum = 0;
      for (int32_t length : lengths)
        sum += partsOf(length, blocks);
      return sum;
    };
    while (needed() > slots)
      blocks += step;
    expectSound(lengths, splits, 64);
    std::vector<SplitShare> shares = shareSlots(lengths, splits, 64);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(shares[i].parts, partsOf(lengths[i], blocks)) << "case " << n;
  }
}

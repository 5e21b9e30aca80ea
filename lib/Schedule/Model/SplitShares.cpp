//===- SplitShares.cpp - Slots of a batch with uneven lengths -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/SplitShares.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

using namespace fmha::schedule;

static uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

static std::vector<uint64_t> weightsOf(std::span<const int32_t> lengths,
                                       unsigned keys) {
  uint64_t most = (1ull << std::countl_zero(uint32_t(lengths.size()))) - 1;
  most = std::min<uint64_t>(most, mostShareWeight);
  std::vector<uint64_t> weights;
  for (int32_t length : lengths) {
    uint64_t blocks = ceilDiv(uint64_t(std::max(length, 0)), keys);
    weights.push_back(std::clamp<uint64_t>(blocks, 1, most));
  }
  return weights;
}

static uint64_t slotsNeeded(const std::vector<uint64_t> &weights,
                            uint64_t each) {
  uint64_t slots = 0;
  for (uint64_t weight : weights)
    slots += ceilDiv(weight, each);
  return slots;
}

/// Returns c, the KV blocks of a slot.
static uint64_t blocksOfSlot(const std::vector<uint64_t> &weights,
                             unsigned splits) {
  uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t(0));
  uint64_t slots = splits * weights.size();
  uint64_t least = ceilDiv(total, slots);
  uint64_t most = ceilDiv(total, slots - weights.size());
  uint64_t step = ceilDiv(most - least, shareSteps - 1);
  for (unsigned k = 0; k + 1 < shareSteps; ++k)
    if (slotsNeeded(weights, least + k * step) <= slots)
      return least + k * step;
  return least + (shareSteps - 1) * step;
}

std::vector<SplitShare>
fmha::schedule::shareSlots(std::span<const int32_t> lengths, unsigned splits,
                           unsigned keys) {
  assert(splits > 1 && "nothing to share");
  std::vector<SplitShare> shares(lengths.size());
  if (lengths.empty())
    return shares;
  std::vector<uint64_t> weights = weightsOf(lengths, keys);
  uint64_t each = blocksOfSlot(weights, splits);
  unsigned first = 0;
  for (size_t lane = 0; lane < shareLanes; ++lane)
    for (size_t n = lane; n < lengths.size(); n += shareLanes) {
      shares[n] = {first, unsigned(ceilDiv(weights[n], each))};
      first += shares[n].parts;
    }
  return shares;
}

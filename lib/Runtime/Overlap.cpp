//===- Overlap.cpp - Do two host tensors share memory? --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Overlap.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace fmha::runtime {
namespace {

struct Step {
  uint64_t bytes, count;
};

/// Outer dimensions that move, innermost first; `begin` goes down to where
/// negative strides lead.
std::vector<Step> stepsOf(const Tensor4 &tensor, uint64_t &begin) {
  std::vector<Step> steps;
  for (int i = 0; i < 3; ++i) {
    int64_t bytes = tensor.strides[i] * int64_t(sizeOf(tensor.dtype));
    if (tensor.dims[i] <= 1 || bytes == 0)
      continue;
    uint64_t count = uint64_t(tensor.dims[i]);
    if (bytes < 0)
      begin += uint64_t(bytes) * (count - 1);
    steps.push_back({uint64_t(std::abs(bytes)), count});
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step &a, const Step &b) { return a.bytes < b.bytes; });
  return steps;
}

/// A tensor as blocks of `block` bytes at some multiples of `period` from its
/// begin; one block if the period is 0.
struct Blocks {
  uint64_t block = 0, period = 0;
};

/// The ways to see a tensor so, from its rows to the whole of it: each takes
/// one more dimension into the block, gaps included.
std::vector<Blocks> blocksOf(const Tensor4 &tensor, uint64_t &begin) {
  begin = uintptr_t(tensor.host);
  std::vector<Step> steps = stepsOf(tensor, begin);
  std::vector<Blocks> all;
  uint64_t block = uint64_t(tensor.dims[3]) * sizeOf(tensor.dtype);
  for (size_t inner = 0; inner <= steps.size(); ++inner) {
    uint64_t period = 0;
    for (size_t n = inner; n < steps.size(); ++n)
      period = std::gcd(period, steps[n].bytes);
    all.push_back({block, period});
    if (inner < steps.size())
      block = llvm::SaturatingMultiplyAdd(steps[inner].bytes,
                                          steps[inner].count - 1, block);
  }
  return all;
}

/// Whether blocks of `second`, which begin `distance` bytes behind those of
/// `first`, meet none of them.
bool areApart(const Blocks &first, const Blocks &second, uint64_t distance) {
  uint64_t period = std::gcd(first.period, second.period);
  if (period == 0)
    return distance >= first.block;
  distance %= period;
  return distance >= first.block && distance + second.block <= period;
}

bool isEmpty(const Tensor4 &tensor) {
  return !tensor.host || llvm::is_contained(tensor.dims, 0);
}

} // namespace

bool mayOverlap(const Tensor4 &a, const Tensor4 &b) {
  if (isEmpty(a) || isEmpty(b))
    return false;
  uint64_t beginA = 0, beginB = 0;
  std::vector<Blocks> first = blocksOf(a, beginA);
  std::vector<Blocks> second = blocksOf(b, beginB);
  if (beginB < beginA) {
    std::swap(beginA, beginB);
    std::swap(first, second);
  }
  for (const Blocks &x : first)
    for (const Blocks &y : second)
      if (areApart(x, y, beginB - beginA))
        return false;
  return true;
}

} // namespace fmha::runtime

//===- Overlap.cpp - Whether two tensors share memory ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Overlap.h"

#include <numeric>
#include <utility>

namespace fmha::launch {
namespace {

/// Returns a * b + c, or the maximum on overflow.
uint64_t multiplyAdd(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) ||
      __builtin_add_overflow(result, c, &result))
    return UINT64_MAX;
  return result;
}

} // namespace

/// A region as blocks of `block` bytes at some multiples of `period` from its
/// begin; one block if the period is 0.
struct Region::Blocks {
  uint64_t block = 0, period = 0;

  /// Returns whether no block of `other`, which begins `distance` bytes after
  /// this region, overlaps a block of this region.
  bool areApartFrom(const Blocks &other, uint64_t distance) const {
    uint64_t common = std::gcd(period, other.period);
    if (common == 0)
      return distance >= block;
    distance %= common;
    return distance >= block && distance + other.block <= common;
  }
};

void Region::add(int64_t bytes, int64_t count) {
  if (count == 0)
    block = 0;
  if (count <= 1 || bytes == 0)
    return;
  uint64_t most = uint64_t(count) - 1, size = uint64_t(bytes);
  if (bytes < 0) {
    size = -size;
    begin -= size * most;
  } else {
    last = multiplyAdd(size, most, last);
  }
  size_t place = rank++;
  for (; place > 0 && steps[place - 1].bytes > size; --place)
    steps[place] = steps[place - 1];
  steps[place] = {size, uint64_t(count)};
}

/// Returns the region with its `inner` innermost dimensions in the block, gaps
/// included.
Region::Blocks Region::blocksFrom(size_t inner) const {
  Blocks blocks{block, 0};
  for (size_t n = 0; n < inner; ++n)
    blocks.block =
        multiplyAdd(steps[n].bytes, steps[n].count - 1, blocks.block);
  for (size_t n = inner; n < rank; ++n)
    blocks.period = std::gcd(blocks.period, steps[n].bytes);
  return blocks;
}

bool mayOverlap(const Region &a, const Region &b) {
  if (!a.block || !b.block || a.last <= b.begin || b.last <= a.begin)
    return false;
  const Region *first = &a, *second = &b;
  if (second->begin < first->begin)
    std::swap(first, second);
  uint64_t distance = second->begin - first->begin;
  for (size_t n = 0; n <= first->rank; ++n)
    for (size_t m = 0; m <= second->rank; ++m)
      if (first->blocksFrom(n).areApartFrom(second->blocksFrom(m), distance))
        return false;
  return true;
}

} // namespace fmha::launch

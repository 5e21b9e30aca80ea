//===- RandomLayouts.h - Layouts that are drawn at random -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_LAYOUT_ALGEBRA_RANDOMLAYOUTS_H
#define FMHA_TEST_LAYOUT_ALGEBRA_RANDOMLAYOUTS_H

#include "fmha/Layout/Algebra/Layout.h"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace fmha::layout::algebra {

/// Returns FMHA_TEST_SEED, which repeats the draw of a failure, or a fixed
/// seed.
inline uint32_t firstSeed() {
  const char *given = std::getenv("FMHA_TEST_SEED");
  return given ? uint32_t(std::atoi(given)) : 20261128u;
}

class Draw {
public:
  explicit Draw(uint32_t seed) : generator(seed) {}

  int64_t below(int64_t end) { return int64_t(generator() % uint64_t(end)); }
  int64_t oneOf(std::initializer_list<int64_t> values) {
    return values.begin()[below(int64_t(values.size()))];
  }
  /// Returns a tree of at most 64 elements.
  IntTuple shape(int64_t modes = 3) {
    std::vector<IntTuple> all;
    int64_t room = 64;
    for (int64_t i = 0, count = 1 + below(modes); i < count; ++i) {
      int64_t extent = std::min(oneOf({1, 2, 2, 3, 4, 4, 6, 8}), room);
      room = std::max<int64_t>(room / extent, 1);
      int64_t inner = std::min(oneOf({1, 2, 3, 4}), room);
      if (below(4) || inner * extent > 64) {
        all.push_back(extent);
        continue;
      }
      room = std::max<int64_t>(room / inner, 1);
      all.push_back(IntTuple::tuple({extent, inner}));
    }
    return all.size() == 1 ? all[0] : IntTuple::tuple(all);
  }
  Layout any(const IntTuple &shape) {
    return {shape, mapLeaves(shape, [&](int64_t) {
              return oneOf({0, 1, 2, 3, 4, 5, 8, 12, 16, -1, -8});
            })};
  }
  /// Returns a layout with each offset once: its leaves are ordered at random,
  /// with gaps of up to `gap` times.
  Layout injective(const IntTuple &shape, int64_t gap) {
    std::vector<int64_t> extents = shape.leaves(), strides(extents.size());
    std::vector<size_t> order(extents.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::shuffle(order.begin(), order.end(), generator);
    int64_t next = 1 + below(gap);
    for (size_t leaf : order) {
      strides[leaf] = next;
      next *= extents[leaf] * (1 + below(gap));
    }
    size_t leaf = 0;
    return {shape, mapLeaves(shape, [&](int64_t) { return strides[leaf++]; })};
  }

private:
  std::mt19937 generator;
};

} // namespace fmha::layout::algebra

#endif // FMHA_TEST_LAYOUT_ALGEBRA_RANDOMLAYOUTS_H

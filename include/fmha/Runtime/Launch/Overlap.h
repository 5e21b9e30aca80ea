//===- Overlap.h - Whether two tensors share memory -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_LAUNCH_OVERLAP_H
#define FMHA_RUNTIME_LAUNCH_OVERLAP_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace fmha::launch {

/// The bytes of a strided tensor: blocks of `block` bytes at every combination
/// of multiples of the added steps.
class Region {
public:
  Region(uint64_t address, uint64_t block)
      : begin(address), block(block), last(address + block) {}
  /// Adds a dimension of `count` steps of `bytes`, which may be negative. At
  /// most 8 dimensions with more than one element can be added.
  void add(int64_t bytes, int64_t count);

  /// Returns whether two regions may share a byte. Returns false if the steps
  /// of both have a common divisor that separates them, as in slices of a
  /// packed [batch, length, 4, heads, dim]; regions that interleave in another
  /// way count as overlapping. Regions without bytes share nothing.
  friend bool mayOverlap(const Region &a, const Region &b);

private:
  struct Step {
    uint64_t bytes = 0, count = 0;
  };
  struct Blocks;
  Blocks blocksFrom(size_t inner) const;

  uint64_t begin, block, last;
  /// Innermost first.
  std::array<Step, 8> steps;
  size_t rank = 0;
};

bool mayOverlap(const Region &a, const Region &b);

} // namespace fmha::launch

#endif // FMHA_RUNTIME_LAUNCH_OVERLAP_H

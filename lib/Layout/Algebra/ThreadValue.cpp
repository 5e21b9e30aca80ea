//===- ThreadValue.cpp - Which thread holds what --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/ThreadValue.h"

#include "fmha/Layout/Algebra/Error.h"

namespace fmha::layout::algebra {

/// Larger layouts are an error, since every value is looked at.
static constexpr int64_t mostOwners = 1 << 20;

std::vector<std::vector<Owner>> ownersOf(const ThreadValue &map) {
  if (map.layout.isLeaf() || map.layout.rank() != 2)
    throw LayoutError("expected a layout of threads and values, such as "
                      "(32,2):(2,1), got " +
                      map.layout.str());
  if (map.layout.size() > mostOwners)
    throw LayoutError("expected at most " + std::to_string(mostOwners) +
                      " values of all threads, got " +
                      std::to_string(map.layout.size()) + "; use one tile");
  int64_t elements = product(map.tile);
  if (map.layout.cosize() > elements)
    throw LayoutError("expected a tile that holds the " +
                      std::to_string(map.layout.cosize()) + " elements of " +
                      map.layout.str() + ", got " + map.tile.str());
  std::vector<std::vector<Owner>> owners(elements);
  for (int64_t thread = 0; thread < map.threads(); ++thread)
    for (int64_t value = 0; value < map.values(); ++value) {
      int64_t at = map.layout(IntTuple::tuple({thread, value}));
      if (at < 0)
        throw LayoutError("expected strides of at least 0, got " +
                          map.layout.str());
      owners[at].push_back({thread, value});
    }
  return owners;
}

} // namespace fmha::layout::algebra

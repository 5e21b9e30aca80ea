//===- Grid.cpp - The grid of a launch ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Grid.h"

#include <algorithm>

namespace fmha::launch {
namespace {

uint64_t countOf(const GridFactor &factor, const RunValues &values) {
  if (factor.constant)
    return factor.constant;
  uint64_t value = values[factor.value];
  return value / factor.divisor + (value % factor.divisor != 0);
}

/// Returns "ceil(q_len 300 / 256) * batch 7".
std::string describe(const std::vector<GridFactor> &factors,
                     const RunValues &values) {
  std::string product;
  for (const GridFactor &factor : factors) {
    std::string text = std::to_string(factor.constant);
    if (!factor.constant)
      text = std::string(nameOf(factor.value)) + " " +
             std::to_string(values[factor.value]);
    if (!factor.constant && factor.divisor != 1)
      text = "ceil(" + text + " / " + std::to_string(factor.divisor) + ")";
    product += (product.empty() ? "" : " * ") + text;
  }
  return product;
}

} // namespace

bool evaluateTiles(const KernelLaunch &launch, const RunValues &values,
                   Grid &grid, std::string &problem) {
  // CUDA Programming Guide, technical specifications per compute capability.
  constexpr uint64_t limits[3] = {0x7fffffff, 65535, 65535};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t extent = 1;
    bool empty = false, saturated = false;
    for (const GridFactor &factor : launch.grid[i]) {
      uint64_t count = countOf(factor, values);
      empty |= count == 0;
      if (__builtin_mul_overflow(extent, count, &extent)) {
        saturated = true;
        extent = UINT64_MAX;
      }
    }
    if (extent > limits[i] && !empty) {
      problem = std::string("the problem is too large for one launch: expected "
                            "a grid extent ") +
                "xyz"[i] + " of at most " + std::to_string(limits[i]) +
                ", got " + (saturated ? "more than " : "") +
                std::to_string(extent) + " = " +
                describe(launch.grid[i], values) +
                "; split the batch into several launches";
      return false;
    }
    grid[i] = empty ? 0 : uint32_t(extent);
  }
  return true;
}

uint32_t boundCtas(const KernelLaunch &launch, uint32_t tiles, uint32_t most) {
  uint32_t cluster = launch.cluster[0];
  return std::min(tiles, std::max(cluster, most - most % cluster));
}

} // namespace fmha::launch

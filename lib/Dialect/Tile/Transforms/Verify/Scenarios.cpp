//===- Scenarios.cpp - The lengths for which kernels are verified ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTrace.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

std::vector<Scenario> KernelTrace::scenarios() const {
  const KernelInfo &info = *kernel.info;
  const schedule::Schedule &schedule = info.schedule;
  int64_t rows = schedule.qTiles * schedule.qTileRows / schedule.packHeads;
  int64_t often = kernel.deepest + 3;
  auto blocks = [&](int64_t queryLength, int64_t trips, bool oracle) {
    // Two sources share the blocks; block 0 has the first part of a split.
    int64_t blocks = trips * schedule.splits;
    int64_t second = info.problem.source2 ? blocks / 2 : 0;
    return Scenario{.queryLength = queryLength,
                    .keyLength = (blocks - second) * schedule.kvBlock,
                    .trips = trips,
                    .oracle = oracle,
                    .tiles = kernel.tiles,
                    .keyLength2 = second * schedule.kvBlock};
  };
  if (info.isProgram) {
    std::vector<Scenario> pairs;
    for (int64_t first : {int64_t(0), int64_t(1), often})
      for (int64_t second : {int64_t(0), int64_t(1), often})
        pairs.push_back(blocks(first * schedule.kvBlock, second, true));
    return pairs;
  }
  // In the last one all query tiles but the first are empty.
  return {blocks(rows, often, true), blocks(rows, 0, true),
          blocks(rows, 1, false), blocks(rows, 2, false), blocks(1, 3, true)};
}

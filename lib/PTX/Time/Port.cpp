//===- Port.cpp - The port of shared memory while wgmma runs --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads, stores and shuffles go through the port from which products read their
// operands. Measured on an H200 (results/h200-shared-port-2026-11-30.csv):
// products come first. A row of banks waits for a clock that they leave free,
// so that it takes 0.9 clocks over the free part of the port, but no less than
// four while products run. If products need the whole port, as with both
// operands in shared memory and 64 columns or less, a row takes 25 clocks and
// products lose one. If each of four warps shuffles once, the last one then
// waits for about 100 clocks. Attention loops with short blocks of keys shuffle
// twice in this way for each row maximum.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

namespace ptxsim::timing {
namespace {

/// A smaller free part of the port is only rounding.
constexpr double kNothingFree = 0.05;

/// Returns the clocks of a row of banks while the product runs.
double rowClocks(const Figures &figures, const Product &product) {
  double free = 1 - product.port;
  if (free < kNothingFree)
    return figures[Figure::WgmmaSharedMost];
  return std::clamp(figures[Figure::WgmmaSharedFree] / free,
                    figures[Figure::WgmmaSharedLeast],
                    figures[Figure::WgmmaSharedMost]);
}

} // namespace

double accessClocks(Doing &doing, double rows) {
  double clocks = rows * 128 / doing.figure(Figure::SharedBytes);
  double begin = std::max(doing.now(), doing.sm().port.freeAt);
  // The access ends at the earliest of the times that the product at its begin
  // allows, that each later product allows, and that no product would allow.
  double end = kNever, lastEnd = begin;
  bool holds = false;
  const std::deque<Product> &products = doing.part().tensor.products;
  // More products wait for a full queue. They are not known yet, so the last
  // one stands for as many.
  bool isFull = products.size() >= size_t(doing.figure(Figure::WgmmaQueue));
  for (const Product &product : products) {
    bool isLast = isFull && &product == &products.back();
    if (product.end <= begin && !isLast)
      continue;
    if (product.begin > lastEnd)
      break;
    double from = std::max(begin, product.begin);
    end =
        std::min(end, from + clocks * rowClocks(doing.state.figures, product));
    holds |= from == begin && 1 - product.port < kNothingFree;
    lastEnd = isLast ? 2 * product.end - products.front().begin : product.end;
  }
  if (holds)
    for (size_t i = 0; i < 4; ++i)
      holdProducts(doing.state.parts[4 * doing.warp.sm + i].tensor, clocks);
  return std::min(end, lastEnd + clocks) - begin;
}

} // namespace ptxsim::timing

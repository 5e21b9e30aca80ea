//===- CostWgmma.cpp - Measured clocks of wgmma kernels -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostWgmma.h"

#include <algorithm>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

WgmmaBlock fmha::schedule::wgmmaBlock(const KernelModel &kernel, double mma,
                                      double exponentials) {
  double keys = kernel.keys, columns = (kernel.headDim + kernel.headDimV) / 2.0;
  bool shared = kernel.pPlacement == PPlacement::Smem;
  double waits = 157 + 1.996 * keys + 2.491 * columns;
  double each = 0.5451 * mma + 0.8491 * exponentials;
  if (shared) {
    waits += 62.1 + 0.3247 * keys;
    each += 0.4655 * keys;
  }
  return {waits + each, waits + kernel.tiles * each};
}

namespace {

/// What a tile takes beside its blocks: its first scores, its last product and
/// its epilogue run beside nothing. Of the next tile the keys and queries are
/// there by then; a new CTA begins by asking for them.
double ofTile(const KernelModel &kernel, double block, bool follows) {
  double columns = (kernel.headDim + kernel.headDimV) / 2.0;
  return follows ? 581.4 + 20.545 * columns + 0.8187 * block
                 : 29.713 * columns + 1.3055 * block;
}

/// What a tile takes at the edges of its mask.
double ofEdges(const KernelModel &kernel, const Mask &mask) {
  constexpr double perKey = 6.34;
  double rows = double(queriesPerCta(kernel));
  unsigned edges = mask.rightBound().has_value() + mask.left.has_value();
  return perKey * edges * std::max<double>(kernel.keys, rows);
}

} // namespace

double fmha::schedule::wgmmaLaunch(const KernelModel &kernel, double block,
                                   const Workload &workload,
                                   const Blocks &blocks, double heads,
                                   double sms) {
  constexpr double launch = 3000;
  double ofHead =
      std::ceil(double(workload.qLen) / double(queriesPerCta(kernel)));
  double tiles = heads * ofHead, mean = blocks.all / std::max(ofHead, 1.0);
  double edges = ofEdges(kernel, workload.mask);
  double first = ofTile(kernel, block, false) + edges;
  double next = ofTile(kernel, block, true) + edges;
  bool uneven = workload.mask.rightBound().has_value();
  double longest = launch + first + blocks.longest * block;
  if (tiles <= sms)
    return longest;
  if (kernel.persistent) {
    // Tiles that differ come in pairs, of which all take as long.
    double of = uneven ? 2 : 1;
    double rounds = of * std::ceil(std::ceil(tiles / of) / sms);
    return launch + first - next + rounds * (next + mean * block);
  }
  if (!uneven)
    return launch + std::ceil(tiles / sms) * (first + mean * block);
  // Whoever is done takes the next one; at the end half of a tile is awaited.
  double all = (tiles / sms + 0.5) * first +
               (tiles * mean / sms + blocks.longest / 4) * block;
  return std::max(longest, launch + all);
}

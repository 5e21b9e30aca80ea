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

/// Of one consumer beside those of other CTAs. Their rings are short, and each
/// brings keys of its own.
static WgmmaBlock blockOfSeveral(const KernelModel &kernel, double mma,
                                 double exponentials) {
  constexpr double held = 2;
  double keys = kernel.keys, columns = (kernel.headDim + kernel.headDimV) / 2.0;
  double stages = kernel.ringBytes / std::max<double>(kernel.messageBytes, 1);
  double panels = keys * columns / 64 / std::max(stages - held, 0.5);
  double waits = 550.9 + 1.145 * keys + 2.635 * panels;
  double each = 0.3556 * mma + 0.9626 * exponentials;
  return {waits + each, waits / kernel.ctasPerSm + each};
}

WgmmaBlock fmha::schedule::wgmmaBlock(const KernelModel &kernel, double mma,
                                      double exponentials) {
  if (kernel.ctasPerSm > 1)
    return blockOfSeveral(kernel, mma, exponentials);
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

constexpr double launch = 3000;

/// Of several CTAs an SM: each waits for itself at the ends of its tiles, and
/// the others work beside it.
double launchOfSeveral(const KernelModel &kernel, const Cost &block,
                       const Blocks &blocks, double tiles, double mean,
                       bool uneven, double sms) {
  double ctas = kernel.ctasPerSm;
  double columns = (kernel.headDim + kernel.headDimV) / 2.0;
  double units = block.qkClocks + block.pvClocks + block.of(Unit::Mufu);
  double waits = 28.557 * columns;
  if (uneven && !kernel.persistent)
    waits += 1158.8;
  if (!uneven && kernel.persistent)
    waits += 190.4;
  double works = 3.1004 * columns + 0.6243 * units;
  double tile = waits / ctas + works;
  double ofSm = tiles / sms, blocksOfSm = ofSm * mean;
  if (uneven && !kernel.persistent) {
    ofSm += ctas / 2;
    blocksOfSm += ctas * blocks.longest / 4;
  } else {
    double of = uneven ? 2 : 1;
    ofSm = ctas * of * std::ceil(std::ceil(tiles / of) / (sms * ctas));
    blocksOfSm = ofSm * mean;
  }
  double alone = waits + works + blocks.longest * block.chain;
  return launch + std::max(alone, ofSm * tile + blocksOfSm * block.clocks);
}

} // namespace

double fmha::schedule::wgmmaLaunch(const KernelModel &kernel, const Cost &cost,
                                   const Workload &workload,
                                   const Blocks &blocks, double heads,
                                   double sms) {
  double block = cost.clocks;
  double ofHead =
      std::ceil(double(workload.qLen) / double(queriesPerCta(kernel)));
  double tiles = heads * ofHead, mean = blocks.all / std::max(ofHead, 1.0);
  if (kernel.ctasPerSm > 1)
    return launchOfSeveral(kernel, cost, blocks, tiles, mean,
                           workload.mask.rightBound().has_value(), sms);
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

//===- Cost.cpp - Measured clocks of wgmma kernels ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unlike those of tensor memory, these clocks were fitted to launches: 3048 of
// them on an H200 (`benchmark/hopper.py search`, 2026-11-22: head dims 64, 128
// and 256, causal and not, lengths 512 to 16384, all candidates with a ring of
// two blocks), with weight on those near the fastest; one constant was then
// adjusted by hand, within 3 %, where two candidates were equal in the model.
// Those of several CTAs per SM were fitted separately, to 360 launches
// (2026-11-23). The mean error of the planner's choices is 2 % (results).
//
//===----------------------------------------------------------------------===//

#include "Cost/FamilyCost.h"

#include <algorithm>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

namespace {

// All coefficients are fitted, in clocks per unit in their name:
// `key` is a key of the block, `column` one of the mean of both head dims,
// `panel` 64 keys and columns that a load transfers per stage in flight, `mma`
// and `mufu` a clock that the unit is busy by the model.

/// Fitted to the 3048 launches of an H200 (above), then again to 9 to 29
/// schedules in each of 36 cells on an H100, with weight on what is chosen
/// (results/h100-prefill-2026-11-26.md).
namespace one {
constexpr double waits = 223.7, waitsPerKey = 3.51, waitsPerColumn = 0.9145,
                 waitsPerPanel = 0.8368;
constexpr double perMma = 0.6153, perMufu = 0.7089;
/// P written to shared memory: per warpgroup, and per consumer.
constexpr double smemWaits = 62.1, smemWaitsPerKey = 0.3247,
                 smemPerKey = 0.4655;
/// The first tile of a CTA, and a later one.
constexpr double firstPerColumn = 28.547, firstPerBlock = 1.6183;
constexpr double nextTile = 437.1, nextPerColumn = 5.9275,
                 nextPerBlock = 0.3313;
/// A key at an edge of the mask.
constexpr double edgePerKey = 10.729;
/// The share that a launch saves of the blocks that consumers skip
/// (results/h100-skipped-blocks-2026-11-26.md).
constexpr double savedBySkipping = 0.35;
} // namespace one

/// Fitted to 360 launches of 2 and 3 CTAs per SM, 2026-11-23, not in results.
/// perMufu was then raised by a tenth, so that an H100 has one CTA per SM from
/// 2048 causal keys on at head dim 64 (results/h100-prefill-2026-11-26.md).
namespace several {
constexpr double waits = 550.9, waitsPerKey = 1.145, waitsPerPanel = 2.635;
constexpr double perMma = 0.3556, perMufu = 1.06;
/// Per tile: its waits, those of a CTA that ends while tiles differ, those of a
/// loop if they do not, and its work.
constexpr double tileWaitsPerColumn = 28.557, unevenEnd = 1158.8,
                 evenLoop = 190.4;
constexpr double tilePerColumn = 3.1004, tilePerUnit = 0.6243;
} // namespace several

/// Clocks of a launch outside its CTAs, fitted to a run that is not in results.
constexpr double launch = 3000;

/// Clocks of a KV block: of one consumer alone on the SM, and of all of a CTA,
/// or its share if an SM has several CTAs. The waits of the first pass once,
/// while others work; the time of the units adds up over consumers.
struct BlockClocks {
  double alone, all;
};

double meanColumns(const KernelModel &kernel) {
  return (kernel.headDim + kernel.headDimV) / 2.0;
}

} // namespace

/// Returns the clocks of one consumer with those of other CTAs. Their rings are
/// short, and each loads different keys.
static BlockClocks blockOfSeveral(const KernelModel &kernel, double mma,
                                  double exponentials) {
  constexpr double held = 2;
  double keys = kernel.keys, columns = meanColumns(kernel);
  double stages = kernel.ringBytes / std::max<double>(kernel.messageBytes, 1);
  double panels = keys * columns / 64 / std::max(stages - held, 0.5);
  double waits = several::waits + several::waitsPerKey * keys +
                 several::waitsPerPanel * panels;
  double each = several::perMma * mma + several::perMufu * exponentials;
  return {waits + each, waits / kernel.ctasPerSm + each};
}

static BlockClocks blockOf(const KernelModel &kernel, double mma,
                           double exponentials) {
  if (kernel.ctasPerSm > 1)
    return blockOfSeveral(kernel, mma, exponentials);
  double keys = kernel.keys;
  double waits = one::waits + one::waitsPerKey * keys +
                 one::waitsPerColumn * meanColumns(kernel) +
                 one::waitsPerPanel * keys * meanColumns(kernel) / 64;
  double each = one::perMma * mma + one::perMufu * exponentials;
  if (kernel.pPlacement == PPlacement::Smem) {
    waits += one::smemWaits + one::smemWaitsPerKey * keys;
    each += one::smemPerKey * keys;
  }
  return {waits + each, waits + kernel.tiles * each};
}

namespace {

/// Returns the clocks of a tile without its blocks: its first scores, its last
/// product and its epilogue overlap with nothing. The keys and queries of a
/// later tile are there by then; a new CTA starts by requesting them.
double ofTile(const KernelModel &kernel, double block, bool follows) {
  double columns = meanColumns(kernel);
  return follows ? one::nextTile + one::nextPerColumn * columns +
                       one::nextPerBlock * block
                 : one::firstPerColumn * columns + one::firstPerBlock * block;
}

/// Returns the clocks of a tile at the edges of its mask.
double ofEdges(const KernelModel &kernel, const Mask &mask) {
  double rows = double(queriesPerCta(kernel));
  unsigned edges = mask.rightBound().has_value() + mask.left.has_value();
  return one::edgePerKey * edges * std::max<double>(kernel.keys, rows);
}

/// Returns the mean number of blocks that the consumers of a CTA skip in total.
/// The mean is over all positions of the diagonal in a KV block.
double skippedBlocks(const KernelModel &kernel) {
  uint64_t rows = queriesPerCta(kernel), keys = kernel.keys;
  uint64_t each = rows / kernel.tiles, skipped = 0;
  auto blocksOf = [&](uint64_t end) { return (end + keys - 1) / keys; };
  for (uint64_t cta = 0; cta < keys; ++cta)
    for (unsigned tile = 1; tile < kernel.tiles; ++tile)
      skipped +=
          blocksOf((cta + 1) * rows) - blocksOf(cta * rows + tile * each);
  return double(skipped) / double(keys);
}

/// Returns the clocks that consumers save at the right edge of a mask, where
/// they skip blocks, in loops over tiles (tile-skip-hidden-blocks).
double savedAtEdge(const KernelModel &kernel, const Mask &mask,
                   const Cost &block) {
  if (kernel.tiles < 2 || !kernel.persistent || !mask.rightBound())
    return 0;
  double ofConsumer = (block.clocks - block.chain) / (kernel.tiles - 1);
  return one::savedBySkipping * skippedBlocks(kernel) *
         std::max(ofConsumer, 0.0);
}

/// Returns the clocks of a launch of several CTAs per SM, each of which waits
/// at the ends of its tiles while the others work.
double launchOfSeveral(const KernelModel &kernel, const Cost &block,
                       const Blocks &blocks, double tiles, double mean,
                       bool uneven, double sms) {
  double ctas = kernel.ctasPerSm;
  double columns = meanColumns(kernel);
  double units = block.qkClocks + block.pvClocks + block.of(Unit::Mufu);
  double waits = several::tileWaitsPerColumn * columns;
  if (uneven && !kernel.persistent)
    waits += several::unevenEnd;
  if (!uneven && kernel.persistent)
    waits += several::evenLoop;
  double works =
      several::tilePerColumn * columns + several::tilePerUnit * units;
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

/// Returns the clocks of a launch from those of a block.
static double launchOf(const LaunchWork &work) {
  const auto &[kernel, cost, workload, blocks, heads, gpu, waves] = work;
  double sms = gpu.sms;
  double block = cost.clocks;
  double tiles = heads * blocks.tiles;
  double mean = blocks.all / std::max(blocks.tiles, 1.0);
  if (kernel.ctasPerSm > 1)
    return launchOfSeveral(kernel, cost, blocks, tiles, mean,
                           workload.mask.rightBound().has_value(), sms);
  double edges =
      ofEdges(kernel, workload.mask) - savedAtEdge(kernel, workload.mask, cost);
  double first = ofTile(kernel, block, false) + edges;
  double next = ofTile(kernel, block, true) + edges;
  bool uneven = workload.mask.rightBound().has_value();
  double longest = launch + first + blocks.longest * block;
  if (tiles <= sms)
    return longest;
  // The last tiles are the shortest, so all CTAs end at about the same time.
  if (kernel.draws && uneven)
    return launch + first - next + (tiles / sms + 0.5) * next +
           (tiles * mean / sms + 0.5) * block;
  if (kernel.persistent) {
    // Tiles that differ come in pairs with equal sums.
    double of = uneven ? 2 : 1;
    double rounds = of * std::ceil(std::ceil(tiles / of) / sms);
    return launch + first - next + rounds * (next + mean * block);
  }
  if (!uneven)
    return launch + std::ceil(tiles / sms) * (first + mean * block);
  // A CTA that is done takes the next tile; the last ones wait half a tile.
  double all = (tiles / sms + 0.5) * first +
               (tiles * mean / sms + blocks.longest / 4) * block;
  return std::max(longest, launch + all);
}

/// Returns the clocks of loads. A consumer holds K of a block and V of the
/// previous one, so only further messages are in flight, each for the memory
/// latency and its transfer. (Measured on an H100, head dim 256: 3 stages of 96
/// keys take 1.4 times as long per key as 4 of 80.) Consumers that share the
/// columns of O multiply by V before the scores of the next block.
static double loadsOf(const KernelModel &kernel, const target::Target &gpu,
                      const Cost &) {
  double held = kernel.consumers > 1 ? 1 : 2;
  double messages = kernel.shareKv ? 1 : 2;
  double bytes = kernel.messageBytes;
  double underWay = std::max(0.5, kernel.ringBytes / bytes - held);
  return messages * (gpu.memoryLatency + bytes / gpu.l2BytesPerClock) /
         underWay;
}

/// Counts an emulated exponential as two (measured, see results).
static void setClocks(const KernelModel &kernel, const target::Target &gpu,
                      double, Cost &cost) {
  double mma = cost.qkClocks + cost.pvClocks;
  double scores = double(kernel.tileRows) * kernel.keys;
  double emulated = scores * kernel.emulated / gpu.mufuPerClock;
  double exponentials = cost.of(Unit::Mufu) / kernel.tiles + 2 * emulated;
  BlockClocks block = blockOf(kernel, mma, exponentials);
  cost.chain = block.alone;
  cost.clocks =
      kernel.ctasPerSm > 1 ? block.all : std::max(block.all, cost.loads);
}

constinit const FamilyCost fmha::schedule::wgmmaCost = {
    // A consumer starts the scores of the next block before it waits for these.
    .scoreStages = 2,
    .measured = true,
    .modelsConversions = false,
    .emulation = ", each of which took as long as two",
    .block = nullptr,
    .loads = loadsOf,
    .setClocks = setClocks,
    .launch = launchOf};

//===- Estimate.cpp - Modeled time of a whole launch ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Cost/Estimate.h"

#include "FamilyCost.h"

#include "fmha/Schedule/Model/TileOrder.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

namespace {

uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Returns the sum of clamp(x, 0, most) over the integers of [begin, end).
double clampedSum(double begin, double end, double most) {
  auto upTo = [&](double x) {
    // Nothing below 0, then a triangle, then `most` each.
    double rising = std::clamp(x, 0.0, most + 1);
    return rising * (rising - 1) / 2 + std::max(x - (most + 1), 0.0) * most;
  };
  return upTo(end) - upTo(begin);
}

/// Returns the unmasked scores of one head: those before the right edge of the
/// band minus those before its left edge.
double scoresOf(const Workload &w) {
  double q = double(w.qLen), kv = double(w.kvLen);
  double offset = w.mask.isTopLeft() ? 0 : kv - q;
  double before = q * kv, hidden = 0;
  if (std::optional<unsigned> right = w.mask.rightBound())
    before = clampedSum(offset + *right + 1, offset + *right + 1 + q, kv);
  if (w.mask.left)
    hidden = clampedSum(offset - *w.mask.left, offset - *w.mask.left + q, kv);
  return std::max(before - hidden, 0.0);
}

/// Returns the KV blocks that hold the keys of rows [begin, end).
uint64_t blocksOfRows(const KernelModel &kernel, const Workload &w,
                      uint64_t begin, uint64_t end) {
  KeyRange keys = w.mask.keysOf(int64_t(begin), int64_t(end), int64_t(w.qLen),
                                int64_t(w.kvLen));
  if (keys.first == keys.end)
    return 0;
  return ceilDiv(uint64_t(keys.end), kernel.keys) -
         uint64_t(keys.first) / kernel.keys;
}

uint64_t ctasOfBlocks(const KernelModel &kernel) {
  return ctasOfRows(kernel.packHeads, kernel.ctaGroup);
}

/// Returns the query rows of the CTAs that go through the same blocks.
uint64_t rowsOfBlocks(const KernelModel &kernel) {
  return ctasOfBlocks(kernel) * queriesPerCta(kernel);
}

/// Returns the blocks of a head of one sequence, those of such CTAs once.
Blocks countBlocksOfSequence(const KernelModel &kernel, const Workload &w) {
  // With more CTAs the steps along the diagonal do not matter.
  constexpr uint64_t mostCounted = 1024;
  uint64_t rows = rowsOfBlocks(kernel);
  double longest = double(ceilDiv(w.kvLen, kernel.keys));
  double tiles = double(ceilDiv(w.qLen, rows));
  if (w.mask.isFull())
    return {longest * tiles, longest, tiles};
  if (w.mask.left && w.mask.rightBound()) {
    uint64_t band = rows + *w.mask.left + *w.mask.rightBound();
    longest = std::min(longest, double(ceilDiv(band, kernel.keys) + 1));
  }
  if (ceilDiv(w.qLen, rows) > mostCounted)
    return {scoresOf(w) / (double(rows) * kernel.keys), longest, tiles};
  Blocks blocks{0, 0, tiles};
  for (uint64_t begin = 0; begin < w.qLen; begin += rows) {
    uint64_t end = std::min(begin + rows, w.qLen);
    double mine = double(blocksOfRows(kernel, w, begin, end));
    blocks.all += mine;
    blocks.longest = std::max(blocks.longest, mine);
  }
  return blocks;
}

/// Returns the blocks of a mean sequence. The lengths of a packed batch are
/// assumed to be spread evenly from 0 to twice those of the workload, so that
/// the last blocks are partial as often as in batches of many lengths.
Blocks countBlocks(const KernelModel &kernel, const Workload &w) {
  if (!kernel.packedSequences)
    return countBlocksOfSequence(kernel, w);
  constexpr uint64_t lengths = 8;
  Blocks mean;
  for (uint64_t n = 0; n < lengths; ++n) {
    Workload sequence = w;
    sequence.qLen = ceilDiv(w.qLen * (2 * n + 1), lengths);
    sequence.kvLen = ceilDiv(w.kvLen * (2 * n + 1), lengths);
    Blocks own = countBlocksOfSequence(kernel, sequence);
    mean.all += own.all / lengths;
    mean.tiles += own.tiles / lengths;
    mean.longest = std::max(mean.longest, own.longest);
  }
  return mean;
}

/// Returns the FLOP of both products over the unmasked scores.
double flops(const KernelModel &kernel, const Workload &w) {
  double columns = kernel.headDim + double(kernel.headDimV) * kernel.passes;
  return 2 * scoresOf(w) * columns * double(w.batch * w.qHeads);
}

double memoryBytes(const KernelModel &kernel, const Workload &w) {
  double v = double(kernel.headDimV) * kernel.passes;
  double output = v * kernel.elementBytes;
  if (kernel.splits > 1)
    output = v * sizeof(float) * kernel.splits;
  double queries = double(w.qHeads * w.qLen) *
                   (double(kernel.headDim) * kernel.elementBytes + output);
  // The union of the keys that all rows see.
  KeyRange seen =
      w.mask.keysOf(0, int64_t(w.qLen), int64_t(w.qLen), int64_t(w.kvLen));
  double keys =
      double(w.kvHeads) * double(seen.end - seen.first) *
      (kernel.headDim + (kernel.shareKv || kernel.valueInKey ? 0 : v));
  return double(w.batch) * (queries + keys * kernel.elementBytes);
}

/// Returns the share of splits with a KV block: all have as many but the last.
double usedParts(const Blocks &blocks, unsigned splits) {
  double each = std::ceil(blocks.longest / splits);
  return each > 0 ? std::ceil(blocks.longest / each) / splits : 1;
}

/// Returns the clocks of the merge kernel, which runs after the first one. A
/// thread has the loads of eight partial outputs in flight; beyond that they
/// come from memory. Fitted to 600 launches on an H200 (results), and assumed
/// to hold for Blackwell.
double combineClocks(const KernelModel &kernel, const Workload &w) {
  constexpr double launch = 7000, round = 1250, partsPerRound = 8;
  if (kernel.splits <= 1)
    return 0;
  const target::Target &gpu = *target::findTarget(kernel.target);
  double columns = double(kernel.headDimV) * kernel.passes;
  double bytes = double(w.batch * w.qHeads * w.qLen) * columns *
                 (sizeof(float) * kernel.splits + kernel.elementBytes);
  double bytesPerClock = gpu.memoryGigabytes * 1e3 / gpu.clockMhz;
  return launch + std::max(round * std::ceil(kernel.splits / partsPerRound),
                           bytes / bytesPerClock);
}

} // namespace

uint64_t fmha::schedule::queriesPerCta(const KernelModel &kernel) {
  return std::max(1u, kernel.tiles * kernel.tileRows / kernel.packHeads);
}

uint64_t fmha::schedule::headParts(const KernelModel &kernel,
                                   const Workload &w) {
  if (kernel.packHeads == 1 || !w.kvHeads)
    return w.qHeads;
  return w.kvHeads * ceilDiv(w.qHeads / w.kvHeads, kernel.packHeads);
}

const Blocks &Launches::blocksOf(const KernelModel &kernel) {
  uint64_t rows = rowsOfBlocks(kernel);
  for (const Counted &one : counted)
    if (one.rows == rows && one.keys == kernel.keys)
      return one.blocks;
  counted.push_back({rows, kernel.keys, countBlocks(kernel, workload)});
  return counted.back().blocks;
}

double Launches::clocks(const KernelModel &kernel, const Cost &block,
                        const Estimate &sofar) {
  const target::Target &gpu = *target::findTarget(kernel.target);
  Blocks blocks = blocksOf(kernel);
  blocks.tiles *= double(ctasOfBlocks(kernel));
  blocks.all = blocks.all * double(ctasOfBlocks(kernel)) / kernel.splits;
  blocks.longest = std::ceil(blocks.longest / kernel.splits);
  double heads = double(workload.batch * headParts(kernel, workload) *
                        kernel.passes * kernel.splits);
  return familyServing(&gpu, kernel.family)
      .cost.launch({kernel, block, workload, blocks, heads, gpu, sofar.waves});
}

Estimate Launches::estimate(const KernelModel &kernel, const Cost &block) {
  const target::Target *gpu = target::findTarget(kernel.target);
  assert(gpu && "no such target");
  Estimate result;
  result.tiles = workload.batch * headParts(kernel, workload) * kernel.passes *
                 kernel.splits * ctasOfBlocks(kernel) *
                 ceilDiv(workload.qLen, rowsOfBlocks(kernel));
  if (result.tiles == 0)
    return result;
  result.ctas = kernel.mostCtas
                    ? std::min<uint64_t>(result.tiles, kernel.mostCtas)
                    : result.tiles;
  unsigned atOnce = gpu->sms * kernel.ctasPerSm;
  result.waves = double(ceilDiv(result.tiles, atOnce));
  result.occupancy = usedParts(blocksOf(kernel), kernel.splits) *
                     double(result.tiles) / (result.waves * atOnce);
  double hertz = gpu->clockMhz * 1e6;
  double memory = memoryBytes(kernel, workload) / (gpu->memoryGigabytes * 1e9);
  result.blockClocks = clocks(kernel, block, result);
  double compute = result.blockClocks / hertz;
  result.memoryBound = memory > compute;
  result.combineClocks = combineClocks(kernel, workload);
  result.seconds = std::max(memory, compute) + result.combineClocks / hertz;
  result.clocks = result.seconds * hertz;
  result.teraflops = flops(kernel, workload) / result.seconds * 1e-12;
  return result;
}

Estimate fmha::schedule::estimate(const KernelModel &kernel,
                                  const Workload &workload) {
  return Launches(workload).estimate(kernel, modelCost(kernel));
}

std::optional<Workload> fmha::schedule::workloadOf(const Problem &problem) {
  if (!problem.batchHint || !problem.qHeadsHint || !problem.kvHeadsHint ||
      !problem.qLenHint || !problem.kvLenHint)
    return std::nullopt;
  // No GPU holds that many rows or keys, and counts of CTAs would overflow.
  constexpr double most = 1e12;
  double heads = double(problem.batchHint) * problem.qHeadsHint;
  if (heads * std::max(problem.qLenHint, problem.kvLenHint) > most)
    return std::nullopt;
  return Workload{problem.batchHint, problem.qHeadsHint, problem.kvHeadsHint,
                  problem.qLenHint,  problem.kvLenHint,  problem.mask};
}

std::optional<Workload> fmha::schedule::workloadOf(const Problem &problem,
                                                   const Schedule &schedule) {
  std::optional<Workload> workload = workloadOf(problem);
  if (workload && problem.kvLenMeanHint && splitsByLength(schedule))
    workload->kvLen =
        std::min<uint64_t>(workload->kvLen, problem.kvLenMeanHint);
  return workload;
}

//===- Cost.cpp - Modeled clocks of mma.sync kernels ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modeled from rates, but for the clocks of a block besides its units. A CTA
// computes its products and softmax in turn (the chain); the CTAs of an SM
// overlap, so that a block takes the busiest unit's clocks or the share of the
// chain, whichever is longer.
//
//===----------------------------------------------------------------------===//

#include "Cost/FamilyCost.h"

#include "fmha/Schedule/Cost/CostModel.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// Per block and row of the tile: two shuffles of each of the maximum's steps,
/// and the arithmetic of statistics, an estimate. Per block: two barriers,
/// waits and addresses, and products that begin and end: fitted to blocks of
/// 32, 48 and 64 keys of head dim 128, run as sm_80 code on an H200, where they
/// take as long as 13 keys.
constexpr double clocksPerRow = 1, clocksPerBlock = 600;
/// Operations per score: scale, subtract and sum; maxima.
constexpr double fmaPerScore = 2, maximaPerScore = 1, conversionsPerScore = 0.5;

/// Bytes that the four warps read by ldmatrix: each reads all of K and V, and
/// its own rows of Q.
double readBytes(const KernelModel &kernel) {
  constexpr double warps = 4, bytes = 2;
  double columns = double(kernel.headDim) + kernel.headDimV;
  return bytes * (warps * kernel.keys * columns +
                  double(kernel.tileRows) * kernel.headDim);
}

/// Returns how many blocks an SM with that many CTAs computes in the time of
/// one: two overlap, and further ones add a little (head dim 64 with three and
/// four CTAs on an H200: 2.0 to 2.4).
double overlapOf(unsigned ctas) {
  constexpr unsigned whole = 2;
  constexpr double ofMore = 0.15;
  return ctas <= whole ? std::max(1u, ctas) : whole + ofMore * (ctas - whole);
}

} // namespace

static Cost block(const KernelModel &kernel, const target::Target &gpu) {
  Cost cost;
  double keys = kernel.keys, rows = kernel.tileRows, scores = keys * rows;
  double both = double(kernel.headDim) + kernel.headDimV;
  double stored =
      keys * (kernel.shareKv ? kernel.headDim : both) * kernel.elementBytes;
  auto at = [&](Unit unit) -> double & { return cost.busy[unsigned(unit)]; };
  cost.traffic.smemRead = readBytes(kernel);
  cost.traffic.smemWritten = stored;
  cost.traffic.l2Read = stored;
  cost.qkClocks = 2 * scores * kernel.headDim / gpu.mmaFlopsPerClock;
  cost.pvClocks = 2 * scores * kernel.headDimV / gpu.mmaFlopsPerClock;
  // Each product begins with an empty pipe.
  at(Unit::Mma) = cost.qkClocks + cost.pvClocks + 2.0 * gpu.mmaLatency;
  at(Unit::Mufu) = scores * (1 - kernel.emulated) / gpu.mufuPerClock;
  at(Unit::Fma) = fmaPerScore * scores / gpu.fmaPerClock;
  at(Unit::Alu) = maximaPerScore * scores / gpu.aluPerClock +
                  conversionsPerScore * scores / gpu.convertPerClock;
  at(Unit::Smem) = (cost.traffic.smemRead + cost.traffic.smemWritten) /
                   gpu.smemBytesPerClock;
  at(Unit::L2) = stored / gpu.l2BytesPerClock;
  cost.softmaxClocks =
      at(Unit::Mufu) + at(Unit::Fma) + at(Unit::Alu) + clocksPerRow * rows;
  cost.chain = std::max(at(Unit::Mma), at(Unit::Smem)) + cost.softmaxClocks +
               clocksPerBlock;
  double share = cost.chain / overlapOf(kernel.ctasPerSm);
  double busiest = cost.of(cost.bound());
  cost.serial = share > busiest;
  cost.clocks = std::max(share, busiest);
  return cost;
}

/// Returns the clocks of a launch: blocks of all CTAs of an SM, the first loads
/// and the last stores of each round of CTAs.
static double launch(const LaunchWork &work) {
  constexpr double trips = 2;
  double all = work.heads * work.blocks.all / work.gpu.sms;
  double tiles = work.heads * work.blocks.tiles / work.gpu.sms;
  double ofTiles = trips * work.gpu.memoryLatency /
                   std::max(1u, work.kernel.ctasPerSm) * tiles;
  double longest =
      work.blocks.longest * work.block.chain + trips * work.gpu.memoryLatency;
  return std::max(all * work.block.clocks + ofTiles, longest);
}

constinit const FamilyCost fmha::schedule::mmaSyncCost = {.scoreStages = 1,
                                                          .measured = false,
                                                          .modelsConversions =
                                                              false,
                                                          .emulation = "",
                                                          .block = block,
                                                          .loads = nullptr,
                                                          .setClocks = nullptr,
                                                          .launch = launch};

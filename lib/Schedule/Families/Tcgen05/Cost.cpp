//===- Cost.cpp - Modeled clocks with tensor memory -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost/FamilyCost.h"

#include "fmha/Schedule/Model/Turns.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

using namespace fmha;
using namespace fmha::schedule;

/// Returns the clocks of a warpgroup that converts a block. Its threads load
/// 128 bytes each, wait for L2, to which they have prefetched, convert and
/// store: no load is in flight while they convert.
static double conversions(const KernelModel &kernel, const target::Target &gpu,
                          const Traffic &traffic) {
  constexpr double bytesOfTrip = 128.0 * target::warpgroupThreads;
  double latency = gpu.memoryLatency / 2.0;
  double trips = traffic.l2Read / bytesOfTrip * latency;
  double elements = traffic.l2Read / kernel.elementBytes;
  return trips + elements * kernel.conversionsPerElement / gpu.convertPerClock;
}

namespace {

/// Simulates the loads of a query tile with two S. A thread loads messages in
/// the order `loads`, each when its slot is free; products read them in the
/// order `reads`.
class RingPlay {
public:
  RingPlay(const KernelModel &kernel, const target::Target &gpu,
           const Cost &cost);
  /// Returns the clocks per block in the steady state, or infinity if a product
  /// waits for a message whose slot only a later product frees.
  double run();

private:
  struct Message {
    bool ofValue;
    double arrived = 0, freed = -1;
  };
  struct Read {
    unsigned message, block;
    double clocks;
    bool ofValue, frees;
  };

  void addMessages();
  void addReads(unsigned block, bool ofValue);
  bool load(unsigned number);

  static constexpr unsigned blocks = 12, settled = 4;
  const Rings &rings;
  const target::Target &gpu;
  const Cost &cost;
  /// In program order: for each block those of K, then those of V.
  std::vector<Message> messages;
  std::vector<Read> reads;
  std::vector<unsigned> loads;
  /// The messages that each ring has held, in the order of their loads.
  std::vector<unsigned> held[2];
  double begun = 0;
};

} // namespace

/// The last block issues no Q.K, so it is not counted.
RingPlay::RingPlay(const KernelModel &kernel, const target::Target &gpu,
                   const Cost &cost)
    : rings(kernel.rings), gpu(gpu), cost(cost) {
  addMessages();
  addReads(0, false);
  for (unsigned block = 0; block < blocks; ++block) {
    if (block + 1 < blocks)
      addReads(block + 1, false);
    addReads(block, true);
  }
  for (unsigned number = 0; number < messages.size(); ++number)
    loads.push_back(number);
  // Messages of a shared ring are numbered in program order.
  if (rings.valueStages)
    for (size_t n = 0; n < loads.size(); ++n)
      loads[n] = reads[n].message;
}

void RingPlay::addMessages() {
  for (unsigned block = 0; block < blocks; ++block) {
    messages.insert(messages.end(), rings.keyMessages, {false});
    messages.insert(messages.end(), rings.valueMessages, {true});
  }
}

/// Adds the reads of a block's K or V. Of one message for both, P.V reads K's.
void RingPlay::addReads(unsigned block, bool ofValue) {
  bool separate = rings.valueMessages;
  unsigned first = block * (rings.keyMessages + rings.valueMessages);
  unsigned count =
      ofValue && separate ? rings.valueMessages : rings.keyMessages;
  if (ofValue && separate)
    first += rings.keyMessages;
  double clocks = (ofValue ? cost.pvClocks : cost.qkClocks) / count;
  for (unsigned n = 0; n < count; ++n)
    reads.push_back({first + n, block, clocks, ofValue, ofValue || separate});
}

/// Loads a message. Returns false if its slot is never free.
bool RingPlay::load(unsigned number) {
  Message &message = messages[number];
  bool own = message.ofValue && rings.valueStages;
  std::vector<unsigned> &ring = held[own];
  size_t stages = own ? rings.valueStages : rings.stages;
  uint64_t bytes = message.ofValue ? rings.valueBytes : rings.keyBytes;
  double free = begun;
  if (ring.size() >= stages) {
    double freed = messages[ring[ring.size() - stages]].freed;
    if (freed < 0)
      return false;
    free = std::max(free, freed);
  }
  ring.push_back(number);
  begun = free + double(bytes) / gpu.l2BytesPerClock;
  message.arrived = begun + gpu.memoryLatency;
  return true;
}

double RingPlay::run() {
  double clock = 0, start = 0, end = 0;
  size_t loaded = 0;
  for (const Read &read : reads) {
    Message &message = messages[read.message];
    while (message.arrived == 0)
      if (!load(loads[loaded++]))
        return std::numeric_limits<double>::infinity();
    clock = std::max(clock, message.arrived) + read.clocks;
    if (read.frees)
      message.freed = clock;
    if (read.ofValue && read.block + 1 == settled)
      start = clock;
    if (read.ofValue && read.block + 2 == blocks)
      end = clock;
  }
  return (end - start) / (blocks - 1 - settled);
}

/// Returns the clocks of loads; the message that an MMA reads is not in flight.
static double loads(const KernelModel &kernel, const target::Target &gpu,
                    const Cost &cost) {
  const Traffic &traffic = cost.traffic;
  if (kernel.conversionsPerElement)
    return conversions(kernel, gpu, traffic);
  if (kernel.tiles == 1 && kernel.scoreStages > 1 && kernel.rings.stages)
    return RingPlay(kernel, gpu, cost).run();
  double free = std::max<double>(1, double(kernel.ringBytes) -
                                        double(kernel.messageBytes));
  return traffic.l2Read * gpu.memoryLatency / free;
}

namespace {

/// A row of SoftmaxStreams.def.
struct Stream {
  unsigned mufuPerClock, keys;
  bool apart, masked;
  unsigned emulated, slices;
  double first, last, loop;
};

} // namespace

static constexpr Stream streams[] = {
#define FMHA_STREAM(...) {__VA_ARGS__},
#include "fmha/Schedule/Cost/SoftmaxStreams.def"
};

/// Returns the order in which ptxas emits the softmax of `kernel`, or null if
/// it was not read.
static const Stream *streamOf(const KernelModel &kernel,
                              const target::Target &gpu) {
  constexpr unsigned rows = 128, head = 64;
  bool wasRead = kernel.compiled && kernel.tiles == 2 &&
                 kernel.tileRows == rows && kernel.scoreStages == 1 &&
                 kernel.pPlacement == PPlacement::Tmem &&
                 std::min(kernel.headDim, kernel.headDimV) >= head;
  if (!wasRead)
    return nullptr;
  const Stream *found = std::ranges::find_if(streams, [&](const Stream &one) {
    return one.mufuPerClock == gpu.mufuPerClock && one.keys == kernel.keys &&
           one.apart == kernel.probabilitiesApart &&
           one.masked == kernel.masked && one.slices == kernel.pSlices &&
           one.emulated == std::lround(kernel.emulated * 100);
  });
  return found == std::end(streams) ? nullptr : found;
}

/// Returns whether the tensor core bounds the loop (tile-assign-partitions), so
/// that the products of tiles whose P is apart take turns.
static bool takeTurns(const KernelModel &kernel, const target::Target &gpu) {
  return kernel.probabilitiesApart &&
         kernel.headDim + kernel.headDimV >= multiplicationsOfTurns(gpu);
}

/// Returns the clocks of a block of two tiles whose softmax is `stream`.
static double orderedClocks(const Stream &stream, const KernelModel &kernel,
                            const target::Target &gpu, const Cost &cost) {
  // 441 slots of 1697 clocks, without emulation and in two slices.
  constexpr double slotsOfOther = 0.25;
  // The scores of the next block are there when softmax has stored P, so a
  // block takes as long as softmax, and as what it waits for exponentials of
  // the other tile. The shares were chosen by the ten kernels of
  // test/data/stepped whose P is apart: tiles that take turns wait less.
  double exponentialsOfOther = takeTurns(kernel, gpu) ? 0.5 : 0.75;
  if (kernel.probabilitiesApart)
    return stream.loop +
           cost.of(Unit::Mufu) / kernel.tiles * exponentialsOfOther;
  double products =
      cost.qkClocks + std::max(stream.first + cost.pvClocks,
                               stream.last + cost.pvClocks / stream.slices);
  double waits = gpu.mmaLatency + gpu.probabilityLatency +
                 (kernel.commits ? gpu.mmaLatency : 0);
  double alone = products + waits;
  return alone + std::max(0.0, 2 * stream.loop - alone) * slotsOfOther;
}

static void setClocks(const KernelModel &kernel, const target::Target &gpu,
                      double unitClocks, Cost &cost) {
  cost.clocks = std::max(unitClocks, cost.chain);
  const Stream *stream = streamOf(kernel, gpu);
  if (!stream)
    return;
  cost.ordered =
      std::max(unitClocks, orderedClocks(*stream, kernel, gpu, cost));
  // No product is part of the chain then.
  if (takeTurns(kernel, gpu))
    cost.clocks = cost.chain = cost.ordered;
}

static bool runsAhead(const KernelModel &kernel) {
  return kernel.persistent && !kernel.restarts;
}

/// Returns the clocks of one more tile of an SM without its blocks: with a CTA
/// of its own, from its start to its end; otherwise what does not overlap with
/// the tile before. Tiles that take turns end one after the other, and both
/// CTAs of a pair wait for the slower one. Figures of the timing model by SASS,
/// head dims 64 and 128 (results/blackwell-ahead-2026-11-29.md, of turns and
/// pairs results/blackwell-pairs-two-tiles-2026-11-29.md).
static double nextTile(const KernelModel &kernel, const target::Target &gpu) {
  constexpr double ahead = 300, aheadPerColumn = 12, aheadInTurns = 900,
                   aheadInPair = 200;
  constexpr double own = 5000, ownPerColumn = 23, ownInPair = 900;
  double columns = kernel.headDimV;
  bool inPair = kernel.ctaGroup > 1;
  if (!runsAhead(kernel))
    return own + ownPerColumn * columns + (inPair ? ownInPair : 0);
  return ahead + aheadPerColumn * columns +
         (takeTurns(kernel, gpu) ? aheadInTurns : 0) +
         (inPair ? aheadInPair : 0);
}

/// Returns the factor by which a block takes longer in a CTA that runs ahead:
/// medians of draws of the timing model by SASS, in pairs (the same results).
/// It is 1 within their spread in the other cells, and of tiles that take turns
/// (results/blackwell-pairs-two-tiles-2026-11-29.md).
static double slowdown(const KernelModel &kernel, const target::Target &gpu) {
  constexpr double withFastExp = 1.05, maskedNarrow = 1.03;
  constexpr unsigned slowExp = 16, narrow = 64;
  if (!kernel.compiled || !runsAhead(kernel) || takeTurns(kernel, gpu))
    return 1;
  if (gpu.mufuPerClock > slowExp)
    return withFastExp;
  return kernel.masked && kernel.headDim <= narrow ? maskedNarrow : 1;
}

/// The longest tiles come first, so all SMs end at about the same time.
static double launch(const LaunchWork &work) {
  double trips = 2.0 * work.gpu.memoryLatency, sms = work.gpu.sms;
  bool isUniform = work.workload.mask.isFull() && !work.kernel.packedSequences;
  double rounds = isUniform
                      ? work.waves
                      : std::max(1.0, work.heads * work.blocks.tiles / sms);
  double even = isUniform ? work.waves * work.blocks.longest
                          : work.heads * work.blocks.all / sms;
  double blocks = std::max(even, work.blocks.longest) * work.block.clocks;
  return blocks * slowdown(work.kernel, work.gpu) + trips +
         (rounds - 1) * nextTile(work.kernel, work.gpu);
}

constinit const FamilyCost fmha::schedule::tcgen05Cost = {
    .scoreStages = 1,
    .measured = false,
    .modelsConversions = true,
    .emulation = "",
    .block = nullptr,
    .loads = loads,
    .setClocks = setClocks,
    .launch = launch};

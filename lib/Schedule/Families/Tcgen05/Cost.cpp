//===- Cost.cpp - Modeled clocks with tensor memory -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost/FamilyCost.h"

#include <algorithm>
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

/// Plays out the loads of one query tile: messages that a thread loads in one
/// order and products read in another one, each of them when its slot is free.
class RingPlay {
public:
  RingPlay(const KernelModel &kernel, const target::Target &gpu,
           const Cost &cost);
  /// Returns the clocks of a block once the loop has settled, infinity if the
  /// products wait for a message that waits for them.
  double run();

private:
  struct Message {
    bool ofValue;
    double clocks, arrived = 0, read = -1;
  };

  void addOrder(std::vector<unsigned> &order, bool scoresFirst) const;
  bool load(unsigned number);

  static constexpr unsigned blocks = 12, settled = 4;
  const KernelModel &kernel;
  const target::Target &gpu;
  /// What a product waits for between Q·K and P·V of a block.
  double softmax = 0;
  /// Of all blocks: those of K, then those of V, block by block.
  std::vector<Message> messages;
  std::vector<unsigned> loads, reads;
  /// The messages that each ring has held, in the order of their loads.
  std::vector<unsigned> held[2];
  double begun = 0;
};

} // namespace

RingPlay::RingPlay(const KernelModel &kernel, const target::Target &gpu,
                   const Cost &cost)
    : kernel(kernel), gpu(gpu) {
  if (kernel.scoreStages == 1)
    softmax = std::max(0.0, cost.chain - cost.qkClocks - cost.pvClocks);
  for (unsigned block = 0; block < blocks; ++block) {
    messages.insert(messages.end(), kernel.keyMessages,
                    {false, cost.qkClocks / kernel.keyMessages});
    messages.insert(messages.end(), kernel.valueMessages,
                    {true, cost.pvClocks / kernel.valueMessages});
  }
  bool scoresFirst = kernel.scoreStages > 1;
  addOrder(reads, scoresFirst);
  addOrder(loads, scoresFirst && kernel.valueStages);
}

/// Appends the numbers of all messages: K, V, K, V, ... or, if the scores of
/// the next block come first, K, K, V, K, V, ...
void RingPlay::addOrder(std::vector<unsigned> &order, bool scoresFirst) const {
  unsigned ofBlock = kernel.keyMessages + kernel.valueMessages;
  auto add = [&](unsigned block, bool values) {
    unsigned first = block * ofBlock + (values ? kernel.keyMessages : 0);
    unsigned count = values ? kernel.valueMessages : kernel.keyMessages;
    for (unsigned n = 0; n < count; ++n)
      order.push_back(first + n);
  };
  for (unsigned block = 0; block < blocks; ++block) {
    if (!scoresFirst || block == 0)
      add(block, false);
    if (scoresFirst && block + 1 < blocks)
      add(block + 1, false);
    add(block, true);
  }
}

/// Loads a message. Returns false if its slot is never free.
bool RingPlay::load(unsigned number) {
  Message &message = messages[number];
  bool own = message.ofValue && kernel.valueStages;
  std::vector<unsigned> &ring = held[own];
  size_t stages = own ? kernel.valueStages : kernel.keyStages;
  double transfer = kernel.messageBytes / double(gpu.l2BytesPerClock);
  double free = begun;
  if (ring.size() >= stages) {
    double read = messages[ring[ring.size() - stages]].read;
    if (read < 0)
      return false;
    free = std::max(free, read);
  }
  ring.push_back(number);
  begun = free + transfer;
  message.arrived = begun + gpu.memoryLatency;
  return true;
}

double RingPlay::run() {
  double clock = 0, start = 0;
  size_t loaded = 0;
  unsigned ofBlock = kernel.keyMessages + kernel.valueMessages;
  bool wasValue = true;
  for (unsigned number : reads) {
    Message &message = messages[number];
    while (message.arrived == 0)
      if (!load(loads[loaded++]))
        return std::numeric_limits<double>::infinity();
    if (message.ofValue && !wasValue)
      clock += softmax;
    wasValue = message.ofValue;
    clock = message.read = std::max(clock, message.arrived) + message.clocks;
    if (number + 1 == settled * ofBlock)
      start = clock;
  }
  return (clock - start) / (blocks - settled);
}

/// Returns the clocks of loads; the message that an MMA reads is not in flight.
static double loads(const KernelModel &kernel, const target::Target &gpu,
                    const Cost &cost) {
  const Traffic &traffic = cost.traffic;
  if (kernel.conversionsPerElement)
    return conversions(kernel, gpu, traffic);
  if (kernel.tiles == 1 && (kernel.valueStages || kernel.scoreStages > 1))
    return RingPlay(kernel, gpu, cost).run();
  double free = std::max<double>(1, double(kernel.ringBytes) -
                                        double(kernel.messageBytes));
  return traffic.l2Read * gpu.memoryLatency / free;
}

static void setClocks(const KernelModel &, const target::Target &,
                      double unitClocks, Cost &cost) {
  cost.clocks = std::max(unitClocks, cost.chain);
}

static double launch(const LaunchWork &work) {
  double trips = 2.0 * work.gpu.memoryLatency;
  double tripsPaid = work.kernel.persistent ? 1 : work.waves;
  bool isUniform = work.workload.mask.isFull() && !work.kernel.packedSequences;
  double even = isUniform ? work.waves * work.blocks.longest
                          : work.heads * work.blocks.all / work.gpu.sms;
  return std::max(even, work.blocks.longest) * work.block.clocks +
         tripsPaid * trips;
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

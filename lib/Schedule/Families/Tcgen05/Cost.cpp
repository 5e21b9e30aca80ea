//===- Cost.cpp - Modeled clocks with tensor memory -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost/FamilyCost.h"

#include <algorithm>

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

/// Returns the clocks of loads; the message that an MMA reads is not in flight.
static double loads(const KernelModel &kernel, const target::Target &gpu,
                    const Traffic &traffic) {
  if (kernel.conversionsPerElement)
    return conversions(kernel, gpu, traffic);
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

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

/// Returns the clocks of loads; the message that an MMA reads is not in flight.
static double loads(const KernelModel &kernel, const target::Target &gpu,
                    const Traffic &traffic) {
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
  double even = work.workload.mask.isFull()
                    ? work.waves * work.blocks.longest
                    : work.heads * work.blocks.all / work.gpu.sms;
  return std::max(even, work.blocks.longest) * work.block.clocks +
         tripsPaid * trips;
}

constinit const FamilyCost fmha::schedule::tcgen05Cost = {.scoreStages = 1,
                                                          .measured = false,
                                                          .emulation = "",
                                                          .block = nullptr,
                                                          .loads = loads,
                                                          .setClocks =
                                                              setClocks,
                                                          .launch = launch};

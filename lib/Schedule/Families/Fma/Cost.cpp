//===- Cost.cpp - Modeled clocks of plain threads ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost/FamilyCost.h"

#include "fmha/Schedule/Cost/CostModel.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

/// Returns the clocks of units for one block of keys: an FMA for each element
/// of a key and of a value and each row, and an exponential for each score.
/// Shared memory and latencies are not modeled, since several CTAs of an SM
/// hide each other's. Memory, which bounds most launches, is a part of the
/// estimate of a launch.
static Cost block(const KernelModel &kernel, const target::Target &gpu) {
  constexpr double unitOfKeys = 128;
  double keys = kernel.keys, rows = kernel.tileRows;
  double columns = double(kernel.headDim) + kernel.headDimV;
  Cost cost;
  cost.traffic.l2Read = keys * columns * kernel.elementBytes;
  cost.busy[unsigned(Unit::Fma)] = keys * rows * columns / gpu.fmaPerClock;
  cost.busy[unsigned(Unit::Mufu)] = keys * rows / gpu.mufuPerClock;
  cost.busy[unsigned(Unit::L2)] = cost.traffic.l2Read / gpu.l2BytesPerClock;
  cost.clocks = cost.of(cost.bound());
  cost.clocksPerRow = cost.clocks * kernel.passes * unitOfKeys / (rows * keys);
  return cost;
}

/// Returns the blocks of an SM, at least those of one CTA, and the two trips to
/// memory at the ends of a CTA.
static double launch(const LaunchWork &work) {
  double trips = 2.0 * work.gpu.memoryLatency;
  double even = work.heads * work.blocks.all / work.gpu.sms;
  return std::max(even, work.blocks.longest) * work.block.clocks + trips;
}

constinit const FamilyCost fmha::schedule::fmaCost = {.scoreStages = 1,
                                                      .measured = false,
                                                      .modelsConversions =
                                                          false,
                                                      .emulation = "",
                                                      .block = block,
                                                      .loads = nullptr,
                                                      .setClocks = nullptr,
                                                      .launch = launch};

//===- TraceBarriers.cpp - The barriers of a kernel, by number ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceBarriers.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

void TraceBarriers::declareStages(StringRef name, unsigned count,
                                  unsigned arrivals, bool ready) {
  for (unsigned stage = 0; stage < count; ++stage) {
    std::string suffix = count == 1 ? "" : "[" + std::to_string(stage) + "]";
    kernel.declared.barriers.push_back({name.str() + suffix, arrivals, ready});
  }
  kernel.deepest = std::max(kernel.deepest, count);
}

void TraceBarriers::declare(BarrierOp op) {
  uint32_t first = kernel.declared.barriers.size();
  unsigned count = op.getType().getCount();
  barriers[op.getResult()] = {first, count};
  declareStages(op.getName(), count, op.getArrivals(), false);
}

ChannelBarriers TraceBarriers::declareChannel(ChannelOp op) {
  ChannelBarriers made{uint32_t(kernel.declared.barriers.size()),
                       TracedEffect::none, op.getDepth(),
                       uint32_t(kernel.declared.channels.size()), op};
  declareStages((op.getName() + ".full").str(), op.getDepth(),
                op.getProducerArrivals(), true);
  if (op.hasReleaseBarrier()) {
    made.free = kernel.declared.barriers.size();
    declareStages((op.getName() + ".free").str(), op.getDepth(),
                  op.getConsumerArrivals(), true);
  }
  kernel.declared.channels.push_back(
      {op.getName().str(), op.getDepth(), !op.getUnreleased()});
  return made;
}

LogicalResult TraceBarriers::declareChannels(gpu::GPUFuncOp func) {
  llvm::StringMap<uint32_t> freeByName;
  SmallVector<ChannelOp> ops;
  func.walk([&](ChannelOp op) { ops.push_back(op); });
  for (ChannelOp op : ops) {
    ChannelBarriers made = declareChannel(op);
    freeByName[op.getName()] = made.free;
    channels[op.getResult()] = made;
  }
  for (ChannelOp op : ops) {
    if (!op.getReleasedBy())
      continue;
    auto found = freeByName.find(*op.getReleasedBy());
    if (found == freeByName.end() || found->second == TracedEffect::none)
      return op.emitOpError() << "is released by \"" << *op.getReleasedBy()
                              << "\", which is no channel with releases";
    channels[op.getResult()].free = found->second;
  }
  return success();
}

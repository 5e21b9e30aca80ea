//===- Cluster.cpp - CTAs and their operations ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"
#include "fmha/PTX/Sim/Core/Races/Races.h"

using namespace ptxsim;

Cta::Cta(Cluster &cluster, Dim3 id, uint32_t rank)
    : cluster(cluster), machine(cluster.machine), id(id), rank(rank),
      sharedEnd(machine.sharedEnd) {
  shared.assign(sharedEnd, 0xCD);
  if (machine.options.policy != Policy::Exhaustive)
    unnotedEnd = sharedEnd;
  uint64_t threads = machine.config.block.count();
  if (machine.report.marksMemory())
    sharedMarks.assign(sharedEnd, 0);
  for (uint64_t first = 0; first < threads; first += 32) {
    uint64_t lanes = std::min<uint64_t>(32, threads - first);
    warps.push_back(std::make_unique<Warp>(*this, unsigned(first / 32),
                                           LaneMask(lowBits(unsigned(lanes)))));
  }
  liveWarps = unsigned(warps.size());
  const Dim3 &grid = machine.config.grid;
  uint64_t number = (uint64_t(id.z) * grid.y + id.y) * grid.x + id.x;
  const auto &trace = machine.options.trace;
  if (trace && trace->cta == number && trace->warp < warps.size())
    warps[trace->warp]->tracer = machine.tracer.get();
  Observer *observer = machine.options.observer;
  if (observer && observer->watches(cluster))
    for (auto &warp : warps)
      warp->observer = observer;
}

Cta::~Cta() = default;

Cluster::Cluster(Machine &machine, uint64_t number, Dim3 firstCta, Dim3 shape)
    : machine(machine), number(number), first(firstCta), shape(shape),
      // Splitmix64 of the seed, so that seeds 0 and 1 are unrelated.
      randomState(machine.options.scheduleSeed + 0x9E3779B97F4A7C15ull +
                  number * 0xD1342543DE82EF95ull) {
  uint32_t rank = 0;
  for (uint32_t z = 0; z < shape.z; ++z)
    for (uint32_t y = 0; y < shape.y; ++y)
      for (uint32_t x = 0; x < shape.x; ++x)
        ctas.push_back(std::make_unique<Cta>(
            *this, Dim3{first.x + x, first.y + y, first.z + z}, rank++));
  if (machine.races)
    races = std::make_unique<Races>(*this, *machine.races);
}

Cluster::~Cluster() = default;

Dim3 ptxsim::firstCta(const Machine &machine, uint64_t cluster) {
  const Dim3 &grid = machine.config.grid, &shape = machine.clusterShape;
  uint64_t columns = grid.x / shape.x, rows = grid.y / shape.y;
  return {uint32_t(cluster % columns) * shape.x,
          uint32_t(cluster / columns % rows) * shape.y,
          uint32_t(cluster / (columns * rows)) * shape.z};
}

uint64_t ptxsim::drawBelow(uint64_t bound, uint64_t &generator) {
  generator += 0x9E3779B97F4A7C15ull;
  uint64_t z = generator;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return uint64_t((static_cast<unsigned __int128>(z) * bound) >> 64);
}

uint64_t Cluster::random(uint64_t bound) {
  return drawBelow(bound, randomState);
}

bool Cluster::spurious() {
  return machine.options.randomized() && random(8) == 0;
}

void Cluster::notify(const void *key) {
  ++changes;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      warp->wake(key);
}

AsyncOpId Cluster::issue(std::unique_ptr<AsyncOp> op) {
  AsyncOpId id = nextOp++;
  if (const Warp *warp = op->site.warp)
    op->number = const_cast<Warp *>(warp)->opsIssued++;
  ops.push_back({id, std::move(op)});
  // Under eager completion every predecessor is already done.
  if (machine.options.policy == Policy::Eager)
    completeOp(ops.size() - 1);
  return id;
}

bool Cluster::isDone(AsyncOpId id) const {
  for (const auto &[other, op] : ops)
    if (other == id)
      return false;
  return true;
}

bool Cluster::eligible(size_t index) const {
  for (AsyncOpId id : ops[index].second->after)
    if (!isDone(id))
      return false;
  return true;
}

void Cluster::completeOp(size_t index) {
  // Remove the operation from the queue first: warps that it wakes may call
  // isDone.
  std::unique_ptr<AsyncOp> op = std::move(ops[index].second);
  ops.erase(ops.begin() + ptrdiff_t(index));
  ++changes;
  op->complete(*this);
}

bool Cluster::completeOne(bool randomly) {
  std::vector<size_t> ready;
  for (size_t i = 0; i < ops.size(); ++i)
    if (eligible(i)) {
      ready.push_back(i);
      if (!randomly)
        break;
    }
  if (ready.empty())
    return false;
  completeOp(ready[randomly ? random(ready.size()) : 0]);
  return true;
}

void Cluster::lanesExited(Warp &warp) {
  ++changes;
  if (!warp.live)
    --warp.cta.liveWarps;
  if (!warp.live && races)
    races->memory.warpExits(warp);
  // Exits may complete a barrier, in any order.
  machine.noteBarriers(warp.cta, false);
  machine.noteClusterBarrier(false);
  barriersAfterExit(warp.cta);
  completeClusterBarrier(*this);
}

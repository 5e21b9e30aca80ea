//===- Barriers.cpp - Named barriers and the cluster barrier ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.1 to 9.7.13.4. A whole warp counts as 32 threads, even if it
// has fewer; a part of a warp (only without .aligned) counts its lanes. Exited
// threads no longer count for a barrier without a thread count.
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"
#include "fmha/PTX/Sim/Core/Machine/OtherAccessors.h"
#include "fmha/PTX/Sim/Core/Races/Races.h"

using namespace ptxsim;

namespace {

struct BarrierData {
  bool waits = true;
  bool aligned = true;
  char reduction = 0; // 'p'opc, 'a'nd, 'o'r
};

uint32_t allThreads(const Cta &cta) {
  uint32_t threads = 0;
  for (const auto &warp : cta.warps)
    threads += warp->live ? 32 : 0;
  return threads;
}

uint32_t expectedBy(const Cta &cta, const NamedBarrier &barrier) {
  return barrier.expected ? barrier.expected : allThreads(cta);
}

uint64_t resultOf(const NamedBarrier &barrier, char op) {
  return op == 'p' ? barrier.popc : op == 'a' ? barrier.all : barrier.any;
}

void complete(Cta &cta, NamedBarrier &barrier) {
  for (const NamedBarrier::Pending &pending : barrier.pending) {
    uint64_t result = resultOf(barrier, pending.op);
    eachLane(pending.lanes,
             [&](unsigned lane) { (*pending.row)[lane] = result; });
  }
  if (Races *races = cta.cluster.races.get())
    races->edges.complete(barrier.sync);
  uint64_t generation = barrier.generation + 1;
  barrier = NamedBarrier();
  barrier.generation = generation;
  cta.cluster.notify(&barrier);
}

std::string describeBarrier(const Warp &warp, const Wait &wait) {
  const NamedBarrier &barrier = warp.cta.barriers[wait.data[0]];
  return "barrier " + std::to_string(wait.data[0]) + " has " +
         std::to_string(barrier.arrived) + " of " +
         std::to_string(expectedBy(warp.cta, barrier)) + " threads";
}

void explainBarrier(const Warp &warp, const Wait &wait, WaitObject &object) {
  const NamedBarrier &barrier = warp.cta.barriers[wait.data[0]];
  object.kind = "barrier";
  object.name = "barrier " + std::to_string(wait.data[0]);
  object.pendingArrivals =
      int64_t(expectedBy(warp.cta, barrier)) - int64_t(barrier.arrived);
}

void collect(Warp &warp, const Instruction &inst, const BarrierData &data,
             NamedBarrier &barrier, LaneMask active) {
  LaneMask set = lanesSet(warp.row(inst.src[2])) & active;
  barrier.popc += uint32_t(std::popcount(set));
  barrier.all = barrier.all && set == active;
  barrier.any = barrier.any || set != 0;
  barrier.pending.push_back({&warp.row(inst.dst[0]), active, data.reduction});
}

bool checkOperands(Warp &warp, const Instruction &inst, LaneMask active,
                   uint64_t id, uint64_t count) {
  bool uniform = true;
  eachLane(active, [&](unsigned lane) {
    uniform = uniform && warp.row(inst.src[0])[lane] == id &&
              (!inst.src[1].valid() || warp.row(inst.src[1])[lane] == count);
  });
  bool counted = inst.src[1].valid();
  if (uniform && id < 16 && (!counted || (count && count % 32 == 0)))
    return true;
  warp.machine.fault(FindingId::BarrierBadOperand, warp.site(inst),
                     "got id " + std::to_string(id) + " and count " +
                         std::to_string(count) +
                         (uniform ? "." : ", not the same in all lanes."));
  return false;
}

/// Reports an arrival to an observer, and the wait that comes with it.
void observe(const Warp &warp, const void *object, uint64_t phase, bool waits) {
  if (!warp.observer)
    return;
  warp.observer->signals(warp, object, phase);
  if (waits)
    warp.observer->passes(warp, object, phase + 1);
}

/// src: id, count or none, predicate of .red or none.
Outcome executeBarrier(Warp &warp, const Instruction &inst, LaneMask active) {
  const BarrierData &data = inst.data<BarrierData>();
  uint64_t id = warp.uniform(inst.src[0], active);
  uint64_t count = inst.src[1].valid() ? warp.uniform(inst.src[1], active) : 0;
  if (!checkOperands(warp, inst, active, id, count))
    return Outcome::Fault;
  Cta &cta = warp.cta;
  NamedBarrier &barrier = cta.barriers[id];
  warp.machine.noteBarriers(cta, true);
  if (barrier.arrived && barrier.expected != count)
    warp.machine.report.add(
        FindingId::BarrierMismatch, warp.site(inst),
        "barrier " + std::to_string(id) + " expected " +
            std::to_string(expectedBy(cta, barrier)) + " threads, got " +
            (count ? std::to_string(count) : "no count") + ".",
        otherAt("the arrival before was that of", barrier.lastArrival));
  barrier.expected = uint32_t(count);
  bool whole = data.aligned || active == warp.live;
  barrier.arrived += whole ? 32 : uint32_t(std::popcount(active));
  cta.cluster.changed();
  if (Races *races = racesOf(warp)) {
    LaneMask lanes = whole ? warp.live : active;
    races->edges.arrive(warp, lanes, barrier.sync, inst.order, cta.rank);
    if (data.waits)
      barrier.sync.waiting.push_back(&warp);
  }
  observe(warp, &barrier, barrier.generation,
          data.waits && (data.aligned || active == warp.live));
  if (data.reduction)
    collect(warp, inst, data, barrier, active);
  uint32_t expected = expectedBy(cta, barrier);
  if (barrier.arrived > expected)
    warp.machine.report.add(
        FindingId::BarrierMismatch, warp.site(inst),
        "barrier " + std::to_string(id) + " expected " +
            std::to_string(expected) + " threads, got " +
            std::to_string(barrier.arrived) + ".",
        otherAt("the arrival before was that of", barrier.lastArrival));
  barrier.lastArrival = warp.site(inst);
  if (barrier.arrived >= expected) {
    complete(cta, barrier);
    return Outcome::Next;
  }
  if (!data.waits)
    return Outcome::Next;
  warp.wait = {&barrier, false, {id}, describeBarrier, nullptr, explainBarrier};
  return Outcome::NextAndWait;
}

void decodeBarrier(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"cta", "sync", "arrive", "red", "aligned", "popc",
                           "and", "or", "u32", "pred"});
  BarrierData data;
  bool isBar = decoder.text().parts[0] == "bar";
  if (isBar && decoder.has("aligned"))
    decoder.unsupported("bar is aligned without the word: drop .aligned, or "
                        "write barrier");
  data.aligned = isBar || decoder.has("aligned");
  data.waits = !decoder.has("arrive");
  bool reduces = decoder.has("red");
  if (reduces)
    data.reduction = decoder.has("popc") ? 'p' : decoder.has("and") ? 'a' : 'o';
  size_t at = reduces ? 1 : 0, last = reduces ? 1 : 0;
  decoder.expectOperands(at + 1 + last, at + 2 + last);
  if (reduces)
    inst.dst =
        decoder.destinations(0, data.reduction == 'p' ? Type::U32 : Type::Pred);
  std::vector<Operand> src(3);
  src[0] = decoder.source(at, Type::U32);
  if (decoder.size() == at + 2 + last)
    src[1] = decoder.source(at + 1, Type::U32);
  else if (!data.waits)
    decoder.unsupported("arrive wants a thread count");
  if (reduces)
    src[2] = decoder.source(decoder.size() - 1, Type::Pred);
  inst.src = decoder.keep(src);
  inst.payload = decoder.payload(data);
  inst.order = {race::Scope::Cta, true, true};
  inst.convergence = data.aligned ? Convergence::Aligned : Convergence::None;
  inst.handler = executeBarrier;
}

Outcome arriveAtCluster(Warp &warp, const Instruction &inst, LaneMask active) {
  if (LaneMask twice = active & warp.clusterOwesWait)
    warp.machine.report.add(FindingId::ClusterBarrier,
                            warp.site(inst, std::countr_zero(twice)),
                            "the lane has arrived and not waited since.");
  warp.machine.noteClusterBarrier(true);
  warp.clusterArrived |= active;
  warp.clusterOwesWait |= active;
  if (Races *races = racesOf(warp))
    races->edges.arrive(warp, active, warp.cluster.clusterSync, inst.order,
                        warp.cta.rank);
  observe(warp, &warp.cluster.clusterGeneration, warp.cluster.clusterGeneration,
          false);
  warp.cluster.changed();
  completeClusterBarrier(warp.cluster);
  return Outcome::Next;
}

std::string describeCluster(const Warp &warp, const Wait &) {
  std::string text = "cluster barrier, phase " +
                     std::to_string(warp.cluster.clusterGeneration) +
                     "; not arrived:";
  for (const auto &cta : warp.cluster.ctas)
    for (const auto &other : cta->warps)
      if (other->live & ~other->clusterArrived)
        text += " rank " + std::to_string(cta->rank) + " warp " +
                std::to_string(other->index);
  return text;
}

void explainCluster(const Warp &warp, const Wait &, WaitObject &object) {
  object.kind = object.name = "cluster barrier";
  object.phase = warp.cluster.clusterGeneration;
  int64_t missing = 0;
  for (const auto &cta : warp.cluster.ctas)
    for (const auto &other : cta->warps)
      missing += std::popcount(other->live & ~other->clusterArrived);
  object.pendingArrivals = missing;
}

Outcome waitAtCluster(Warp &warp, const Instruction &inst, LaneMask active) {
  if (LaneMask missing = active & ~warp.clusterOwesWait)
    warp.machine.report.add(FindingId::ClusterBarrier,
                            warp.site(inst, std::countr_zero(missing)),
                            "the lane waits and has not arrived.");
  warp.machine.noteClusterBarrier(true);
  // Arrivals that have not completed are still in the mask of this phase.
  bool pending = (warp.clusterArrived & active & warp.clusterOwesWait) != 0;
  warp.clusterOwesWait &= ~active;
  if (warp.observer && active == warp.live)
    warp.observer->passes(warp, &warp.cluster.clusterGeneration,
                          warp.cluster.clusterGeneration + pending);
  SyncPoint &sync = warp.cluster.clusterSync;
  if (!pending) {
    if (Races *races = racesOf(warp))
      races->edges.acquire(warp, sync, inst.order);
    return Outcome::Next;
  }
  sync.waiting.push_back(&warp);
  warp.wait = {&warp.cluster.clusterGeneration,
               false,
               {},
               describeCluster,
               nullptr,
               explainCluster};
  return Outcome::NextAndWait;
}

void decodeClusterBarrier(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"cluster", "arrive", "wait", "release", "acquire",
                           "relaxed", "aligned"});
  decoder.expectOperands(0, 0);
  bool arrives = decoder.has("arrive");
  inst.order = decoder.ordering({race::Scope::Cluster, !arrives, arrives});
  inst.convergence =
      decoder.has("aligned") ? Convergence::Aligned : Convergence::None;
  inst.handler = arrives ? arriveAtCluster : waitAtCluster;
}

} // namespace

void ptxsim::completeClusterBarrier(Cluster &cluster) {
  bool any = false;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      if (warp->live & ~warp->clusterArrived)
        return;
      any |= warp->clusterArrived != 0;
    }
  if (!any)
    return;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      warp->clusterArrived = 0;
  if (cluster.races)
    cluster.races->edges.complete(cluster.clusterSync);
  ++cluster.clusterGeneration;
  cluster.notify(&cluster.clusterGeneration);
}

void ptxsim::barriersAfterExit(Cta &cta) {
  for (NamedBarrier &barrier : cta.barriers)
    if (barrier.arrived && barrier.arrived >= expectedBy(cta, barrier))
      complete(cta, barrier);
}

void ptxsim::registerBarriers(Registry &registry) {
  registry.add("bar", decodeBarrier);
  registry.add("barrier", decodeBarrier);
  registry.add("barrier.cluster", decodeClusterBarrier);
}

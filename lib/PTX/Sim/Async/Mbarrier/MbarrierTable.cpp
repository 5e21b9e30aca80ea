//===- MbarrierTable.cpp - The mbarriers of a CTA -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MbarrierTable.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"

namespace ptxsim {
namespace {

FindingId findingOf(MbarrierFault fault) {
  static constexpr std::array<FindingId, 7> ids = {
      FindingId::Count,
      FindingId::MbarrierNotInitialized,
      FindingId::MbarrierCount,
      FindingId::MbarrierUnderflow,
      FindingId::MbarrierTxRange,
      FindingId::MbarrierTxRange,
      FindingId::MbarrierDropsLast};
  return ids[unsigned(fault)];
}

std::string describeSite(const Site &site) {
  std::string text;
  if (site.warp)
    text += " by warp " + std::to_string(site.warp->index);
  if (site.lane >= 0)
    text += " lane " + std::to_string(site.lane);
  if (site.inst)
    text += " (line " + std::to_string(site.inst->line) + ")";
  return text;
}

std::string describeEvent(const BarrierEvent &event) {
  return std::string(event.what) + " " + std::to_string(event.amount) +
         describeSite(event.site);
}

/// Calls `visit` for the recorded events, oldest first.
template <typename Visit>
void eachEvent(const BarrierEntry &entry, const Visit &visit) {
  unsigned size = unsigned(entry.events.size());
  unsigned first = entry.eventCount > size ? entry.eventCount - size : 0;
  for (unsigned i = first; i < entry.eventCount; ++i)
    visit(entry.events[i % size]);
}

std::vector<std::string> eventsOf(const BarrierEntry &entry) {
  std::vector<std::string> list;
  eachEvent(entry, [&](const BarrierEvent &event) {
    list.push_back(describeEvent(event));
  });
  return list;
}

std::string lastEvents(const BarrierEntry &entry) {
  std::string text;
  for (const std::string &event : eventsOf(entry))
    text += (text.empty() ? "; last events: " : ", ") + event;
  return text;
}

} // namespace

void BarrierEntry::know(const Warp &warp, LaneMask lanes,
                        const Instruction &inst) {
  for (PhaseKnown &old : known)
    if (old.warp == &warp)
      old.lanes &= ~lanes;
  std::erase_if(known, [](const PhaseKnown &old) { return !old.lanes; });
  known.push_back({&warp, lanes, object.phase, &inst});
}

PhaseKnown BarrierEntry::lastKnown(const Warp &warp, LaneMask lanes) const {
  PhaseKnown own, any;
  for (const PhaseKnown &old : known) {
    if (old.warp != &warp)
      continue;
    if (old.completed >= any.completed)
      any = old;
    if ((old.lanes & lanes) && old.completed >= own.completed)
      own = old;
  }
  return own.warp ? own : any;
}

BarrierEntry &MbarrierTable::at(uint32_t offset) {
  std::unique_ptr<BarrierEntry> &entry = entries[offset];
  if (!entry) {
    entry = std::make_unique<BarrierEntry>();
    entry->offset = offset;
  }
  return *entry;
}

Site MbarrierTable::barrierAt(uint32_t offset, uint32_t bytes) const {
  for (const auto &[at, entry] : entries)
    if (entry->object.live && overlap(at, Mbarrier::stateBytes, offset, bytes))
      return entry->lastInit;
  return {};
}

/// Returns the site that set the expected number of arrivals.
static Other initOf(const BarrierEntry &entry) {
  std::string state = entry.object.describeState() + lastEvents(entry);
  if (!entry.lastInit.warp)
    return state;
  return {"the init" + describeSite(entry.lastInit) + "; " + state,
          entry.lastInit};
}

/// Reports bytes that the open phase still expects, or has received in excess.
static void reportBytes(const Cta &cta, const BarrierEntry &entry) {
  const Mbarrier &object = entry.object;
  cta.machine.report.add(
      FindingId::MbarrierTxLeft, entry.lastExpect,
      "mbarrier at shared " + describeShared(cta, entry.offset) +
          " ends with tx-count " + std::to_string(object.tx) + ", expected 0",
      object.describeState() + lastEvents(entry));
}

/// Reports an open phase with incomplete arrivals: the count of the init does
/// not match the arrivals. No arrivals at all is how every loop over phases
/// ends.
static void reportArrivals(const Cta &cta, const BarrierEntry &entry) {
  const Mbarrier &object = entry.object;
  uint32_t arrived = object.expected - object.pending;
  cta.machine.report.add(
      FindingId::MbarrierArrivalsLeft, entry.lastArrival,
      "mbarrier at shared " + describeShared(cta, entry.offset) +
          " ends with " + std::to_string(arrived) + " of " +
          std::to_string(object.expected) + " arrivals, expected all or none.",
      initOf(entry));
}

void MbarrierTable::atCtaExit(Cta &cta) {
  for (auto &[offset, entry] : entries) {
    const Mbarrier &object = entry->object;
    if (!object.live)
      continue;
    if (object.tx != 0)
      reportBytes(cta, *entry);
    else if (object.pending < object.expected)
      reportArrivals(cta, *entry);
  }
}

BarrierEntry *findBarrier(Cluster &cluster, const Site &site,
                          uint32_t address) {
  SharedRef ref =
      resolveShared(cluster, site, address, Mbarrier::stateBytes, 8);
  if (!ref)
    return nullptr;
  BarrierEntry &entry = ref.cta->states.get<MbarrierTable>().at(ref.offset);
  entry.rank = ref.cta->rank;
  return &entry;
}

/// Returns true for faults that another count in the init could have avoided.
static bool isOfCount(MbarrierFault fault) {
  return fault == MbarrierFault::ArriveUnderflow ||
         fault == MbarrierFault::DropsLast;
}

/// Reports an operation in the phase to an observer. init begins at phase 0.
static void observe(const Site &site, const BarrierEntry &entry,
                    uint64_t phase) {
  const Warp *warp = site.warp;
  if (!warp || !warp->observer)
    return;
  if (site.inst == entry.lastInit.inst)
    warp->observer->initializes(*warp, &entry);
  else
    warp->observer->signals(*warp, &entry, phase);
}

bool settle(Cluster &cluster, const Site &site, BarrierEntry &entry,
            MbarrierFault fault, uint64_t phaseBefore, const char *what,
            uint32_t amount) {
  if (fault != MbarrierFault::None) {
    char where[16];
    std::snprintf(where, sizeof where, "0x%x", entry.offset);
    Other state = entry.object.describeState() + lastEvents(entry);
    cluster.machine.fault(findingOf(fault), site,
                          std::string(what) + " " + std::to_string(amount) +
                              " on the mbarrier at shared " + where + ": " +
                              describe(fault),
                          isOfCount(fault) ? initOf(entry) : state);
    return false;
  }
  bool completes = entry.object.phase != phaseBefore;
  entry.record({what, amount, site, phaseBefore, completes});
  observe(site, entry, phaseBefore);
  if (completes) {
    if (cluster.races) {
      cluster.races->barriers.checkPhaseOverrun(site, entry.offset, entry.sync);
      cluster.races->edges.complete(entry.sync);
    }
    cluster.notify(&entry);
  }
  cluster.changed();
  return true;
}

RaceTicket ticketFor(const Site &site, RaceStream &stream,
                     const std::vector<uint32_t> &addresses) {
  Cluster &cluster = site.warp->cluster;
  for (uint32_t address : addresses)
    if (BarrierEntry *entry = findBarrier(cluster, site, address)) {
      const Cta &cta = *cluster.ctas[entry->rank];
      cluster.races->barriers.barrierSignal(stream, site, cta, entry->offset,
                                            entry->sync);
    }
  return cluster.races->edges.ticket(site, stream);
}

RaceTicket ticketFor(const Site &site, RaceStream &stream, uint32_t address) {
  return ticketFor(site, stream, std::vector<uint32_t>{address});
}

/// Joins what the signal carries before the phase may complete.
static void deliver(Cluster &cluster, const RaceTicket &ticket,
                    BarrierEntry &entry) {
  if (cluster.races)
    cluster.races->edges.arrive(ticket, entry.sync);
}

bool completeTx(Cluster &cluster, const Site &site, uint32_t address,
                uint32_t bytes, const RaceTicket &ticket) {
  BarrierEntry *entry = findBarrier(cluster, site, address);
  if (!entry)
    return false;
  deliver(cluster, ticket, *entry);
  uint64_t phase = entry->object.phase;
  MbarrierFault fault = entry->object.completeTx(bytes);
  return settle(cluster, site, *entry, fault, phase, "complete_tx", bytes);
}

bool arriveOnce(Cluster &cluster, const Site &site, uint32_t address,
                const RaceTicket &ticket) {
  BarrierEntry *entry = findBarrier(cluster, site, address);
  if (!entry)
    return false;
  deliver(cluster, ticket, *entry);
  entry->lastArrival = site;
  uint64_t phase = entry->object.phase;
  MbarrierFault fault = entry->object.arrive();
  return settle(cluster, site, *entry, fault, phase, "arrive", 1);
}

std::string describeBarrierWait(const Warp &warp, const Wait &wait) {
  const auto &entry = *reinterpret_cast<const BarrierEntry *>(wait.data[0]);
  char where[16];
  std::snprintf(where, sizeof where, "0x%x", entry.offset);
  return "mbarrier at shared " + std::string(where) +
         ": waits for the end of a phase of parity " +
         std::to_string(wait.data[1]) + ", is in " +
         entry.object.describeState() + lastEvents(entry);
}

void explainBarrierWait(const Warp &warp, const Wait &wait,
                        WaitObject &object) {
  const auto &entry = *reinterpret_cast<const BarrierEntry *>(wait.data[0]);
  object.kind = "mbarrier";
  object.address = entry.offset;
  object.name = sharedName(warp.machine, entry.offset);
  object.parityWanted = unsigned(wait.data[1]);
  object.phase = entry.object.phase;
  object.pendingArrivals = entry.object.pending;
  object.pendingBytes = entry.object.tx;
  object.events = eventsOf(entry);
}

/// Returns the phase that a wait has missed, if any. A wait is for the first
/// phase of its parity that the lanes have not observed. If two more phases
/// have completed since, the running phase has that parity again, and the phase
/// waited for can no longer be observed.
std::optional<MissedPhase> missedPhase(const Warp &warp, const Wait &wait) {
  const auto &entry = *reinterpret_cast<const BarrierEntry *>(wait.data[0]);
  PhaseKnown last = entry.lastKnown(warp, LaneMask(wait.data[2]));
  MissedPhase missed;
  PhaseOverrun &facts = missed.facts;
  facts.parity = unsigned(wait.data[1]);
  facts.phase = last.completed + ((last.completed ^ facts.parity) & 1);
  if (facts.phase >= entry.object.phase)
    return std::nullopt;
  facts.barrier = sharedName(warp.machine, entry.offset);
  facts.completedSince = entry.object.phase - last.completed;
  facts.lastWaitLine = last.inst ? last.inst->line : 0;
  eachEvent(entry, [&](const BarrierEvent &event) {
    if (event.site.inst == entry.lastInit.inst || event.phase < facts.phase ||
        event.phase == entry.object.phase)
      return;
    facts.events.push_back(describeEvent(event));
    if (event.completes && event.phase > facts.phase && !missed.by.warp)
      missed.by = event.site;
  });
  return missed;
}

} // namespace ptxsim

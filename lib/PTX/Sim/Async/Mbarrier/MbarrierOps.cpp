//===- MbarrierOps.cpp - mbarrier instructions ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "MbarrierTable.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"

#include <bit>
#include <cstring>

namespace ptxsim {
namespace {

using Update = MbarrierFault (Mbarrier::*)(uint32_t);

/// An operation that changes a barrier.
struct Form {
  const char *what;
  Update update;
  /// The value if the instruction has no operand for it.
  uint32_t implied = 1;
  bool expects = false;
  /// An arrival, which may release; expect_tx and complete_tx do not.
  bool arrives = false;
};

struct Payload {
  Form form;
  Operand amount;
  bool hasResult = false;
};

/// Writes the state to shared memory, and marks its bytes as belonging to the
/// synchronization unit from init to inval.
void markBarrier(Cluster &cluster, const Site &site, uint32_t address,
                 const Mbarrier &object) {
  SharedRef ref = resolveShared(cluster, site, address, 8, 8);
  if (!ref)
    return;
  uint64_t state = object.state();
  std::memcpy(ref.data(), &state, sizeof state);
  for (uint32_t at = ref.offset; at < ref.offset + 8; ++at)
    if (!ref.cta->sharedMarks.empty()) {
      uint8_t &marks = ref.cta->sharedMarks[at];
      marks = object.live ? marks | kBarrier : marks & ~kBarrier;
      marks |= kWritten;
    }
}

void noteChange(const Site &site, BarrierEntry &entry) {
  if (Races *races = racesOf(site))
    races->barriers.barrierInit(site, *site.warp->cluster.ctas[entry.rank],
                                entry.offset, entry.sync);
}

/// What a use of a barrier reports to the race detector, besides the use
/// itself: nothing; a contribution that the phase needs; an arrival that
/// releases what the lanes know; or that the lanes have observed the last phase
/// as complete.
enum class BarrierEdge : uint8_t { Nothing, Needed, Arrival, Seen };

/// Makes one report for all lanes that use the same barrier.
void noteUse(const Site &site, BarrierEntry &entry, LaneMask users,
             BarrierEdge edge) {
  Races *races = racesOf(site);
  if (!races)
    return;
  races->barriers.barrierUse(site, *site.warp->cluster.ctas[entry.rank],
                             entry.offset, entry.sync, users);
  if (edge == BarrierEdge::Needed)
    races->edges.precede(*site.warp, users, entry.sync);
  else if (edge == BarrierEdge::Arrival)
    races->edges.arrive(*site.warp, users, entry.sync, site.inst->order,
                        entry.rank);
  else if (edge == BarrierEdge::Seen)
    races->barriers.seePhase(site, users, entry.sync);
}

BarrierEntry *barrierOf(Warp &warp, const Instruction &inst, unsigned lane) {
  std::optional<uint32_t> address =
      sharedAddress(warp, inst, inst.address, lane);
  if (!address)
    return nullptr;
  return findBarrier(warp.cluster, warp.site(inst, int(lane)), *address);
}

Outcome executeInit(Warp &warp, const Instruction &inst, LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    BarrierEntry *entry = barrierOf(warp, inst, lane);
    if (!entry)
      return;
    Site site = warp.site(inst, int(lane));
    uint32_t count = uint32_t(warp.row(inst.src[0])[lane]);
    if (entry->object.live)
      warp.machine.report.add(FindingId::MbarrierReinit, site,
                              "the mbarrier is in " +
                                  entry->object.describeState(),
                              otherAt("initialized by", entry->lastInit));
    uint64_t phase = entry->object.phase;
    noteChange(site, *entry);
    entry->lastInit = site;
    entry->known.clear();
    if (settle(warp.cluster, site, *entry, entry->object.init(count), phase,
               "init", count))
      markBarrier(warp.cluster, site,
                  *sharedAddress(warp, inst, inst.address, lane),
                  entry->object);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

Outcome executeInvalidate(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    BarrierEntry *entry = barrierOf(warp, inst, lane);
    if (!entry)
      return;
    Site site = warp.site(inst, int(lane));
    uint64_t phase = entry->object.phase;
    noteChange(site, *entry);
    if (settle(warp.cluster, site, *entry, entry->object.invalidate(), phase,
               "inval", 0))
      markBarrier(warp.cluster, site,
                  *sharedAddress(warp, inst, inst.address, lane),
                  entry->object);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

using Entries = std::array<BarrierEntry *, 32>;

/// Returns the number of arrivals of the lanes at `entry`.
uint64_t arrivalsAt(const Warp &warp, const Payload &payload,
                    const Entries &entries, const BarrierEntry *entry) {
  bool counted = payload.amount.valid() && !payload.form.expects;
  uint64_t sum = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (entries[lane] == entry)
      sum += counted ? uint32_t(warp.row(payload.amount)[lane]) : 1;
  return sum;
}

/// Returns the lanes at barriers whose phase needs fewer arrivals than the warp
/// makes: some of these arrive after it has completed. The race detector does
/// not distinguish the lanes of a warp here, so such a warp releases with the
/// later phase. It still precedes the earlier one.
LaneMask straddling(const Warp &warp, const Payload &payload,
                    const Entries &entries) {
  LaneMask mask = 0;
  const BarrierEntry *checked = nullptr;
  bool late = false;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const BarrierEntry *entry = entries[lane];
    if (!entry)
      continue;
    if (entry != checked)
      late = arrivalsAt(warp, payload, entries, entry) > entry->object.pending;
    checked = entry;
    mask |= LaneMask(late) << lane;
  }
  return mask;
}

LaneMask lanesAt(const Entries &entries, const BarrierEntry *entry) {
  LaneMask same = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    same |= LaneMask(entries[lane] == entry) << lane;
  return same;
}

/// Records that the lanes know how many phases of their barriers are complete.
void noteKnown(const Warp &warp, const Instruction &inst,
               const Entries &entries, LaneMask lanes) {
  while (lanes) {
    BarrierEntry *entry = entries[unsigned(std::countr_zero(lanes))];
    LaneMask same = lanes & lanesAt(entries, entry);
    if (entry)
      entry->know(warp, same, inst);
    lanes &= ~same;
  }
}

/// Reports `lanes` to the race detector, once for all lanes at the same
/// barrier.
void noteUses(Warp &warp, const Instruction &inst, const Entries &entries,
              LaneMask lanes, BarrierEdge edge) {
  while (lanes) {
    unsigned lane = unsigned(std::countr_zero(lanes));
    LaneMask same = lanes & lanesAt(entries, entries[lane]);
    if (entries[lane])
      noteUse(warp.site(inst, int(lane)), *entries[lane], same, edge);
    lanes &= ~same;
  }
}

/// Executes arrive, arrive_drop, expect_tx and complete_tx. Every lane gets the
/// state before the warp's arrivals, as on hardware.
Outcome executeUpdate(Warp &warp, const Instruction &inst, LaneMask active) {
  const Payload &payload = inst.data<Payload>();
  Entries entries{};
  forLanes(active, [&](unsigned lane) {
    entries[lane] = barrierOf(warp, inst, lane);
    if (entries[lane] && payload.hasResult)
      warp.row(inst.dst[0])[lane] = entries[lane]->object.state();
  });
  // A thread with the state of a phase may skip the waits for earlier phases.
  if (payload.hasResult)
    noteKnown(warp, inst, entries, active);
  bool releases = payload.form.arrives && racesOf(warp);
  LaneMask late = releases ? straddling(warp, payload, entries) : 0;
  BarrierEdge edge =
      payload.form.arrives ? BarrierEdge::Arrival : BarrierEdge::Needed;
  noteUses(warp, inst, entries, active & ~late, edge);
  noteUses(warp, inst, entries, active & late, BarrierEdge::Needed);
  forLanes(active, [&](unsigned lane) {
    BarrierEntry *entry = entries[lane];
    if (!entry || warp.machine.stopped)
      return;
    uint32_t amount = payload.form.implied;
    if (payload.amount.valid())
      amount = uint32_t(warp.row(payload.amount)[lane]);
    Site site = warp.site(inst, int(lane));
    if (payload.form.expects)
      entry->lastExpect = site;
    if (payload.form.arrives)
      entry->lastArrival = site;
    uint64_t phase = entry->object.phase;
    MbarrierFault fault = (entry->object.*payload.form.update)(amount);
    settle(warp.cluster, site, *entry, fault, phase, payload.form.what, amount);
  });
  noteUses(warp, inst, entries, active & late, edge);
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

struct WaitForm {
  bool parity = false, parks = false;
};

/// Reports to an observer that waits at these barriers have ended.
void observe(const Warp &warp, const Entries &entries) {
  if (!warp.observer)
    return;
  const BarrierEntry *last = nullptr;
  for (const BarrierEntry *entry : entries) {
    if (entry && entry != last)
      warp.observer->passes(warp, entry, entry->object.phase);
    last = entry;
  }
}

/// Lets lanes whose phase is complete acquire what it carries. A try_wait waits
/// for the phase. A test_wait may be a query that nothing depends on, and
/// cannot be too late.
void acquirePhases(Warp &warp, const Instruction &inst, LaneMask done) {
  Entries entries{};
  forLanes(done,
           [&](unsigned lane) { entries[lane] = barrierOf(warp, inst, lane); });
  noteKnown(warp, inst, entries, done);
  observe(warp, entries);
  Races *races = racesOf(warp);
  if (!races)
    return;
  bool waits = inst.data<WaitForm>().parks;
  noteUses(warp, inst, entries, done,
           waits ? BarrierEdge::Seen : BarrierEdge::Nothing);
  const BarrierEntry *last = nullptr;
  forLanes(done, [&](unsigned lane) {
    if (entries[lane] && entries[lane] != last)
      races->edges.acquire(warp, entries[lane]->sync, inst.order);
    last = entries[lane];
  });
}

/// Executes test_wait and try_wait: sleeps only if the result is false in all
/// lanes.
Outcome executeWait(Warp &warp, const Instruction &inst, LaneMask active) {
  const WaitForm &form = inst.data<WaitForm>();
  LaneMask anyDone = 0, waits = 0;
  BarrierEntry *waited = nullptr;
  uint64_t wanted = 0;
  forLanes(active, [&](unsigned lane) {
    BarrierEntry *entry = barrierOf(warp, inst, lane);
    if (!entry)
      return;
    Site site = warp.site(inst, int(lane));
    if (!entry->object.live) {
      settle(warp.cluster, site, *entry, MbarrierFault::NotInitialized,
             entry->object.phase, "wait", 0);
      return;
    }
    uint64_t value = warp.row(inst.src[0])[lane];
    bool done = form.parity ? entry->object.completedParity(uint32_t(value))
                            : entry->object.completed(value);
    warp.row(inst.dst[0])[lane] = done;
    anyDone |= LaneMask(done) << lane;
    if (!done) {
      waits =
          entry == waited ? waits | LaneMask(1) << lane : LaneMask(1) << lane;
      waited = entry;
      wanted = form.parity ? value & 1 : value >> 63;
    }
  });
  if (warp.machine.stopped)
    return Outcome::Fault;
  if (form.parks && anyDone && warp.cluster.spurious()) {
    forLanes(active, [&](unsigned lane) { warp.row(inst.dst[0])[lane] = 0; });
    return Outcome::Next;
  }
  acquirePhases(warp, inst, anyDone);
  if (anyDone)
    return Outcome::Next;
  if (warp.observer)
    warp.observer->misses(warp);
  if (!form.parks)
    return Outcome::Yield;
  warp.wait = {};
  warp.wait.key = waited;
  warp.wait.soft = true;
  warp.wait.data[0] = reinterpret_cast<uint64_t>(waited);
  warp.wait.data[1] = wanted;
  warp.wait.data[2] = waits;
  warp.wait.describe = describeBarrierWait;
  warp.wait.explain = explainBarrierWait;
  warp.wait.missed = missedPhase;
  return Outcome::NextAndWait;
}

Outcome executePendingCount(Warp &warp, const Instruction &inst,
                            LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    warp.row(inst.dst[0])[lane] =
        Mbarrier::pendingCount(warp.row(inst.src[0])[lane]);
  });
  return Outcome::Next;
}

const std::initializer_list<std::string_view> modifiers = {"init",
                                                           "inval",
                                                           "arrive",
                                                           "arrive_drop",
                                                           "expect_tx",
                                                           "complete_tx",
                                                           "test_wait",
                                                           "try_wait",
                                                           "parity",
                                                           "pending_count",
                                                           "noComplete",
                                                           "release",
                                                           "acquire",
                                                           "relaxed",
                                                           "cta",
                                                           "cluster",
                                                           "gpu",
                                                           "sys",
                                                           "shared",
                                                           "shared::cta",
                                                           "shared::cluster",
                                                           "b64"};

Space spaceOf(const Decoder &decoder) {
  bool shared = decoder.has("shared") || decoder.has("shared::cta") ||
                decoder.has("shared::cluster");
  return shared ? Space::Shared : Space::Generic;
}

/// Checks that order and scope are both present or both absent.
void checkOrder(const Decoder &decoder) {
  bool order = decoder.has("release") || decoder.has("acquire") ||
               decoder.has("relaxed");
  bool scope = decoder.has("cta") || decoder.has("cluster");
  if (order != scope)
    decoder.unsupported(order ? "expected .cta or .cluster after the order"
                              : "expected .release, .acquire or .relaxed "
                                "before the scope");
}

void decodeInit(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(2, 2);
  inst.address = decoder.address(0, spaceOf(decoder));
  inst.src = decoder.sources(1, Type::U32);
  inst.handler = executeInit;
}

void decodeInvalidate(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(1, 1);
  inst.address = decoder.address(0, spaceOf(decoder));
  inst.handler = executeInvalidate;
}

/// Decodes arrive and arrive_drop, with or without .expect_tx and a count.
void decodeArrive(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  checkOrder(decoder);
  bool expects = decoder.has("expect_tx");
  bool drops = decoder.text().parts[1] == "arrive_drop";
  decoder.expectOperands(expects ? 3 : 2, 3);
  if (decoder.has("shared::cluster") && !decoder.isSink(0))
    decoder.unsupported("an arrive on shared::cluster has no result, write _");
  Payload payload;
  payload.form = drops ? Form{"arrive_drop", &Mbarrier::arriveDrop}
                       : Form{"arrive", &Mbarrier::arrive};
  if (expects)
    payload.form =
        drops ? Form{"arrive_drop.expect_tx", &Mbarrier::arriveDropExpectTx, 0,
                     true}
              : Form{"arrive.expect_tx", &Mbarrier::arriveExpectTx, 0, true};
  payload.form.arrives = true;
  payload.hasResult = !decoder.isSink(0);
  inst.order = decoder.ordering({race::Scope::Cta, false, true});
  if (decoder.size() == 3)
    payload.amount = decoder.source(2, Type::U32);
  inst.dst = decoder.destinations(0, Type::U64);
  inst.address = decoder.address(1, spaceOf(decoder));
  inst.payload = decoder.payload(payload);
  inst.handler = executeUpdate;
}

void decodeTx(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(2, 2);
  checkOrder(decoder);
  Payload payload;
  payload.form = decoder.text().parts[1] == "expect_tx"
                     ? Form{"expect_tx", &Mbarrier::expectTx, 0, true}
                     : Form{"complete_tx", &Mbarrier::completeTx, 0};
  payload.amount = decoder.source(1, Type::U32);
  inst.address = decoder.address(0, spaceOf(decoder));
  inst.payload = decoder.payload(payload);
  inst.handler = executeUpdate;
}

void decodeWait(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  bool parks = decoder.text().parts[1] == "try_wait";
  decoder.expectOperands(3, parks ? 4 : 3);
  checkOrder(decoder);
  if (decoder.has("shared::cluster"))
    decoder.unsupported("only a barrier of the own CTA can be waited for");
  WaitForm form{decoder.has("parity"), parks};
  inst.order = decoder.ordering({race::Scope::Cta, true, false});
  inst.dst = decoder.destinations(0, Type::Pred);
  inst.address = decoder.address(1, spaceOf(decoder));
  inst.src = decoder.sources(2, form.parity ? Type::U32 : Type::U64);
  if (decoder.size() == 4)
    decoder.expectType(3, Type::U32);
  inst.payload = decoder.payload(form);
  inst.handler = executeWait;
}

void decodePendingCount(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  decoder.expectOperands(2, 2);
  inst.dst = decoder.destinations(0, Type::U32);
  inst.src = decoder.sources(1, Type::U64);
  inst.handler = executePendingCount;
}

} // namespace

void registerMbarrier(Registry &registry) {
  registry.add("mbarrier.init", decodeInit);
  registry.add("mbarrier.inval", decodeInvalidate);
  registry.add("mbarrier.arrive", decodeArrive);
  registry.add("mbarrier.arrive_drop", decodeArrive);
  registry.add("mbarrier.expect_tx", decodeTx);
  registry.add("mbarrier.complete_tx", decodeTx);
  registry.add("mbarrier.test_wait", decodeWait);
  registry.add("mbarrier.try_wait", decodeWait);
  registry.add("mbarrier.pending_count", decodePendingCount);
}

} // namespace ptxsim

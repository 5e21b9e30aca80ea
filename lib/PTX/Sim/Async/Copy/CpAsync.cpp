//===- CpAsync.cpp - cp.async of the generic proxy ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, cp.async, its groups, and cp.async.mbarrier.arrive.
//
//===----------------------------------------------------------------------===//

#include "BulkGroups.h"
#include "Families.h"
#include "Mbarrier/MbarrierTable.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {
namespace {

struct LaneCopy {
  unsigned lane;
  SharedRef shared;
  uint32_t address; // shared::cluster
  uint64_t source;
  uint32_t sourceBytes;
};

struct CopyForm {
  AddressOperand destination, source;
  uint32_t bytes = 16;
  Operand sourceSize, ignoreSource;
};

/// The copies of one warp instruction. They belong to the generic proxy: the
/// async proxy observes the data only after a fence of the thread.
class Copies : public AsyncOp {
public:
  Copies(const Site &site, CpAsyncGroups &groups, uint32_t bytes,
         std::vector<LaneCopy> lanes)
      : AsyncOp(site), groups(groups), bytes(bytes), lanes(std::move(lanes)) {
    for (const LaneCopy &copy : this->lanes)
      beginAsyncWrite(site, *copy.shared.cta, copy.shared.offset, bytes);
  }
  void complete(Cluster &cluster) override {
    for (const LaneCopy &copy : lanes)
      if (!completeLane(cluster, copy))
        return;
    cluster.notify(&groups);
  }
  bool touches(const Cta &cta, uint32_t offset, uint32_t size,
               Access access) const override {
    return access == Access::Write &&
           std::any_of(lanes.begin(), lanes.end(), [&](const LaneCopy &copy) {
             return copy.shared.cta == &cta &&
                    overlap(copy.shared.offset, bytes, offset, size);
           });
  }
  std::string describe() const override {
    return "cp.async of " + std::to_string(bytes) + " bytes per lane";
  }

private:
  bool completeLane(Cluster &cluster, const LaneCopy &copy) {
    Site own = site;
    own.lane = int(copy.lane);
    uint8_t data[16] = {};
    if (copy.sourceBytes) {
      const uint8_t *from =
          cluster.global(own, copy.source, copy.sourceBytes, 1, Access::Read);
      if (!from)
        return false;
      std::memcpy(data, from, copy.sourceBytes);
    }
    endAsyncWrite(*copy.shared.cta, copy.shared.offset, data, bytes);
    // Marks the bytes as written by the thread through the generic proxy.
    return cluster.shared(own, copy.address, bytes, 4, Access::Write, true);
  }
  CpAsyncGroups &groups;
  uint32_t bytes;
  std::vector<LaneCopy> lanes;
};

/// Reports the copies to the race detector. The lanes of a warp share a stream;
/// if their numbers of groups differ, the smallest is used.
void noteCopies(Warp &warp, const Instruction &inst,
                const CpAsyncGroups &groups, uint32_t bytes,
                const std::vector<LaneCopy> &copies, LaneMask active) {
  Races *races = racesOf(warp);
  if (!races)
    return;
  race::Time fewest = UINT32_MAX;
  forLanes(active, [&](unsigned lane) {
    fewest = std::min(fewest, groups.threads[lane].groups);
  });
  RaceStream &stream = races->clocks.stream(warp, race::Kind::CpAsync);
  stream.time = fewest + 1;
  for (const LaneCopy &copy : copies) {
    Site site = warp.site(inst, int(copy.lane));
    races->memory.asyncShared(stream, site, *copy.shared.cta,
                              copy.shared.offset, bytes, Access::Write);
    if (copy.sourceBytes)
      races->memory.asyncGlobal(stream, site, copy.source, copy.sourceBytes,
                                Access::Read);
  }
}

/// Records that the warp knows that all but the newest groups of the lane with
/// the most groups are done.
void noteDone(Warp &warp, const CpAsyncGroups &groups, LaneMask active,
              uint64_t pending) {
  Races *races = racesOf(warp);
  race::Time most = 0;
  forLanes(active, [&](unsigned lane) {
    most = std::max(most, groups.threads[lane].groups);
  });
  if (races && most > pending)
    races->edges.finished(warp, races->clocks.stream(warp, race::Kind::CpAsync),
                          most - race::Time(pending));
}

Outcome executeCopy(Warp &warp, const Instruction &inst, LaneMask active) {
  const CopyForm &form = inst.data<CopyForm>();
  CpAsyncGroups &groups = warp.states.get<CpAsyncGroups>();
  std::vector<LaneCopy> copies;
  forLanes(active, [&](unsigned lane) {
    auto address = sharedAddress(warp, inst, form.destination, lane);
    if (!address || warp.machine.stopped)
      return;
    Site site = warp.site(inst, int(lane));
    SharedRef ref =
        resolveShared(warp.cluster, site, *address, form.bytes, form.bytes);
    uint32_t count = form.bytes;
    if (form.sourceSize.valid())
      count = std::min<uint32_t>(count, warp.row(form.sourceSize)[lane]);
    if (form.ignoreSource.valid() && warp.row(form.ignoreSource)[lane])
      count = 0;
    uint64_t source = warp.addressOf(form.source, lane);
    if (ref && source % form.bytes)
      return warp.machine.fault(FindingId::Misaligned, site,
                                "global address, expected a multiple of " +
                                    std::to_string(form.bytes));
    if (ref)
      copies.push_back({lane, ref, *address, source, count});
  });
  if (warp.machine.stopped)
    return Outcome::Fault;
  noteCopies(warp, inst, groups, form.bytes, copies, active);
  AsyncOpId id = warp.cluster.issue(std::make_unique<Copies>(
      warp.site(inst), groups, form.bytes, std::move(copies)));
  forLanes(active, [&](unsigned lane) {
    groups.threads[lane].open.writes.push_back(id);
    std::vector<AsyncOpId> &issued = groups.issued[lane];
    std::erase_if(issued, [&](AsyncOpId i) { return warp.cluster.isDone(i); });
    issued.push_back(id);
  });
  return Outcome::Next;
}

Outcome executeCommit(Warp &warp, const Instruction &inst, LaneMask active) {
  CpAsyncGroups &groups = warp.states.get<CpAsyncGroups>();
  forLanes(active, [&](unsigned lane) { groups.threads[lane].commit(); });
  return Outcome::Next;
}

std::string describeWait(const Warp &warp, const Wait &wait) {
  return "cp.async.wait_group: copies of the thread that are still in flight";
}

Outcome sleepOn(Warp &warp, const CpAsyncGroups &groups) {
  warp.wait = {};
  warp.wait.key = &groups;
  warp.wait.describe = describeWait;
  return Outcome::Retry;
}

Outcome executeWaitGroup(Warp &warp, const Instruction &inst, LaneMask active) {
  CpAsyncGroups &groups = warp.states.get<CpAsyncGroups>();
  bool done = true;
  forLanes(active, [&](unsigned lane) {
    done &=
        groups.threads[lane].atMost(warp.cluster, inst.data<uint64_t>(), false);
  });
  if (!done)
    return sleepOn(warp, groups);
  noteDone(warp, groups, active, inst.data<uint64_t>());
  return Outcome::Next;
}

/// Closes the open groups for the race detector: later operations get a later
/// time.
void closeGroups(CpAsyncGroups &groups, LaneMask active) {
  forLanes(active, [&](unsigned lane) { ++groups.threads[lane].groups; });
}

Outcome executeWaitAll(Warp &warp, const Instruction &inst, LaneMask active) {
  CpAsyncGroups &groups = warp.states.get<CpAsyncGroups>();
  bool done = true;
  forLanes(active, [&](unsigned lane) {
    for (AsyncOpId id : groups.issued[lane])
      done &= warp.cluster.isDone(id);
  });
  if (!done)
    return sleepOn(warp, groups);
  closeGroups(groups, active);
  noteDone(warp, groups, active, 0);
  return Outcome::Next;
}

/// The arrive-on operation of cp.async.mbarrier.arrive.
class Arrival : public AsyncOp {
public:
  Arrival(const Site &site, uint32_t barrier)
      : AsyncOp(site), barrier(barrier) {
    if (Races *races = racesOf(site))
      ticket = ticketFor(
          site, races->clocks.stream(*site.warp, race::Kind::CpAsync), barrier);
  }
  void complete(Cluster &cluster) override {
    arriveOnce(cluster, site, barrier, ticket);
  }
  std::string describe() const override {
    return "cp.async.mbarrier.arrive on shared " +
           std::to_string(barrier & 0xffffff);
  }

private:
  uint32_t barrier;
  RaceTicket ticket;
};

Outcome executeArrive(Warp &warp, const Instruction &inst, LaneMask active) {
  bool increments = inst.data<bool>();
  CpAsyncGroups &groups = warp.states.get<CpAsyncGroups>();
  forLanes(active, [&](unsigned lane) {
    auto address = sharedAddress(warp, inst, inst.address, lane);
    if (!address || warp.machine.stopped)
      return;
    Site site = warp.site(inst, int(lane));
    BarrierEntry *entry = findBarrier(warp.cluster, site, *address);
    if (!entry)
      return;
    uint64_t phase = entry->object.phase;
    if (increments &&
        !settle(warp.cluster, site, *entry, entry->object.incrementPending(),
                phase, "increment", 1))
      return;
    auto op = std::make_unique<Arrival>(site, *address);
    op->after = groups.issued[lane];
    warp.cluster.issue(std::move(op));
  });
  closeGroups(groups, active);
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

const std::initializer_list<std::string_view> modifiers = {
    "async",          "ca",      "cg",       "shared",  "shared::cta", "global",
    "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"};

void decodeCopy(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(3 + hint, 4 + hint);
  CopyForm form;
  form.destination = decoder.address(0, Space::Shared);
  form.source = decoder.address(1, Space::Global);
  form.bytes = uint32_t(decoder.immediate(2));
  bool legal = form.bytes == 16 ||
               (!decoder.has("cg") && (form.bytes == 4 || form.bytes == 8));
  if (!legal)
    decoder.unsupported("expected a size of 4, 8 or 16, 16 only with .cg");
  decoder.expectCacheHint(decoder.size() - 1);
  if (decoder.size() == size_t(4 + hint)) {
    bool predicate = decoder.registerBits(decoder.operand(3)) == 1;
    (predicate ? form.ignoreSource : form.sourceSize) =
        decoder.source(3, predicate ? Type::Pred : Type::U32);
  }
  inst.payload = decoder.payload(form);
  inst.handler = executeCopy;
}

void decodeCommit(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 0);
  inst.handler = executeCommit;
}

void decodeWaitGroup(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(1, 1);
  inst.payload = decoder.payload<uint64_t>(decoder.immediate(0));
  inst.handler = executeWaitGroup;
}

void decodeWaitAll(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(0, 0);
  inst.handler = executeWaitAll;
}

void decodeArrive(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(
      {"async", "mbarrier", "arrive", "noinc", "shared", "shared::cta", "b64"});
  decoder.expectOperands(1, 1);
  bool shared = decoder.has("shared") || decoder.has("shared::cta");
  inst.address = decoder.address(0, shared ? Space::Shared : Space::Generic);
  inst.payload = decoder.payload<bool>(!decoder.has("noinc"));
  inst.handler = executeArrive;
}

} // namespace

void registerCpAsync(Registry &registry) {
  registry.add("cp.async.ca", decodeCopy);
  registry.add("cp.async.cg", decodeCopy);
  registry.add("cp.async.commit_group", decodeCommit);
  registry.add("cp.async.wait_group", decodeWaitGroup);
  registry.add("cp.async.wait_all", decodeWaitAll);
  registry.add("cp.async.mbarrier.arrive", decodeArrive);
}

} // namespace ptxsim

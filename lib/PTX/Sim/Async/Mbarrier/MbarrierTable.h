//===- MbarrierTable.h - The mbarriers of a CTA -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_MBARRIER_MBARRIERTABLE_H
#define FMHA_LIB_PTX_SIM_ASYNC_MBARRIER_MBARRIERTABLE_H

#include "SharedAccess.h"

#include "fmha/PTX/Sim/Units/Mbarrier.h"

#include <memory>
#include <unordered_map>

namespace ptxsim {

/// What happened to a barrier, for deadlock reports.
struct BarrierEvent {
  const char *what = nullptr;
  uint32_t amount = 0;
  Site site;
  /// The phase in which it happened, and whether it completed that.
  uint64_t phase = 0;
  bool completes = false;
};

/// How many phases had completed when lanes of a warp last knew it: by a wait
/// that succeeded, or by the state that an arrival gave them.
struct PhaseKnown {
  const Warp *warp = nullptr;
  LaneMask lanes = 0;
  uint64_t completed = 0;
  const Instruction *inst = nullptr;
};

struct BarrierEntry {
  Mbarrier object;
  /// The CTA that holds it, and where.
  uint32_t rank = 0, offset = 0;
  SyncPoint sync;
  /// The last events, oldest first, round.
  std::array<BarrierEvent, 10> events;
  unsigned eventCount = 0;
  Site lastInit, lastExpect, lastArrival;
  /// Since the init; no lane is in two.
  std::vector<PhaseKnown> known;

  void record(const BarrierEvent &event) {
    events[eventCount++ % events.size()] = event;
  }
  void know(const Warp &warp, LaneMask lanes, const Instruction &inst);
  /// What lanes knew last; what their warp knew where they knew nothing.
  PhaseKnown lastKnown(const Warp &warp, LaneMask lanes) const;
};

/// Barriers by address; an entry lives as long as the CTA, so its address can
/// be a wait key.
class MbarrierTable : public UnitState {
public:
  BarrierEntry &at(uint32_t offset);
  void atCtaExit(Cta &cta) override;
  Site barrierAt(uint32_t offset, uint32_t bytes) const override;

private:
  std::unordered_map<uint32_t, std::unique_ptr<BarrierEntry>> entries;
};

/// The barrier at a 32-bit shared::cluster address; null after a fault.
BarrierEntry *findBarrier(Cluster &cluster, const Site &site, uint32_t address);

/// Records the event, reports the fault, if any, and wakes waiters if the phase
/// moved on from `phaseBefore`. False after a fault.
bool settle(Cluster &cluster, const Site &site, BarrierEntry &entry,
            MbarrierFault fault, uint64_t phaseBefore, const char *what,
            uint32_t amount);

/// The signals of agents, and what they carry.
bool completeTx(Cluster &cluster, const Site &site, uint32_t address,
                uint32_t bytes, const RaceTicket &ticket);
bool arriveOnce(Cluster &cluster, const Site &site, uint32_t address,
                const RaceTicket &ticket);

/// Tells the race detector that operations of the stream will signal the
/// barrier at the address, and gives what the signal carries.
RaceTicket ticketFor(const Site &site, RaceStream &stream, uint32_t address);
/// The same for the operations so far and several barriers.
RaceTicket ticketFor(const Site &site, RaceStream &stream,
                     const std::vector<uint32_t> &addresses);

/// For Wait::describe: data[0] = entry, data[1] = wanted parity, data[2] = the
/// lanes that wait.
std::string describeBarrierWait(const Warp &warp, const Wait &wait);
/// For Wait::explain, from the same data.
void explainBarrierWait(const Warp &warp, const Wait &wait, WaitObject &object);
/// For Wait::missed, from the same data.
std::optional<MissedPhase> missedPhase(const Warp &warp, const Wait &wait);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_MBARRIER_MBARRIERTABLE_H

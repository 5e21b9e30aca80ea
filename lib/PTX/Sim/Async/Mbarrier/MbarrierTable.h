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

/// An event at a barrier, for deadlock reports.
struct BarrierEvent {
  const char *what = nullptr;
  uint32_t amount = 0;
  Site site;
  /// The phase of the event, and whether the event completed it.
  uint64_t phase = 0;
  bool completes = false;
};

/// The number of completed phases that lanes of a warp last knew: from a
/// successful wait, or from the state that an arrival returned.
struct PhaseKnown {
  const Warp *warp = nullptr;
  LaneMask lanes = 0;
  uint64_t completed = 0;
  const Instruction *inst = nullptr;
};

struct BarrierEntry {
  Mbarrier object;
  /// The rank of the CTA that holds the barrier, and its offset there.
  uint32_t rank = 0, offset = 0;
  SyncPoint sync;
  /// Ring buffer of the last events.
  std::array<BarrierEvent, 10> events;
  unsigned eventCount = 0;
  Site lastInit, lastExpect, lastArrival;
  /// Knowledge since the init; no lane is in two entries.
  std::vector<PhaseKnown> known;

  void record(const BarrierEvent &event) {
    events[eventCount++ % events.size()] = event;
  }
  void know(const Warp &warp, LaneMask lanes, const Instruction &inst);
  /// Returns what the lanes knew last, or what their warp knew if they knew
  /// nothing.
  PhaseKnown lastKnown(const Warp &warp, LaneMask lanes) const;
};

/// Barriers by address. An entry lives as long as the CTA, so its address can
/// be a wait key.
class MbarrierTable : public UnitState {
public:
  BarrierEntry &at(uint32_t offset);
  void atCtaExit(Cta &cta) override;
  Site barrierAt(uint32_t offset, uint32_t bytes) const override;

private:
  std::unordered_map<uint32_t, std::unique_ptr<BarrierEntry>> entries;
};

/// Returns the barrier at a 32-bit shared::cluster address; null after a fault.
BarrierEntry *findBarrier(Cluster &cluster, const Site &site, uint32_t address);

/// Records the event, reports the fault, if any, and wakes waiters if the phase
/// has advanced from `phaseBefore`. Returns false after a fault.
bool settle(Cluster &cluster, const Site &site, BarrierEntry &entry,
            MbarrierFault fault, uint64_t phaseBefore, const char *what,
            uint32_t amount);

/// Perform the signals of operations, and join what they carry.
bool completeTx(Cluster &cluster, const Site &site, uint32_t address,
                uint32_t bytes, const RaceTicket &ticket);
bool arriveOnce(Cluster &cluster, const Site &site, uint32_t address,
                const RaceTicket &ticket);

/// Reports to the race detector that operations of the stream will signal the
/// barrier at the address, and returns what the signal carries.
RaceTicket ticketFor(const Site &site, RaceStream &stream, uint32_t address);
/// Same, for the operations so far and several barriers.
RaceTicket ticketFor(const Site &site, RaceStream &stream,
                     const std::vector<uint32_t> &addresses);

/// Implements Wait::describe: data[0] = entry, data[1] = wanted parity, data[2]
/// = the waiting lanes.
std::string describeBarrierWait(const Warp &warp, const Wait &wait);
/// Implements Wait::explain with the same data.
void explainBarrierWait(const Warp &warp, const Wait &wait, WaitObject &object);
/// Implements Wait::missed with the same data.
std::optional<MissedPhase> missedPhase(const Warp &warp, const Wait &wait);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_MBARRIER_MBARRIERTABLE_H

//===- Races.h - Happens-before within and across clusters ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the machine tells the race detector (Sim/Race): accesses, and the edges
// of happens-before. lib/PTX/Sim/Race/README.md has the model. Everything is
// told when an instruction is issued, so that nothing depends on the policy;
// only signals of agents are told when they arrive.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_RACES_RACES_H
#define FMHA_PTX_SIM_CORE_RACES_RACES_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Race/Shadow.h"

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace ptxsim {

/// What one release has published at a place in memory.
struct Published {
  uint32_t cluster = 0, rank = 0;
  race::Scope scope = race::Scope::Weak;
  race::Knowledge knows;
  /// Which publication this is: who has taken it over once learns nothing from
  /// it again. 0 where several may have been joined.
  uint64_t version = 0;
};
using PublishedList = std::vector<Published>;

/// What strong writes have left at a place in memory.
struct Place {
  PublishedList releases;
  /// What has come before the value that lies there, whatever its writes hand
  /// on; by the cluster whose actors the clock is about.
  std::map<uint32_t, race::VectorClock> flow;
};
/// By address.
using Places = std::unordered_map<uint64_t, Place>;

/// Whether a program reads places in memory by strong operations, so that
/// others may say there how far they are.
bool readsStrongly(const Program &program);

/// Races across the clusters of a launch. They run one after another, which
/// orders nothing.
struct LaunchRaces {
  race::Shadow global{64};
  Places places;
  /// Publications so far.
  uint64_t versions = 0;
  bool isa = true;
  /// Whether values in memory may order the phases of mbarriers.
  bool valuesFlow = false;
  /// Of the cluster that runs, and of those that have released to others.
  race::LanesOfClusters lanes;
};

/// Operations of one warp that complete in prefixes: those between two calls
/// of Races::close share a time.
struct RaceStream {
  race::Actor actor = 0;
  race::Time time = 1;
  race::Kind kind = race::Kind::Thread;
  uint32_t warp = 0;
  /// Of tcgen05.mma and cp: the warp's time when each lane last issued one.
  std::array<race::Time, 32> issued{};
};

class Races {
public:
  Races(Cluster &cluster, LaunchRaces &launch);
  ~Races();

  // --- accesses ---
  /// What `lanes` of the instruction do, one after another; valid until another
  /// access begins.
  race::Access laneAccess(const Warp &warp, const Instruction &inst,
                          LaneMask lanes, Access access);
  /// One lane of it, at a 32-bit shared::cluster address or a global one.
  void shared(race::Access &access, unsigned lane, uint32_t address,
              uint32_t bytes);
  void global(race::Access &access, unsigned lane, uint64_t address,
              uint64_t bytes);
  /// The stream of a warp; `key` tells streams of one kind apart.
  RaceStream &stream(const Warp &warp, race::Kind kind, uint64_t key = 0);
  /// An access to shared memory by an operation that `site` issues on a
  /// stream, for the shadow of the CTA. One at a time is valid.
  race::Access sharedAccess(const RaceStream &stream, const Site &site,
                            Cta &cta, Access access);
  race::Shadow &shadowOf(const Cta &cta);
  void asyncShared(const RaceStream &stream, const Site &site, Cta &cta,
                   uint32_t offset, uint32_t bytes, Access access);
  void asyncGlobal(const RaceStream &stream, const Site &site, uint64_t address,
                   uint64_t bytes, Access access);
  /// Tensor memory; `key` is of an MMA, and 0 on its stream is tcgen05.cp.
  /// Without a stream the warp itself acts.
  void tensor(RaceStream *stream, const Site &site, Cta &cta, uint8_t groups,
              uint32_t column, uint32_t count, Access access, uint64_t key = 0);
  /// Deallocation touches all cells of the columns, which are fresh then.
  void tensorFreed(const Site &site, Cta &cta, uint32_t column, uint32_t count);
  /// The init or inval of an mbarrier, and any other use of it.
  void barrierInit(const Site &site, Cta &cta, uint32_t offset,
                   SyncPoint &point);
  void barrierUse(const Site &site, const Cta &cta, uint32_t offset,
                  SyncPoint &point, LaneMask lanes, bool signals = false);
  /// An operation of the stream will signal the mbarrier: a use, too, and by
  /// the async proxy unless it is cp.async.
  void barrierSignal(const RaceStream &stream, const Site &site, const Cta &cta,
                     uint32_t offset, SyncPoint &point);
  /// The stream's operations so far will signal a barrier in the CTA.
  void touch(const RaceStream &stream, const Site &site, const Cta &cta);

  // --- streams ---
  /// Ends the time that the stream's operations share; what a signal of those
  /// so far carries.
  RaceTicket ticket(const Site &site, RaceStream &stream);
  /// Ends the shared time (a group is committed).
  void close(RaceStream &stream) { ++stream.time; }
  /// The warp knows that all operations up to `time` are done.
  void finished(const Warp &warp, RaceStream &stream, race::Time time);
  void finishedAll(const Warp &warp, RaceStream &stream);

  // --- synchronisation ---
  void arrive(const Warp &warp, LaneMask lanes, SyncPoint &point,
              race::Ordering order, uint32_t rank);
  void arrive(const RaceTicket &ticket, SyncPoint &point);
  /// Lanes do something that a phase needs, and hand on nothing: what they have
  /// done comes before its completion all the same.
  void precede(const Warp &warp, LaneMask lanes, SyncPoint &point);
  /// The warp goes on behind all that preceded the point.
  void follow(const Warp &warp, const SyncPoint &point);
  /// Lanes have seen that the last phase of an mbarrier is complete.
  void seePhase(const Site &site, LaneMask lanes, SyncPoint &point);
  /// `site` completes another phase: can it before all of them have seen the
  /// last one?
  void judgePhase(const Site &site, uint32_t offset, SyncPoint &point);
  /// The phase is complete; wakes nobody, but those that wait acquire.
  void complete(SyncPoint &point);
  void acquire(const Warp &warp, SyncPoint &point, race::Ordering order);
  void fence(const Warp &warp, LaneMask lanes, race::Ordering order);
  void barrierInitFence(const Warp &warp, LaneMask lanes);
  void proxyFence(const Warp &warp, LaneMask lanes, bool shared, bool global);
  void tensorFenceBefore(const Warp &warp);
  void tensorFenceAfter(const Warp &warp);
  /// The lanes have met, and what each did is ordered before what they all do.
  void lanesMeet(const Warp &warp, LaneMask lanes);
  /// They execute a .sync or .aligned instruction, which waits for all of them:
  /// what each did comes before it. In practice it is a meeting, by the manual
  /// no matter of memory.
  void collective(const Warp &warp, LaneMask lanes);

  /// The last lane of the warp has exited; with the last warp, judges what
  /// still uses the CTA's shared memory.
  void warpExits(const Warp &warp);

private:
  struct WarpState;
  struct CtaState;
  WarpState &stateOf(const Warp &warp);
  race::Access accessOf(const Site &site, Access access);
  race::Access streamAccess(const RaceStream &stream, const Site &site,
                            Access access);
  void enter(WarpState &state, LaneMask lanes);
  void tick(WarpState &state);
  void noteRemoteUse(const Site &site, const Cta &cta, uint32_t offset,
                     SyncPoint &point);
  bool initFenced(const race::Access &access, const race::Stamp &init) const;
  bool knownByLane(const CtaState &state, race::Actor actor) const;
  race::Actor laneActor(const WarpState &state, unsigned lane);
  void handOn(race::VectorClock &given, const Warp &warp, WarpState &state,
              LaneMask lanes, race::Time until);
  bool inFlow(const race::Knowledge &knows, const PhaseSeen &seen);
  void synchroniseAll(Places &places, uint64_t address, uint64_t bytes,
                      race::Access &access);
  void synchronise(Places &places, uint64_t address, race::Access &access);
  void observe(const Warp &warp, const Place &place, race::Ordering order);
  void release(const Warp &warp, Places &places, uint64_t address,
               race::Access &access);
  void leaveValue(const Warp &warp, Place &place, unsigned lane);
  void readValue(const Warp &warp, const Place &place);
  void absorb(const Warp &warp, WarpState &state, const Published &published,
              race::Scope scope);
  bool inScope(const Warp &warp, const Published &published,
               race::Scope scope) const;
  static void report(const race::Access &access,
                     const race::Conflict &conflict);
  void describe(const race::Access &access, const race::Conflict &conflict);
  std::string nameParty(const race::Stamp &stamp, bool writes) const;
  Party partyOf(const race::Stamp &stamp) const;
  std::string placeOf(uint64_t address) const;

  Cluster &cluster;
  LaunchRaces &launch;
  /// Of the cluster in the grid, from 1, as moments have it.
  uint32_t number;
  uint32_t ctaWarps;
  std::vector<WarpState> warps;
  std::vector<CtaState> ctas;
  std::map<std::tuple<uint32_t, race::Kind, uint64_t>, RaceStream> streams;
  race::Actor nextActor;
  race::FenceLog fences, initFences;
  std::shared_ptr<race::Lanes> lanes;
  /// Of shared memory.
  Places places;
  /// Whether a wait has seen a phase of an mbarrier.
  bool phaseSeen = false;
  std::map<uint64_t, uint8_t> mmaKeys;
  /// Finding and PTX line of what has been reported. Of a cluster alone, so
  /// that counts do not hang on which clusters share a core.
  std::set<std::pair<uint16_t, uint32_t>> reported;
  /// The party that acts, while a shadow is asked.
  Site site;
  Access kind = Access::Read;
  Space space = Space::Global;
  const Cta *place = nullptr;
};

/// The race detector, or null where no enabled finding needs it.
inline Races *racesOf(const Site &site) {
  return site.warp->cluster.races.get();
}
inline Races *racesOf(const Warp &warp) { return warp.cluster.races.get(); }

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_RACES_RACES_H

//===- Races.h - Happens-before within and across clusters ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface from the machine to the race detector (Sim/Race): accesses, and
// the edges of happens-before. lib/PTX/Sim/Race/README.md describes the model.
// The machine reports everything when an instruction is issued, so that nothing
// depends on the policy; only signals of operations are reported when they
// arrive.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_RACES_RACES_H
#define FMHA_PTX_SIM_CORE_RACES_RACES_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Race/EarlierGrids.h"

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace ptxsim {

/// The knowledge that one release has published at a location in memory.
struct Published {
  uint32_t cluster = 0, rank = 0;
  race::Scope scope = race::Scope::Weak;
  race::Knowledge knows;
  /// Identifies the publication: an actor that has absorbed it once learns
  /// nothing from it again. 0 if several publications may have been joined.
  uint64_t version = 0;
};
using PublishedList = std::vector<Published>;

/// The state that strong writes have left at a location in memory.
struct Location {
  PublishedList releases;
  /// What precedes the value stored there, even if its writes do not release;
  /// indexed by the cluster whose actors the clock describes.
  std::map<uint32_t, race::VectorClock> flow;
};
/// Locations by address.
using Locations = std::unordered_map<uint64_t, Location>;

/// Returns true if a program reads memory by strong operations, so that threads
/// may communicate their progress there.
bool readsStrongly(const Program &program);

/// Races across the clusters of a launch. The clusters run sequentially, which
/// orders nothing.
struct LaunchRaces {
  race::Shadow global{64};
  Locations locations;
  /// Number of publications so far.
  uint64_t versions = 0;
  bool isa = true;
  /// Whether values in memory may order the phases of mbarriers.
  bool valuesFlow = false;
  /// Lanes of the running cluster, and of those that have released to others.
  race::LanesOfClusters lanes;
  /// Grids that this one may overlap, and what griddepcontrol.wait makes known
  /// about them.
  race::OverlappedGrids earlier;
  std::shared_ptr<const race::Knowledge> afterWait;
  /// Whether a thread has executed griddepcontrol.wait.
  bool waited = false;
};

/// Operations of one warp that complete in prefixes. Operations between two
/// calls of Races::close share a time.
struct RaceStream {
  race::Actor actor = 0;
  race::Time time = 1;
  race::Kind kind = race::Kind::Thread;
  uint32_t warp = 0;
  /// For tcgen05.mma and cp: the warp's time when each lane last issued one.
  std::array<race::Time, 32> issued{};
};

/// The clocks of a cluster's warps, lanes and streams, and its memory.
struct RaceState {
  RaceState(Cluster &cluster, LaunchRaces &launch);
  ~RaceState();
  struct WarpState;
  struct CtaState;

  /// Returns the stream of a warp; `key` distinguishes streams of one kind.
  RaceStream &stream(const Warp &warp, race::Kind kind, uint64_t key = 0);
  /// Ends the shared time (a group is committed).
  void close(RaceStream &stream) { ++stream.time; }
  WarpState &stateOf(const Warp &warp);
  void enter(WarpState &state, LaneMask lanes);
  void tick(WarpState &state);
  race::Actor laneActor(const WarpState &state, unsigned lane);
  void handOn(race::VectorClock &given, const Warp &warp, WarpState &state,
              LaneMask lanes, race::Time until);

  Cluster &cluster;
  LaunchRaces &launch;
  /// Number of the cluster in the grid, from 1, as used in moments.
  uint32_t number;
  uint32_t ctaWarps;
  std::vector<WarpState> warps;
  std::vector<CtaState> ctas;
  std::map<std::tuple<uint32_t, race::Kind, uint64_t>, RaceStream> streams;
  race::Actor nextActor;
  race::FenceLog fences, initFences;
  std::shared_ptr<race::Lanes> lanes;
  /// Whether any wait has observed a phase of an mbarrier.
  bool phaseSeen = false;
};

/// Accesses whose conflicts become findings.
class RaceReporter {
public:
  explicit RaceReporter(RaceState &clocks) : clocks(clocks) {}
  race::Access accessOf(const Site &site, Access access);
  race::Access streamAccess(const RaceStream &stream, const Site &site,
                            Access access);
  void describe(const race::Access &access, const race::Conflict &conflict);
  /// Checks an access to global memory that nothing orders after an earlier
  /// grid, and reports the first byte in conflict.
  void checkOverlap(const race::EarlierGrid &grid, const race::Access &access,
                    uint64_t address, uint64_t bytes);

  /// The acting party while a shadow is queried.
  Site site;
  Access kind = Access::Read;
  Space space = Space::Global;
  const Cta *place = nullptr;

private:
  /// The first byte of an access in conflict with an earlier grid. `line` is
  /// that of the last write, in the text of that grid; 0 if the grid only reads
  /// the byte. Which thread read it last depends on the number of cores.
  struct Overlap {
    uint64_t address = UINT64_MAX;
    uint32_t line = 0;
  };
  static void report(const race::Access &access,
                     const race::Conflict &conflict);
  static void noteOverlap(const race::Access &access,
                          const race::Conflict &conflict);
  void describeOverlap(const race::EarlierGrid &grid,
                       const race::Access &access);
  std::string nameParty(const race::Stamp &stamp, bool writes) const;
  Party partyOf(const race::Stamp &stamp) const;
  std::string placeOf(uint64_t address) const;

  RaceState &clocks;
  /// Finding and PTX line of everything reported. Kept per cluster, so that
  /// counts do not depend on which clusters share a core.
  std::set<std::pair<uint16_t, uint32_t>> reported;
  Overlap overlap;
};

/// The edges of happens-before that barriers, fences and completions make.
class RaceEdges {
public:
  explicit RaceEdges(RaceState &clocks) : clocks(clocks) {}
  /// Ends the time that the stream's operations share, and returns the
  /// knowledge that a signal of the operations so far carries.
  RaceTicket ticket(const Site &site, RaceStream &stream);
  /// Records that the warp knows that all operations up to `time` are done.
  void finished(const Warp &warp, RaceStream &stream, race::Time time);
  void finishedAll(const Warp &warp, RaceStream &stream);
  void arrive(const Warp &warp, LaneMask lanes, SyncPoint &point,
              race::Ordering order, uint32_t rank);
  void arrive(const RaceTicket &ticket, SyncPoint &point);
  /// Records a contribution of lanes to a phase without a release: what they
  /// have done before still precedes the phase's completion.
  void precede(const Warp &warp, LaneMask lanes, SyncPoint &point);
  /// Orders the warp after everything that preceded the point.
  void follow(const Warp &warp, const SyncPoint &point);
  /// Completes the phase. Wakes no warps, but the waiting ones acquire.
  void complete(SyncPoint &point);
  void acquire(const Warp &warp, SyncPoint &point, race::Ordering order);
  void fence(const Warp &warp, LaneMask lanes, race::Ordering order);
  void barrierInitFence(const Warp &warp, LaneMask lanes);
  void proxyFence(const Warp &warp, LaneMask lanes, bool shared, bool global);
  void tensorFenceBefore(const Warp &warp);
  void tensorFenceAfter(const Warp &warp);
  /// Orders what each of the lanes did before what all of them do next.
  void lanesMeet(const Warp &warp, LaneMask lanes);
  /// Records that the lanes execute a .sync or .aligned instruction, which
  /// waits for all of them: what each did precedes it. Practice treats it like
  /// lanesMeet; by the manual it does not order memory.
  void collective(const Warp &warp, LaneMask lanes);
  /// Records griddepcontrol.wait: the grids that it waits for have ended.
  void waitForGrids(const Warp &warp);
  /// Orders the warp after a publication, if both scopes include it.
  void absorb(const Warp &warp, RaceState::WarpState &state,
              const Published &published, race::Scope scope);
  bool inScope(const Warp &warp, const Published &published,
               race::Scope scope) const;

private:
  RaceState &clocks;
};

/// The edges that strong accesses to memory make.
class RaceValues {
public:
  RaceValues(RaceState &clocks, RaceReporter &reports, RaceEdges &edges)
      : clocks(clocks), reports(reports), edges(edges) {}
  void synchronizeAll(Locations &locations, uint64_t address, uint64_t bytes,
                      race::Access &access);

private:
  void synchronize(Locations &locations, uint64_t address,
                   race::Access &access);
  void observe(const Warp &warp, const Location &location,
               race::Ordering order);
  void release(const Warp &warp, Locations &locations, uint64_t address,
               race::Access &access);
  void leaveValue(const Warp &warp, Location &location, unsigned lane);
  void readValue(const Warp &warp, const Location &location);

  RaceState &clocks;
  RaceReporter &reports;
  RaceEdges &edges;
};

/// An operation of the tensor core, which executes some pairs in order. The key
/// identifies the accumulator, the shape and the kind of an MMA.
struct Piped {
  race::Kind kind = race::Kind::Mma;
  uint64_t key = 0;
};

/// Accesses to shared, global and tensor memory.
class RaceMemory {
public:
  RaceMemory(RaceState &clocks, RaceReporter &reports, RaceValues &values)
      : clocks(clocks), reports(reports), values(values) {}
  /// Returns the access of `lanes` of the instruction, in lane order; valid
  /// until another access begins.
  race::Access laneAccess(const Warp &warp, const Instruction &inst,
                          LaneMask lanes, Access access);
  /// Add one lane to it, at a 32-bit shared::cluster or a global address.
  void shared(race::Access &access, unsigned lane, uint32_t address,
              uint32_t bytes);
  void global(race::Access &access, unsigned lane, uint64_t address,
              uint64_t bytes);
  /// Returns an access to shared memory by an operation that `site` issues on a
  /// stream, for the shadow of the CTA. Only one is valid at a time.
  race::Access sharedAccess(const RaceStream &stream, const Site &site,
                            Cta &cta, Access access);
  race::Shadow &shadowOf(const Cta &cta);
  void asyncShared(const RaceStream &stream, const Site &site, Cta &cta,
                   uint32_t offset, uint32_t bytes, Access access);
  void asyncGlobal(const RaceStream &stream, const Site &site, uint64_t address,
                   uint64_t bytes, Access access);
  /// Accesses tensor memory. Of an MMA stream, `piped` says what the tensor
  /// core does. Without a stream the warp itself performs the access.
  void tensor(RaceStream *stream, const Site &site, Cta &cta, uint8_t groups,
              uint32_t column, uint32_t count, Access access, Piped piped = {});
  /// Frees tensor memory: accesses all cells of the columns, then clears them.
  void tensorFreed(const Site &site, Cta &cta, uint32_t column, uint32_t count);
  /// Records that the stream's operations so far will signal a barrier in the
  /// CTA.
  void touch(const RaceStream &stream, const Site &site, const Cta &cta);

  /// Records that the last lane of the warp has exited. For the last warp,
  /// reports the operations that still use the CTA's shared memory.
  void warpExits(const Warp &warp);

private:
  bool knownByLane(const RaceState::CtaState &state, race::Actor actor) const;
  void checkEarlier(const race::Access &access, uint64_t address,
                    uint64_t bytes);

  RaceState &clocks;
  RaceReporter &reports;
  RaceValues &values;
  /// Locations in shared memory.
  Locations locations;
  std::map<uint64_t, uint8_t> mmaKeys;
};

/// The use and the phases of mbarriers.
class RaceBarriers {
public:
  RaceBarriers(RaceState &clocks, RaceReporter &reports, RaceMemory &memory)
      : clocks(clocks), reports(reports), memory(memory) {}
  /// Record the init or inval of an mbarrier, and any other use of it.
  void barrierInit(const Site &site, Cta &cta, uint32_t offset,
                   SyncPoint &point);
  void barrierUse(const Site &site, const Cta &cta, uint32_t offset,
                  SyncPoint &point, LaneMask lanes, bool signals = false);
  /// Records that an operation of the stream will signal the mbarrier. The
  /// signal is also a use, by the async proxy unless the operation is cp.async.
  void barrierSignal(const RaceStream &stream, const Site &site, const Cta &cta,
                     uint32_t offset, SyncPoint &point);
  /// Records that lanes have observed that the last phase of an mbarrier is
  /// complete.
  void seePhase(const Site &site, LaneMask lanes, SyncPoint &point);
  /// Reports the waits for the last phase that are not ordered before `site`
  /// completes another phase.
  void checkPhaseOverrun(const Site &site, uint32_t offset, SyncPoint &point);

private:
  void noteRemoteUse(const Site &site, const Cta &cta, uint32_t offset,
                     SyncPoint &point);
  bool initFenced(const race::Access &access, const race::Stamp &init) const;
  bool inFlow(const race::Knowledge &knows, const PhaseSeen &seen);

  RaceState &clocks;
  RaceReporter &reports;
  RaceMemory &memory;
};

/// The race detector of a cluster.
class Races {
public:
  Races(Cluster &cluster, LaunchRaces &launch)
      : clocks(cluster, launch), reports(clocks), edges(clocks),
        values(clocks, reports, edges), memory(clocks, reports, values),
        barriers(clocks, reports, memory) {}

  RaceState clocks;
  RaceReporter reports;
  RaceEdges edges;
  RaceValues values;
  RaceMemory memory;
  RaceBarriers barriers;
};

/// Returns the race detector, or null if no enabled finding needs it.
inline Races *racesOf(const Site &site) {
  return site.warp->cluster.races.get();
}
inline Races *racesOf(const Warp &warp) { return warp.cluster.races.get(); }

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_RACES_RACES_H

//===- Scheduler.cpp - Chooses the next warp and resolves stalls ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"

#include "Deadlock.h"

#include <utility>

using namespace ptxsim;

/// Instructions without any change in the machine before a livelock is
/// suspected, and rounds of unsuccessful polls before an operation in flight
/// must complete.
static constexpr uint64_t kSuspicious = 1 << 20;
static constexpr uint64_t kSoftRounds = 1000;
/// Instructions without any change after which other clusters run: at first,
/// and after a visit that changed nothing.
static constexpr uint64_t kYield = 1 << 16, kLook = 1 << 10;
/// Instructions without any change after which a cluster that others may
/// unblock is checked for spinning, so that it is not visited without effect.
static constexpr uint64_t kSpin = 1 << 14;

Scheduler::Scheduler(Cluster &cluster)
    : cluster(cluster), machine(cluster.machine), turns(cluster),
      patience(kYield) {}

void Scheduler::othersChanged(uint64_t changes) {
  if (changes != changesOfOthers)
    restartWatch();
  changesOfOthers = changes;
}

bool Scheduler::run(bool mayYield) {
  if (mayYield && stuck)
    return false;
  yields = mayYield;
  visitedSince = cluster.steps;
  while (!machine.stopped) {
    bool live = false, runnable = false;
    for (Warp *warp : warps) {
      live |= !warp->finished();
      runnable |= warp->runnable();
    }
    if (!live)
      return finish();
    if (yields && std::exchange(cluster.makesRoom, false))
      return false;
    if (!runnable) {
      if (!stalled())
        reportDeadlock(FindingId::Deadlock);
      continue;
    }
    if (watchForLivelock())
      continue;
    if (yields && (stuck || quietSteps() >= patience)) {
      patience = kLook;
      return false;
    }
    takeTurns();
  }
  return true;
}

/// Returns the instructions of this visit since the last change.
uint64_t Scheduler::quietSteps() const {
  return cluster.steps - std::max(watchedSince, visitedSince);
}

void Scheduler::restartWatch() {
  changesWatched = cluster.changes;
  watchedSince = cluster.steps;
  suspicious = stuck = false;
  sweeps = 0;
  nextSnapshot = 1;
}

/// Lets warps run and operations complete according to the policy. If a
/// livelock is suspected, states are compared after plain sweeps.
void Scheduler::takeTurns() {
  Policy policy = machine.options.policy;
  if (policy == Policy::Exhaustive)
    return exhaustive.takeTurn();
  if (policy == Policy::Random && !suspicious)
    return takeRandomTurns(turns);
  if (policy == Policy::Pct && !suspicious)
    return priorities.takeTurns();
  turns.sweep();
}

/// Completes an operation when nothing else can make progress.
bool Scheduler::completeOne() {
  switch (machine.options.policy) {
  case Policy::Exhaustive:
    return exhaustive.completeOne();
  case Policy::Pct:
    return priorities.completeOne();
  default:
    return cluster.completeOne(machine.options.randomized());
  }
}

bool Scheduler::endSoftWaits() {
  bool woken = false;
  for (Warp *warp : warps)
    woken |= warp->endSoftWaits();
  return woken;
}

/// Handles that no warp can run. Returns true if any warp can run again.
bool Scheduler::stalled() {
  if (cluster.changes != changesAtStall) {
    changesAtStall = cluster.changes;
    softRounds = 0;
    for (Warp *warp : warps)
      warp->machineChanged();
  }
  // A try_wait may time out, and the program may then take another branch.
  if (++softRounds < kSoftRounds && endSoftWaits())
    return true;
  if (completeOne())
    return true;
  if (softRounds >= kSoftRounds)
    return false;
  for (Warp *warp : warps)
    if (warp->releaseGathering())
      return true;
  for (Warp *warp : warps)
    if (warp->releasePoint())
      return true;
  return false;
}

bool Scheduler::partLanes() {
  bool any = false;
  for (Warp *warp : warps)
    any |= warp->dissolvePoints();
  if (any)
    restartWatch();
  return any;
}

/// Checks running warps for a livelock. Returns true if the run must not
/// continue as before.
bool Scheduler::watchForLivelock() {
  if (cluster.changes != changesWatched) {
    restartWatch();
    patience = kYield;
    return false;
  }
  uint64_t quiet = cluster.steps - watchedSince;
  if (!cluster.inFlight().empty())
    return (quiet >= kSuspicious || (yields && quietSteps() >= kYield)) &&
           completeOne();
  // Plain sweeps can be compared at any time.
  bool plain = !machine.options.randomized();
  if (quiet < (yields && plain ? kSpin : kSuspicious))
    return false;
  // Brent's cycle search over the states after each sweep: a state that recurs
  // with no change in between recurs forever. A state that was examined before
  // other clusters ran has not recurred.
  if (suspicious && cluster.steps == lookedSince)
    return false;
  suspicious = true;
  lookedSince = cluster.steps;
  uint64_t state = 0;
  for (Warp *warp : warps)
    if (!warp->finished())
      state = state * 31 + warp->digest();
  if (sweeps && state == snapshot) {
    stuck = true;
    if (!yields && !partLanes())
      reportDeadlock(FindingId::Livelock);
    return !yields;
  }
  if (++sweeps == nextSnapshot) {
    snapshot = state;
    nextSnapshot *= 2;
  }
  return false;
}

bool Scheduler::finish() {
  while (completeOne())
    ;
  if (machine.stopped)
    return false;
  for (auto &cta : cluster.ctas) {
    for (auto &warp : cta->warps)
      for (auto &state : warp->states.slots)
        if (state)
          state->atCtaExit(*cta);
    for (auto &state : cta->states.slots)
      if (state)
        state->atCtaExit(*cta);
  }
  for (auto &state : cluster.states.slots)
    if (state)
      state->atCtaExit(*cluster.ctas[0]);
  machine.ctasDone += cluster.ctas.size();
  return !machine.stopped;
}

/// Maximum number of paths in a message; the wait-for graph has all of them.
static constexpr size_t kPathsShown = 64;

static std::string pathText(const BlockedPath &path) {
  char lanes[32];
  std::snprintf(lanes, sizeof lanes, " lanes 0x%08x", path.lanes);
  return "cta " + std::to_string(path.cta.x) + "," +
         std::to_string(path.cta.y) + "," + std::to_string(path.cta.z) +
         " warp " + std::to_string(path.warp) + lanes + " line " +
         std::to_string(path.ptxLine) + " " + path.instruction + ": " +
         path.waits;
}

/// A wait that missed its phase. The other waits follow from it.
struct LateWait {
  Site site;
  MissedPhase missed;
};

static std::optional<LateWait> findLateWait(const std::vector<Warp *> &warps) {
  for (const Warp *warp : warps)
    for (const Path &path : warp->paths)
      if (std::optional<MissedPhase> missed = missedBy(*warp, path))
        return LateWait{{warp, path.wait.inst, -1}, std::move(*missed)};
  return std::nullopt;
}

/// Returns "; cta 0,0,0 warp 1 waits for the end of phase 0 of ...".
static std::string lateText(const LateWait &late) {
  const PhaseOverrun &facts = late.missed.facts;
  return "; " + nameOf(*late.site.warp) + " waits for the end of phase " +
         std::to_string(facts.phase) + ", of parity " +
         std::to_string(facts.parity) + ", of the mbarrier " + facts.barrier +
         ", which had completed and was overrun: " +
         std::to_string(facts.completedSince) +
         " phases have completed since " +
         (facts.lastWaitLine ? "its last wait that succeeded"
                             : "the init, and it saw none");
}

static std::string lateAdvice(const PhaseOverrun &facts) {
  return "Let that wait see phase " + std::to_string(facts.phase) +
         " before the arrivals of the next one, for example by an arrival of "
         "the waiting thread at an mbarrier that those who arrive wait for: a "
         "wait distinguishes only the last complete phase and the current "
         "one.";
}

/// Returns the location of the report: a sleeping path if there is one.
static Site blockedSite(const std::vector<Warp *> &warps) {
  Site site;
  for (const Warp *warp : warps)
    for (const Path &path : warp->paths) {
      bool waits = path.status == Path::Status::Waiting;
      const auto &code = path.frames.back().code->instructions;
      if (waits)
        return {warp, path.wait.inst, -1};
      if (!site.warp && path.pc < code.size())
        site = {warp, &code[path.pc], -1};
    }
  return site;
}

void Scheduler::reportDeadlock(FindingId id) {
  DeadlockReport graph = explainDeadlock(cluster);
  std::string waits, others;
  for (size_t i = 0; i < std::min(graph.paths.size(), kPathsShown); ++i)
    waits += "\n  " + pathText(graph.paths[i]);
  if (graph.paths.size() > kPathsShown)
    waits +=
        "\n  and " + std::to_string(graph.paths.size() - kPathsShown) + " more";
  for (const std::string &op : graph.inFlight)
    others += (others.empty() ? "" : "; ") + op;
  if (others.empty())
    others = "nothing is in flight";
  std::optional<LateWait> late = findLateWait(warps);
  Other other = others;
  if (late && late->missed.by.warp)
    other = {"the phase after it was completed by " +
                 whoseText(late->missed.by) + "; " + others,
             late->missed.by};
  Site site = late ? late->site : blockedSite(warps);
  size_t count = graph.paths.size();
  machine.report.addFault(
      id, site,
      std::to_string(count) +
          (count == 1 ? " path of a warp" : " paths of warps") +
          " cannot go on" + (late ? lateText(*late) : "") + ":" + waits + "\n",
      other);
  if (late)
    machine.report.advise(id, site, lateAdvice(late->missed.facts));
  machine.deadlock = std::move(graph);
  machine.stopped = true;
  machine.status = Status::Deadlock;
}

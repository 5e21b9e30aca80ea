//===- RunState.h - State of a run, with vector clocks ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SYNC_RUNSTATE_H
#define FMHA_LIB_SYNC_RUNSTATE_H

#include "AccessHistory.h"

namespace fmha::schedule::sync {

/// The events that are known to have happened: in each lane, all up to a tick.
class Clock {
public:
  explicit Clock(size_t width) : lanes(width) {}
  Tick operator[](size_t lane) const { return lanes[lane]; }
  void join(const Clock &other);
  void raise(size_t lane, Tick tick) {
    if (lanes[lane] < tick)
      lanes[lane] = tick;
  }
  void lower(size_t lane, Tick tick) { lanes[lane] = tick; }
  void clear() { lanes.assign(lanes.size(), 0); }

private:
  std::vector<Tick> lanes;
};

/// The lanes of an agent: its progress, and up to which tick its accesses are
/// complete and fenced for the next unit.
enum AgentLane : uint32_t {
  Issue,
  Data,
  Proxied,
  InitFenced,
  Loads,
  Stores,
  Bulk,
  Copied,
  lanesPerAgent
};

struct AgentState {
  /// The knowledge of the agent, and that of its accesses to tensor memory: its
  /// knowledge at the last fence tcgen05_after. `fenced` is its knowledge at
  /// the last fence proxy_async, for copies of other agents.
  Clock now, tensor, fenced;
  Tick tick = 0, waitedLoads = 0, waitedStores = 0, bulkTick = 0;
  uint32_t bulk = 0;
  /// Index of the next event in the agent's order.
  size_t next = 0;
  /// Number of wgmma accesses so far, and at the end of each committed group.
  Tick wgmmas = 0;
  std::vector<Tick> groups = {};
  /// The ticks at which groups of copies were committed.
  std::vector<Tick> copyGroups = {};
  uint32_t lastWgmma = 0;
  /// Up to this tick, its warps know of each other's writes and of their fences
  /// for the asynchronous proxy.
  Tick together = 0;
  /// Whether the agent waits at a named barrier, and for which generation.
  bool standing = false;
  size_t generation = 0;
  /// For each named barrier, the generation of the last arrival.
  std::vector<Tick> arrivals = {};
};

struct Waiter {
  uint32_t agent;
  Tick tick;
  uint32_t source;
};

struct BarrierState {
  /// Clocks of the last complete phase, and of the current one.
  Clock last, gathered;
  unsigned pending = 0;
  int64_t bytes = 0;
  /// Number of complete phases, and how many precede the last init.
  Tick count = 0, before = 0;
  /// Waiters for the last complete phase.
  std::vector<Waiter> waiters = {};
  bool initialized = false, misused = false;
  uint32_t initAgent = 0;
  Tick initTick = 0;
  /// The last phase that a unit signals, and the op that requests the signal.
  Tick asyncPhase = 0;
  uint32_t asyncSource = 0;
  /// For each agent, the tick of its last wait or arrival.
  std::vector<Tick> used = {};
};

/// A named barrier: for each generation, the joined clocks of its threads.
struct NamedBarrier {
  std::vector<Clock> generations = {};
  Clock gathered{0};
  unsigned threads = 0, pending = 0;
  uint32_t source = 0;
};

/// A commit of `agent` that signals `phase` of `barrier`.
struct Signal {
  uint32_t agent, barrier;
  Tick phase;
};

/// MMAs that execute in issue order.
struct Chain {
  Clock done;
  uint32_t agent, lane;
  uint32_t last = 0;
};

inline uint32_t laneOf(uint32_t agent, AgentLane lane) {
  return agent * lanesPerAgent + lane;
}

/// The progress of the agents and barriers of a program, and the violations
/// found so far.
class RunState {
public:
  explicit RunState(const Program &program);

  uint32_t barrierLane(uint32_t barrier) const {
    return firstBarrierLane + barrier;
  }
  /// Returns the lane of the agent's warpgroup.
  uint32_t groupLane(uint32_t agent) const;
  /// Returns the agent's next event, or null at the end of its order.
  const Event *nextEvent(uint32_t agent) const;
  /// Records that the agent's own warps synchronize. They must do so before a
  /// wgmma reads what each of them has written.
  void meet(uint32_t agent, const Clock &others);
  void report(uint32_t source, std::optional<uint32_t> other, std::string text);
  std::string quote(uint32_t barrier) const;

  const Program &program;
  std::vector<AgentState> agents;
  std::vector<BarrierState> barriers;
  std::vector<NamedBarrier> named;
  std::vector<Chain> chains;
  /// Commits, in program order of each agent.
  std::vector<Signal> commits;
  /// For each MMA event, the index of its chain.
  std::vector<uint32_t> chainLanes;
  std::vector<Violation> violations;
  /// Clocks have lanes for warpgroups only if the program uses some.
  bool hasWarpgroups = false;
  uint32_t firstNamedLane = 0;

private:
  static constexpr size_t namedBarriers = 16, warpgroups = 16;
  void findChains(size_t firstLane);
  size_t addWarpgroups(size_t firstLane);

  uint32_t firstBarrierLane = 0, firstGroupLane = 0;
};

} // namespace fmha::schedule::sync

#endif // FMHA_LIB_SYNC_RUNSTATE_H

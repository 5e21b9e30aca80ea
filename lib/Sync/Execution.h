//===- Execution.h - One run of a kernel, with vector clocks ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SYNC_EXECUTION_H
#define FMHA_LIB_SYNC_EXECUTION_H

#include "Shadow.h"

namespace fmha::schedule::sync {

/// What is known to have happened: in each lane everything up to its tick.
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

/// What others may know of an agent: how far it has come, and up to where its
/// accesses are over and fenced for the unit that comes next.
enum AgentLane : uint32_t {
  Issue,
  Data,
  Proxied,
  InitFenced,
  Loads,
  Stores,
  Bulk,
  lanesPerAgent
};

struct AgentState {
  /// What it knows, and what its tensor-memory accesses may rely on: what it
  /// knew at its last fence tcgen05_after.
  Clock now, tensor;
  Tick tick = 0, waitedLoads = 0, waitedStores = 0, bulkTick = 0;
  uint32_t bulk = 0;
  /// Next event of its order.
  size_t next = 0;
  /// Accesses of wgmma so far, and up to the end of each committed group.
  Tick wgmmas = 0;
  std::vector<Tick> groups = {};
  uint32_t lastWgmma = 0;
  /// Up to where its warps know of each other that they have written and fenced
  /// for the asynchronous proxy.
  Tick together = 0;
  /// Whether it stands at a named barrier, and for which of its generations.
  bool standing = false;
  size_t generation = 0;
  /// Of each named barrier, up to which generation it has come.
  std::vector<Tick> arrivals = {};
};

struct Waiter {
  uint32_t agent;
  Tick tick;
  uint32_t source;
};

struct BarrierState {
  /// Of the last complete phase, and of the one under way.
  Clock last, gathered;
  unsigned pending = 0;
  int64_t bytes = 0;
  /// Complete phases, and those of them before the last init.
  Tick count = 0, before = 0;
  /// Of the last complete phase.
  std::vector<Waiter> waiters = {};
  bool initialised = false, misused = false;
  uint32_t initAgent = 0;
  Tick initTick = 0;
  /// The last phase that a unit signals, and the op that makes it do so.
  Tick asyncPhase = 0;
  uint32_t asyncSource = 0;
  /// Of each agent, when it waited or arrived last.
  std::vector<Tick> used = {};
};

/// What those who were there know, for each time that all had come.
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

/// MMAs that the machine executes in order.
struct Chain {
  Clock done;
  uint32_t agent, lane;
  uint32_t last = 0;
};

class Execution {
public:
  explicit Execution(const Program &program);
  std::vector<Complaint> run();

private:
  void findChains(size_t firstLane);
  uint32_t laneOf(uint32_t agent, AgentLane lane) const {
    return agent * lanesPerAgent + lane;
  }
  uint32_t barrierLane(uint32_t barrier) const {
    return firstBarrierLane + barrier;
  }

  const Event *nextEvent(uint32_t agent) const;
  bool step(uint32_t agent);
  bool passSync(uint32_t agent);
  bool standsWith(uint32_t agent, uint32_t other) const;
  uint64_t warpsTogether(uint32_t agent) const;
  void reportStuck();
  void checkExit();
  std::vector<Tick> signalledBefore(const Clock &known) const;

  void init(uint32_t agent, const Event &event);
  void invalidate(uint32_t agent, const Event &event);
  void use(uint32_t agent, const Event &event);
  void fence(uint32_t agent, Action action);
  void checkReady(uint32_t agent, const Event &event);
  void checkPhase(uint32_t agent, const Event &event);
  void arrive(uint32_t agent, const Event &event, unsigned count,
              const Clock &clock);
  void completeIfFull(uint32_t barrier);
  Tick awaitedCount(uint32_t agent, const Event &event) const;
  bool wait(uint32_t agent, const Event &event);
  void commit(uint32_t agent, const Event &event);
  void noteAsync(const Event &event);

  //===--- Warpgroups (Warpgroups.cpp) ---===//
  static constexpr size_t namedBarriers = 16, warpgroups = 16;
  size_t addWarpgroups(size_t firstLane);
  uint32_t groupLane(uint32_t agent) const;
  void checkWarpgroups();
  void waitForGroups(uint32_t agent, const Event &event);
  void leaveTogether(const std::vector<uint32_t> &group, const Clock &all);
  void meet(uint32_t agent, const Clock &others);
  void arriveNamed(uint32_t agent, const Event &event);
  bool syncNamed(uint32_t agent, const Event &event);
  std::string stuckAtNamed(uint32_t agent, const Event &event) const;
  void checkWarpgroupsExit();

  void access(uint32_t agent, uint32_t index);
  Record recordOf(uint32_t agent, uint32_t index);
  bool isOrdered(const Record &old, uint32_t agent, const Record &fresh) const;

  void complain(uint32_t source, std::optional<uint32_t> other,
                std::string text);
  std::string quote(uint32_t barrier) const;
  std::string stateOf(uint32_t barrier) const;
  std::string raceText(const Record &old, uint32_t agent,
                       const Record &fresh) const;
  std::string missingStep(const Record &old, uint32_t agent,
                          const Record &fresh) const;

  const Program &program;
  Shadow shadow;
  uint32_t firstBarrierLane = 0;
  /// Clocks have lanes for warpgroups only where there are some.
  bool hasWarpgroups = false;
  uint32_t firstNamedLane = 0, firstGroupLane = 0;
  std::vector<AgentState> agents;
  std::vector<BarrierState> barriers;
  std::vector<NamedBarrier> named;
  std::vector<Chain> chains;
  /// In program order of each agent.
  std::vector<Signal> commits;
  /// Of each MMA event, its chain.
  std::vector<uint32_t> chainLanes;
  std::vector<Complaint> complaints;
};

/// Y7, agent by agent.
std::vector<Complaint> verifyChannels(const Program &program);

} // namespace fmha::schedule::sync

#endif // FMHA_LIB_SYNC_EXECUTION_H

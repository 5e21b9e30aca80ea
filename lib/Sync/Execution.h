//===- Execution.h - One run of a kernel ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SYNC_EXECUTION_H
#define FMHA_LIB_SYNC_EXECUTION_H

#include "RunState.h"

namespace fmha::schedule::sync {

/// Checks arrivals at mbarriers, their phases and waits: Y3, Y4, Y5 and Y8.
class Mbarriers {
public:
  explicit Mbarriers(RunState &run) : run(run) {}

  // BarrierReinit.cpp
  void init(uint32_t agent, const Event &event);
  void invalidate(uint32_t agent, const Event &event);
  void use(uint32_t agent, const Event &event);

  void checkReady(uint32_t agent, const Event &event);
  void checkPhase(uint32_t agent, const Event &event);
  void arrive(uint32_t agent, const Event &event, unsigned count,
              const Clock &clock);
  void completeIfFull(uint32_t barrier);
  Tick awaitedCount(uint32_t agent, const Event &event) const;
  /// Returns whether the wait has ended.
  bool wait(uint32_t agent, const Event &event);
  void commit(uint32_t agent, const Event &event);
  void noteAsync(const Event &event);
  std::vector<Tick> signalledBefore(const Clock &known) const;
  std::string stateOf(uint32_t barrier) const;

private:
  RunState &run;
};

/// Checks wgmma, which whole warpgroups execute, and named barriers: Y3, Y6
/// and Y9.
class Warpgroups {
public:
  explicit Warpgroups(RunState &run) : run(run) {}

  void check();
  void leaveTogether(const std::vector<uint32_t> &group, const Clock &all);
  void arriveNamed(uint32_t agent, const Event &event);
  /// Returns whether all threads have arrived.
  bool syncNamed(uint32_t agent, const Event &event);
  std::string stuckAtNamed(uint32_t agent, const Event &event) const;
  void checkExit();

private:
  void waitForGroups(uint32_t agent, const Event &event);

  RunState &run;
};

/// Checks the order of accesses to memory: Y1.
class Accesses {
public:
  Accesses(RunState &run, Mbarriers &mbarriers)
      : run(run), mbarriers(mbarriers), history(run.program) {}

  void access(uint32_t agent, uint32_t index);

private:
  Record recordOf(uint32_t agent, uint32_t index);
  bool isOrdered(const Record &old, uint32_t agent, const Record &fresh) const;
  // ExecutionText.cpp
  std::string raceText(const Record &old, uint32_t agent,
                       const Record &fresh) const;
  std::string missingStep(const Record &old, uint32_t agent,
                          const Record &fresh) const;

  RunState &run;
  Mbarriers &mbarriers;
  AccessHistory history;
};

/// Runs the agents in turns until all have ended or none can continue.
class Execution {
public:
  explicit Execution(const Program &program) : state(program) {}
  std::vector<Violation> run();

private:
  bool step(uint32_t agent);
  void fence(uint32_t agent, Action action);
  void arrive(uint32_t agent, const Event &event);
  void awaitCopies(uint32_t agent, int64_t pending);
  bool passSync(uint32_t agent);
  bool standsWith(uint32_t agent, uint32_t other) const;
  uint64_t warpsTogether(uint32_t agent) const;
  void reportStuck();
  void checkExit();

  RunState state;
  Mbarriers mbarriers{state};
  Warpgroups warpgroups{state};
  Accesses accesses{state, mbarriers};
  const Program &program = state.program;
  std::vector<AgentState> &agents = state.agents;
};

/// Returns the violations of Y7 of each agent.
std::vector<Violation> verifyChannels(const Program &program);

} // namespace fmha::schedule::sync

#endif // FMHA_LIB_SYNC_EXECUTION_H

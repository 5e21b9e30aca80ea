//===- Accesses.cpp - Order of conflicting accesses -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

using namespace fmha::schedule::sync;

static PartRows rowsOf(const Event &event, const Agent &agent) {
  constexpr unsigned rowClasses = 8;
  PartRows rows = event.ownRows ? agent.rows : allRows, all = 0;
  unsigned parts = event.memory == Memory::Tensor ? event.halves : event.strips;
  for (unsigned shift = 0; parts; parts >>= 1, shift += rowClasses)
    all |= parts & 1 ? rows << shift : 0;
  return all;
}

Record Accesses::recordOf(uint32_t agent, uint32_t index) {
  const Event &event = run.program.events[index];
  AgentState &self = run.agents[agent];
  Tick tick = ++self.tick;
  self.now.raise(laneOf(agent, Issue), tick);
  Record record{index,
                agent,
                uint32_t(self.next),
                0,
                tick,
                event.unit,
                event.write,
                rowsOf(event, run.program.agents[agent])};
  switch (event.unit) {
  case Unit::Threads:
    self.now.raise(laneOf(agent, Data), tick);
    record.lane = laneOf(agent, Data);
    break;
  case Unit::Copies:
    record.lane = laneOf(agent, Copied);
    break;
  case Unit::TmemLoad:
    record.lane = laneOf(agent, Loads);
    break;
  case Unit::TmemStore:
    record.lane = laneOf(agent, Stores);
    break;
  case Unit::TmaStore:
    record.lane = laneOf(agent, Bulk);
    self.bulk = index;
    self.bulkTick = tick;
    break;
  case Unit::TmaLoad:
    record.lane = run.barrierLane(event.barrier);
    record.tick = run.barriers[event.barrier].count + 1;
    break;
  case Unit::Mma: {
    Chain &chain = run.chains[run.chainLanes[index]];
    chain.done.join(self.now);
    chain.done.lower(laneOf(agent, Data), 0);
    chain.done.lower(laneOf(agent, Proxied), 0);
    chain.done.raise(chain.lane, tick);
    chain.last = event.source;
    record.lane = chain.lane;
    break;
  }
  case Unit::Wgmma:
    record.lane = run.groupLane(agent);
    record.tick = ++self.wgmmas;
    self.lastWgmma = event.source;
    break;
  }
  return record;
}

static bool isOfGenericProxy(Unit unit) {
  return unit == Unit::Threads || unit == Unit::Copies;
}

/// Returns whether `old` is ordered before `fresh`, for its unit and proxy
/// (Y1).
bool Accesses::isOrdered(const Record &old, uint32_t agent,
                         const Record &fresh) const {
  const AgentState &self = run.agents[agent];
  Memory memory = run.program.events[fresh.event].memory;
  bool tensor = memory == Memory::Tensor;
  const Clock &seen = tensor ? self.tensor : self.now;
  bool own = old.agent == agent;
  switch (old.unit) {
  case Unit::Threads:
    if (isOfGenericProxy(fresh.unit) || memory == Memory::Registers)
      return own || seen[old.lane] >= old.tick;
    if (fresh.unit == Unit::Wgmma && own)
      return run.agents[agent].together >= old.tick;
    // The asynchronous proxy may also overtake reads of threads.
    return seen[laneOf(old.agent, Proxied)] >= old.tick;
  case Unit::Copies:
    // A thread that waits for copies must fence them before the asynchronous
    // proxy reads them.
    return (isOfGenericProxy(fresh.unit) ? seen : self.fenced)[old.lane] >=
           old.tick;
  case Unit::TmemLoad:
    return own ? self.waitedLoads >= old.tick : seen[old.lane] >= old.tick;
  case Unit::TmemStore:
    return own ? self.waitedStores >= old.tick : seen[old.lane] >= old.tick;
  case Unit::Mma:
    return (fresh.unit == Unit::Mma && old.lane == fresh.lane) ||
           seen[old.lane] >= old.tick;
  case Unit::Wgmma:
    return (fresh.unit == Unit::Wgmma && own) || seen[old.lane] >= old.tick;
  case Unit::TmaLoad:
  case Unit::TmaStore:
    return seen[old.lane] >= old.tick;
  }
  return false;
}

void Accesses::access(uint32_t agent, uint32_t index) {
  const Event &event = run.program.events[index];
  if (event.unit == Unit::TmaLoad) {
    mbarriers.checkReady(agent, event);
    mbarriers.checkPhase(agent, event);
    mbarriers.noteAsync(event);
  }
  Record fresh = recordOf(agent, index);
  auto [first, last] = history.cellsOf(index);
  for (uint32_t cell = first; cell < last; ++cell) {
    for (const Record &old : history.records(cell))
      if ((old.write || fresh.write) && (old.rows & fresh.rows) &&
          old.event != index && !isOrdered(old, agent, fresh))
        run.report(event.source, run.program.events[old.event].source,
                   raceText(old, agent, fresh));
    history.add(cell, fresh);
  }
  if (event.unit != Unit::TmaLoad)
    return;
  run.barriers[event.barrier].bytes -= event.amount;
  mbarriers.completeIfFull(event.barrier);
}

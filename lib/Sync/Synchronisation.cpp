//===- Synchronisation.cpp - Is a run of a kernel ordered? ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <algorithm>

using namespace fmha::schedule::sync;

static std::string str(uint64_t value) { return std::to_string(value); }

/// As many as say something new: one missing op is met again in each block.
static constexpr size_t mostComplaints = 6;

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

void Clock::join(const Clock &other) {
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i] = std::max(lanes[i], other.lanes[i]);
}

Execution::Execution(const Program &program)
    : program(program), shadow(program), chainLanes(program.events.size()) {
  size_t width = program.agents.size() * lanesPerAgent;
  firstBarrierLane = width;
  width += program.barriers.size();
  findChains(width);
  width = addWarpgroups(width + chains.size());
  for (NamedBarrier &state : named)
    state.gathered = Clock(width);
  for (const Barrier &barrier : program.barriers)
    barriers.push_back({Clock(width), Clock(width), barrier.arrivals});
  for (BarrierState &state : barriers)
    state.used.resize(program.agents.size());
  for (size_t i = 0; i < program.agents.size(); ++i)
    agents.push_back({Clock(width), Clock(width)});
  for (AgentState &agent : agents)
    agent.arrivals.resize(named.size());
  for (Chain &chain : chains)
    chain.done = Clock(width);
}

/// One lane for all MMAs of a thread that the machine executes in order.
void Execution::findChains(size_t firstLane) {
  std::vector<std::pair<uint64_t, uint32_t>> keys;
  for (uint32_t agent = 0; agent < program.agents.size(); ++agent)
    for (uint32_t index : program.agents[agent].order) {
      const Event &event = program.events[index];
      if (event.action != Action::Access || event.unit != Unit::Mma)
        continue;
      std::pair<uint64_t, uint32_t> key(event.chain, agent);
      auto at = std::find(keys.begin(), keys.end(), key);
      if (at == keys.end()) {
        chains.push_back({Clock(0), agent, uint32_t(firstLane + keys.size())});
        at = keys.insert(keys.end(), key);
      }
      chainLanes[index] = uint32_t(at - keys.begin());
    }
}

//===----------------------------------------------------------------------===//
// Complaints
//===----------------------------------------------------------------------===//

void Execution::complain(uint32_t source, std::optional<uint32_t> other,
                         std::string text) {
  for (const Complaint &old : complaints)
    if (old.source == source && old.text.substr(0, 2) == text.substr(0, 2))
      return;
  if (complaints.size() < mostComplaints)
    complaints.push_back({source, other, std::move(text)});
}

std::string Execution::quote(uint32_t barrier) const {
  return '"' + program.barriers[barrier].name + '"';
}

std::string Execution::stateOf(uint32_t barrier) const {
  const BarrierState &state = barriers[barrier];
  unsigned expected = program.barriers[barrier].arrivals;
  std::string text = "got " + str(expected - state.pending) + " of " +
                     str(expected) + " arrivals";
  if (state.bytes != 0)
    text += state.bytes > 0 ? ", and lacks " + str(state.bytes) +
                                  " bytes that arrive_expect_tx announced"
                            : ", and " + str(-state.bytes) +
                                  " bytes more than arrive_expect_tx announced";
  return text;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// Y5. The initialising thread itself needs no hand-off, but its fence.
void Execution::checkReady(uint32_t agent, const Event &event) {
  BarrierState &state = barriers[event.barrier];
  if (program.barriers[event.barrier].ready || state.misused)
    return;
  const Clock &now = agents[agent].now;
  std::string missing;
  if (!state.initialised)
    missing = "init_barrier";
  else if (now[laneOf(state.initAgent, Issue)] < state.initTick)
    missing = "a synchronisation of the CTA behind its init_barrier";
  else if (now[laneOf(state.initAgent, InitFenced)] < state.initTick)
    missing = "a fence mbarrier_init behind its init_barrier";
  if (missing.empty())
    return;
  state.misused = true;
  complain(event.source, std::nullopt,
           "Y5: uses barrier " + quote(event.barrier) + " without " + missing);
}

/// Y3: in a run where the phase before ends late, this arrival would count
/// for it.
void Execution::checkPhase(uint32_t agent, const Event &event) {
  const BarrierState &state = barriers[event.barrier];
  if (agents[agent].now[barrierLane(event.barrier)] < state.count)
    complain(event.source, std::nullopt,
             "Y3: may signal barrier " + quote(event.barrier) +
                 " before its phase " + str(state.count - 1) +
                 " is complete, and so count for that phase: expected a wait "
                 "that follows from the end of that phase");
}

void Execution::arrive(uint32_t agent, const Event &event, unsigned count,
                       const Clock &clock) {
  checkReady(agent, event);
  checkPhase(agent, event);
  BarrierState &state = barriers[event.barrier];
  if (count > state.pending) {
    unsigned expected = program.barriers[event.barrier].arrivals;
    complain(event.source, std::nullopt,
             "Y3: a phase of barrier " + quote(event.barrier) + " expects " +
                 str(expected) + " arrivals, got " +
                 str(expected - state.pending + count) +
                 "; make the count of init_barrier and the arriving threads "
                 "agree");
    count = state.pending;
  }
  state.pending -= count;
  state.gathered.join(clock);
  completeIfFull(event.barrier);
}

void Execution::completeIfFull(uint32_t barrier) {
  BarrierState &state = barriers[barrier];
  if (state.pending != 0 || state.bytes != 0)
    return;
  // Y4: who waited for the phase before must be through, or it waits for the
  // parity to come round again.
  for (const Waiter &waiter : state.waiters)
    if (state.gathered[laneOf(waiter.agent, Issue)] < waiter.tick)
      complain(waiter.source, std::nullopt,
               "Y4: may sleep through phase " + str(state.count - 1) +
                   " of barrier " + quote(barrier) +
                   ": nothing keeps the next phase from ending first");
  state.waiters.clear();
  ++state.count;
  state.pending = program.barriers[barrier].arrivals;
  std::swap(state.last, state.gathered);
  state.last.raise(barrierLane(barrier), state.count);
  state.gathered.clear();
}

/// The least number of complete phases that ends this wait in every run.
Tick Execution::awaitedCount(uint32_t agent, const Event &event) const {
  if (event.action == Action::WaitCount)
    return Tick(event.amount);
  // Parities count from the init.
  Tick first = barriers[event.barrier].before;
  Tick known = std::max(agents[agent].now[barrierLane(event.barrier)], first);
  return (known - first & 1) != Tick(event.amount) ? known : known + 1;
}

bool Execution::wait(uint32_t agent, const Event &event) {
  checkReady(agent, event);
  AgentState &self = agents[agent];
  BarrierState &state = barriers[event.barrier];
  Tick awaited = awaitedCount(agent, event);
  if (awaited == state.before) {
    use(agent, event);
    return true;
  }
  if (state.count < awaited)
    return false;
  if (state.count > awaited &&
      self.now[barrierLane(event.barrier)] < state.count)
    complain(event.source, std::nullopt,
             "Y4: may sleep through phase " + str(awaited - 1) +
                 " of barrier " + quote(event.barrier) +
                 ": nothing keeps the next phase from ending first");
  self.now.join(state.last);
  meet(agent, state.last);
  use(agent, event);
  state.waiters.push_back({agent, self.tick, event.source});
  return true;
}

/// tcgen05.commit fences the MMAs before it and nothing else of its thread.
void Execution::commit(uint32_t agent, const Event &event) {
  Clock clock = agents[agent].now;
  clock.lower(laneOf(agent, Data), 0);
  clock.lower(laneOf(agent, Proxied), 0);
  for (const Chain &chain : chains)
    if (chain.agent == agent)
      clock.join(chain.done);
  noteAsync(event);
  commits.push_back({agent, event.barrier, barriers[event.barrier].asyncPhase});
  arrive(agent, event, 1, clock);
}

void Execution::noteAsync(const Event &event) {
  BarrierState &state = barriers[event.barrier];
  state.asyncPhase = state.count + 1;
  state.asyncSource = event.source;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static PartRows rowsOf(const Event &event, const Agent &agent) {
  constexpr unsigned rowClasses = 8;
  PartRows rows = event.ownRows ? agent.rows : allRows, all = 0;
  unsigned parts = event.memory == Memory::Tensor ? event.halves : event.strips;
  for (unsigned shift = 0; parts; parts >>= 1, shift += rowClasses)
    all |= parts & 1 ? rows << shift : 0;
  return all;
}

Record Execution::recordOf(uint32_t agent, uint32_t index) {
  const Event &event = program.events[index];
  AgentState &self = agents[agent];
  Tick tick = ++self.tick;
  self.now.raise(laneOf(agent, Issue), tick);
  Record record{index,
                agent,
                uint32_t(self.next),
                0,
                tick,
                event.unit,
                event.write,
                rowsOf(event, program.agents[agent])};
  switch (event.unit) {
  case Unit::Threads:
    self.now.raise(laneOf(agent, Data), tick);
    record.lane = laneOf(agent, Data);
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
    record.lane = barrierLane(event.barrier);
    record.tick = barriers[event.barrier].count + 1;
    break;
  case Unit::Mma: {
    Chain &chain = chains[chainLanes[index]];
    chain.done.join(self.now);
    chain.done.lower(laneOf(agent, Data), 0);
    chain.done.lower(laneOf(agent, Proxied), 0);
    chain.done.raise(chain.lane, tick);
    chain.last = event.source;
    record.lane = chain.lane;
    break;
  }
  case Unit::Wgmma:
    record.lane = groupLane(agent);
    record.tick = ++self.wgmmas;
    self.lastWgmma = event.source;
    break;
  }
  return record;
}

/// Y1. Ordered, and so that unit and proxy of `event` see it.
bool Execution::isOrdered(const Record &old, uint32_t agent,
                          const Record &fresh) const {
  const AgentState &self = agents[agent];
  Memory memory = program.events[fresh.event].memory;
  bool tensor = memory == Memory::Tensor;
  const Clock &seen = tensor ? self.tensor : self.now;
  bool own = old.agent == agent;
  switch (old.unit) {
  case Unit::Threads:
    if (fresh.unit == Unit::Threads || memory == Memory::Registers)
      return own || seen[old.lane] >= old.tick;
    if (fresh.unit == Unit::Wgmma && own)
      return agents[agent].together >= old.tick;
    // The asynchronous proxy may overtake what threads read as well.
    return seen[laneOf(old.agent, Proxied)] >= old.tick;
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

void Execution::access(uint32_t agent, uint32_t index) {
  const Event &event = program.events[index];
  if (event.unit == Unit::TmaLoad) {
    checkReady(agent, event);
    checkPhase(agent, event);
    noteAsync(event);
  }
  Record fresh = recordOf(agent, index);
  auto [first, last] = shadow.cellsOf(index);
  for (uint32_t cell = first; cell < last; ++cell) {
    for (const Record &old : shadow.records(cell))
      if ((old.write || fresh.write) && (old.rows & fresh.rows) &&
          old.event != index && !isOrdered(old, agent, fresh))
        complain(event.source, program.events[old.event].source,
                 raceText(old, agent, fresh));
    shadow.add(cell, fresh);
  }
  if (event.unit != Unit::TmaLoad)
    return;
  barriers[event.barrier].bytes -= event.amount;
  completeIfFull(event.barrier);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Execution::fence(uint32_t agent, Action action) {
  AgentState &self = agents[agent];
  switch (action) {
  case Action::FenceBefore:
    self.now.raise(laneOf(agent, Loads), self.waitedLoads);
    self.now.raise(laneOf(agent, Stores), self.waitedStores);
    return;
  case Action::FenceAfter:
    self.tensor = self.now;
    return;
  case Action::FenceProxy:
    self.now.raise(laneOf(agent, Proxied), self.tick);
    return;
  case Action::FenceInit:
    self.now.raise(laneOf(agent, InitFenced), self.tick);
    return;
  case Action::WaitLoads:
    self.waitedLoads = self.tick;
    return;
  case Action::WaitStores:
    self.waitedStores = self.tick;
    return;
  case Action::WaitBulk:
    self.now.raise(laneOf(agent, Bulk), self.tick);
    return;
  case Action::WgmmaCommit:
    self.groups.push_back(self.wgmmas);
    return;
  default:
    return;
  }
}

/// Whether the agent is through with its next event.
bool Execution::step(uint32_t agent) {
  uint32_t index = program.agents[agent].order[agents[agent].next];
  const Event &event = program.events[index];
  switch (event.action) {
  case Action::Access:
    access(agent, index);
    return true;
  case Action::Init:
    init(agent, event);
    return true;
  case Action::Inval:
    invalidate(agent, event);
    return true;
  case Action::WaitParity:
  case Action::WaitCount:
    return wait(agent, event);
  case Action::ArriveExpect:
    barriers[event.barrier].bytes += event.amount;
    [[fallthrough]];
  case Action::Arrive:
    use(agent, event);
    arrive(agent, event, program.agents[agent].threads, agents[agent].now);
    return true;
  case Action::Commit:
    commit(agent, event);
    return true;
  case Action::SyncWarp:
  case Action::SyncCta:
  case Action::WgmmaWait:
    return false;
  case Action::SyncNamed:
    return syncNamed(agent, event);
  case Action::ArriveNamed:
    arriveNamed(agent, event);
    return true;
  case Action::ChannelEnd:
    return true;
  default:
    fence(agent, event.action);
    return true;
  }
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

const Event *Execution::nextEvent(uint32_t agent) const {
  const Agent &of = program.agents[agent];
  size_t next = agents[agent].next;
  return next < of.order.size() ? &program.events[of.order[next]] : nullptr;
}

/// Warps of this agent, and of all whose threads lie in a warp with them.
uint64_t Execution::warpsTogether(uint32_t agent) const {
  uint64_t warps = program.agents[agent].warps;
  for (uint64_t before = 0; before != warps;) {
    before = warps;
    for (const Agent &other : program.agents)
      if (other.warps & warps)
        warps |= other.warps;
  }
  return warps;
}

/// Whether both are at the same synchronisation: threads of a warp at one
/// event, warps of a CTA each at its own.
bool Execution::standsWith(uint32_t agent, uint32_t other) const {
  const Event *event = nextEvent(agent), *others = nextEvent(other);
  if (!others || event->action != others->action)
    return false;
  bool together = program.agents[agent].warps & program.agents[other].warps;
  return event == others || (event->action == Action::SyncCta && !together);
}

/// Whether threads wait here for others that come to the same place.
static bool isMeeting(const Event &event) {
  return event.action == Action::SyncCta || event.action == Action::SyncWarp ||
         event.action == Action::WgmmaWait;
}

/// Lets all agents go that stand at the same synchronisation, if none is
/// missing.
bool Execution::passSync(uint32_t agent) {
  const Event *event = nextEvent(agent);
  if (!event || !isMeeting(*event))
    return false;
  uint64_t warps = warpsTogether(agent);
  std::vector<uint32_t> group;
  for (uint32_t other = 0; other < agents.size(); ++other) {
    bool belongs = event->action == Action::SyncCta ||
                   (program.agents[other].warps & warps) != 0;
    if (!belongs)
      continue;
    if (!standsWith(agent, other))
      return false;
    group.push_back(other);
  }
  Clock all(agents[agent].now);
  for (uint32_t member : group)
    all.join(agents[member].now);
  if (event->action == Action::WgmmaWait)
    leaveTogether(group, all);
  for (uint32_t member : group) {
    AgentState &state = agents[member];
    if (event->action != Action::WgmmaWait)
      state.now = all;
    if (event->action == Action::SyncCta)
      meet(member, all);
    // A hand-off: later accesses are not covered by the tick so far.
    state.now.raise(laneOf(member, Issue), ++state.tick);
    ++state.next;
  }
  return true;
}

void Execution::reportStuck() {
  for (uint32_t agent = 0; agent < agents.size(); ++agent) {
    const Event *event = nextEvent(agent);
    if (!event)
      continue;
    std::string who = program.agents[agent].name;
    if (isMeeting(*event))
      complain(event->source, std::nullopt,
               "Y2: " + who +
                   " waits here for threads that never come: expected every "
                   "thread at the same synchronisation");
    else if (event->action == Action::SyncNamed)
      complain(event->source, std::nullopt, stuckAtNamed(agent, *event));
    else
      complain(event->source, std::nullopt,
               "Y2: " + who + " waits for phase " +
                   str(awaitedCount(agent, *event) - 1) + " of barrier " +
                   quote(event->barrier) + ", which never ends: phase " +
                   str(barriers[event->barrier].count) + " " +
                   stateOf(event->barrier));
  }
}

/// The phase of each barrier that commits have signalled by the time of what is
/// `known`: tcgen05.commit is in order with the tcgen05 operations of its
/// thread (PTX ISA 9.7.16.6.1), so who has waited for one has those ahead of
/// it.
std::vector<Tick> Execution::signalledBefore(const Clock &known) const {
  std::vector<Tick> phases(barriers.size());
  std::vector<bool> covered(agents.size());
  for (auto commit = commits.rbegin(); commit != commits.rend(); ++commit) {
    auto [agent, barrier, phase] = *commit;
    covered[agent] = covered[agent] || known[barrierLane(barrier)] >= phase;
    if (covered[agent])
      phases[barrier] = std::max(phases[barrier], phase);
  }
  return phases;
}

/// Y6. Threads have exited, so what no thread has waited for may come late.
void Execution::checkExit() {
  Clock all = agents.front().now;
  for (const AgentState &agent : agents)
    all.join(agent.now);
  std::vector<Tick> signalled = signalledBefore(all);
  for (uint32_t i = 0; i < barriers.size(); ++i)
    if (std::max(all[barrierLane(i)], signalled[i]) < barriers[i].asyncPhase)
      complain(barriers[i].asyncSource, std::nullopt,
               "Y6: may signal barrier " + quote(i) +
                   " after the CTA has exited: expected a thread that waits "
                   "for that phase");
  for (const Chain &chain : chains)
    if (all[chain.lane] < chain.done[chain.lane])
      complain(chain.last, std::nullopt,
               "Y6: this MMA may run on after the CTA has exited: expected a "
               "commit behind it and a wait for its phase");
  for (uint32_t i = 0; i < agents.size(); ++i)
    if (agents[i].bulkTick > agents[i].now[laneOf(i, Bulk)])
      complain(program.events[agents[i].bulk].source, std::nullopt,
               "Y6: may read shared memory after the CTA has exited: expected "
               "tma_store_wait behind it");
  checkWarpgroupsExit();
}

std::vector<Complaint> Execution::run() {
  if (agents.empty())
    return {};
  checkWarpgroups();
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t agent = 0; agent < agents.size(); ++agent) {
      while (nextEvent(agent) && step(agent)) {
        ++agents[agent].next;
        moved = true;
      }
      moved |= passSync(agent);
    }
  }
  bool stuck = false;
  for (uint32_t agent = 0; agent < agents.size(); ++agent)
    stuck |= nextEvent(agent) != nullptr;
  stuck ? reportStuck() : checkExit();
  return std::move(complaints);
}

std::vector<Complaint> fmha::schedule::sync::verify(const Program &program) {
  std::vector<Complaint> complaints = verifyChannels(program);
  return complaints.empty() ? Execution(program).run() : complaints;
}

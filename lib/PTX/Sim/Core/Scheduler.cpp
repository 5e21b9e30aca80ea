//===- Scheduler.cpp - Which warp runs next, and what if none can ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"

using namespace ptxsim;

/// Instructions of one turn. Long turns keep a warp's registers in the cache.
static constexpr uint64_t kTurn = 4096;
/// Instructions without any change in the machine before a loop is suspected,
/// and rounds of fruitless polls before something in flight must complete.
static constexpr uint64_t kSuspicious = 1 << 20;
static constexpr uint64_t kSoftRounds = 1000;

Scheduler::Scheduler(Cluster &cluster)
    : cluster(cluster), machine(cluster.machine), watchedSince(machine.steps) {
  for (auto &cta : cluster.ctas)
    for (auto &warp : cta->warps)
      warps.push_back(warp.get());
}

void Scheduler::turn(Warp &warp, uint64_t budget) {
  if (uint64_t limit = machine.options.maxSteps) {
    if (machine.steps >= limit) {
      machine.stopped = true;
      machine.status = Status::StepLimit;
      return;
    }
    budget = std::min(budget, limit - machine.steps);
  }
  uint64_t before = machine.steps >> 20;
  machine.steps += warp.run(budget);
  if (machine.options.progress && machine.steps >> 20 != before)
    machine.options.progress(machine.options.progressContext, machine.steps,
                             machine.ctasDone, machine.config.grid.count());
}

void Scheduler::sweep() {
  for (Warp *warp : warps) {
    if (machine.stopped)
      return;
    if (warp->runnable())
      turn(*warp, kTurn);
  }
}

void Scheduler::randomTurns() {
  // One sweep's worth of turns, so that a livelock is looked for as often.
  for (size_t i = 0; i < warps.size() && !machine.stopped; ++i) {
    while (!cluster.inFlight().empty() && cluster.random(4) == 0)
      if (!cluster.completeOne(true))
        break;
    std::vector<Warp *> ready;
    for (Warp *warp : warps)
      if (warp->runnable())
        ready.push_back(warp);
    if (ready.empty())
      return;
    turn(*ready[cluster.random(ready.size())], 1 + cluster.random(64));
  }
}

bool Scheduler::run() {
  while (!machine.stopped) {
    bool live = false, runnable = false;
    for (Warp *warp : warps) {
      live |= !warp->finished();
      runnable |= warp->runnable();
    }
    if (!live)
      return finish();
    if (!runnable) {
      if (!stalled())
        reportDeadlock(FindingId::Deadlock);
      continue;
    }
    if (watchForLivelock())
      continue;
    if (machine.options.policy == Policy::Random && !suspicious)
      randomTurns();
    else
      sweep();
  }
  return false;
}

bool Scheduler::endSoftWaits() {
  bool woken = false;
  for (Warp *warp : warps)
    woken |= warp->endSoftWaits();
  return woken;
}

/// No warp can run. True if something could be done about it.
bool Scheduler::stalled() {
  bool randomly = machine.options.policy == Policy::Random;
  if (cluster.changes != changesAtStall) {
    changesAtStall = cluster.changes;
    softRounds = 0;
    for (Warp *warp : warps)
      warp->machineChanged();
  }
  // A try_wait may time out, and the program may then do something else.
  if (++softRounds < kSoftRounds && endSoftWaits())
    return true;
  if (cluster.completeOne(randomly))
    return true;
  if (softRounds >= kSoftRounds)
    return false;
  for (Warp *warp : warps)
    if (warp->releaseGathering())
      return true;
  for (Warp *warp : warps)
    if (warp->releaseJoin())
      return true;
  return false;
}

/// Warps run. True if that was found to lead nowhere.
bool Scheduler::watchForLivelock() {
  if (cluster.changes != changesWatched) {
    changesWatched = cluster.changes;
    watchedSince = machine.steps;
    suspicious = false;
    sweeps = 0;
    nextSnapshot = 1;
    return false;
  }
  if (machine.steps - watchedSince < kSuspicious)
    return false;
  if (!cluster.inFlight().empty())
    return cluster.completeOne(machine.options.policy == Policy::Random);
  // Brent's cycle search over the states after each sweep: a state that comes
  // back, with nothing changed in between, comes back for ever.
  suspicious = true;
  uint64_t state = 0;
  for (Warp *warp : warps)
    if (!warp->finished())
      state = state * 31 + warp->digest();
  if (sweeps && state == snapshot) {
    reportDeadlock(FindingId::Livelock);
    return true;
  }
  if (++sweeps == nextSnapshot) {
    snapshot = state;
    nextSnapshot *= 2;
  }
  return false;
}

bool Scheduler::finish() {
  while (cluster.completeOne(machine.options.policy == Policy::Random))
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

/// What a path of a warp that does not run waits for.
static std::string describePath(const Warp &warp, const Path &path) {
  std::string text = "cta " + std::to_string(warp.cta.id.x) + "," +
                     std::to_string(warp.cta.id.y) + "," +
                     std::to_string(warp.cta.id.z) + " warp " +
                     std::to_string(warp.index);
  char lanes[32];
  std::snprintf(lanes, sizeof lanes, " lanes 0x%08x", path.mask);
  text += lanes;
  if (path.status == Path::Status::Waiting) {
    text += " line " + std::to_string(path.wait.inst->line) + " " +
            std::string(path.wait.inst->opcode) + ": ";
    return text + (path.wait.describe ? path.wait.describe(warp, path.wait)
                                      : std::string("waits"));
  }
  const Code &code = *path.frames.back().code;
  uint32_t line =
      path.pc < code.instructions.size() ? code.instructions[path.pc].line : 0;
  text += " line " + std::to_string(line);
  if (path.status == Path::Status::AtJoin)
    return text + ": waits for the other side of a branch";
  if (path.status == Path::Status::Gathering)
    return text + ": waits for lanes of a collective";
  return text + ": runs";
}

void Scheduler::reportDeadlock(FindingId id) {
  std::string waits, others;
  Site site;
  unsigned blocked = 0;
  for (Warp *warp : warps)
    for (const Path &path : warp->paths) {
      const Instruction *inst = path.wait.inst;
      if (!inst || path.status == Path::Status::Ready)
        inst = &path.frames.back().code->instructions[path.pc];
      if (!site.warp || path.status == Path::Status::Waiting)
        if (!site.warp || !site.inst)
          site = {warp, inst, -1};
      ++blocked;
      if (blocked <= 64)
        waits += "\n  " + describePath(*warp, path);
    }
  if (blocked > 64)
    waits += "\n  and " + std::to_string(blocked - 64) + " more";
  for (const auto &[number, agent] : cluster.inFlight())
    others += (others.empty() ? "" : "; ") + agent->describe();
  if (others.empty())
    others = "nothing is in flight";
  machine.report.addFault(id, site,
                          std::to_string(blocked) +
                              " paths of warps cannot go on:" + waits + "\n",
                          others);
  machine.stopped = true;
  machine.status = Status::Deadlock;
}

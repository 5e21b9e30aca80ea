//===- Policies.cpp - The order of warps and operations -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

#include "fmha/PTX/Sim/Exploration.h"

#include <algorithm>

using namespace ptxsim;

/// Instructions of one turn. Long turns keep a warp's registers in the cache.
static constexpr uint64_t kTurn = 4096;

WarpTurns::WarpTurns(Cluster &cluster)
    : cluster(cluster), machine(cluster.machine) {
  for (auto &cta : cluster.ctas)
    for (auto &warp : cta->warps)
      warps.push_back(warp.get());
}

void WarpTurns::turn(Warp &warp, uint64_t budget) {
  if (uint64_t limit = machine.options.maxSteps) {
    if (machine.steps >= limit) {
      machine.stopped = true;
      machine.status = Status::StepLimit;
      return;
    }
    budget = std::min(budget, limit - machine.steps);
  }
  if (machine.cancelled && *machine.cancelled) {
    machine.stopped = true;
    return;
  }
  uint64_t before = machine.steps >> 20, done = warp.run(budget);
  machine.steps += done;
  cluster.steps += done;
  if (machine.options.progress && machine.steps >> 20 != before)
    machine.options.progress(machine.options.progressContext, machine.steps,
                             machine.ctasDone, machine.config.grid.count());
}

void WarpTurns::sweep() {
  for (Warp *warp : warps) {
    if (machine.stopped)
      return;
    if (warp->runnable())
      turn(*warp, kTurn);
  }
}

void ptxsim::takeRandomTurns(WarpTurns &turns) {
  Cluster &cluster = turns.cluster;
  // As many turns as a sweep has, so that livelocks are checked equally often.
  for (size_t i = 0; i < turns.warps.size() && !turns.machine.stopped; ++i) {
    while (!cluster.inFlight().empty() && cluster.random(4) == 0)
      if (!cluster.completeOne(true))
        break;
    std::vector<Warp *> ready;
    for (Warp *warp : turns.warps)
      if (warp->runnable())
        ready.push_back(warp);
    if (ready.empty())
      return;
    turns.turn(*ready[cluster.random(ready.size())], 1 + cluster.random(64));
  }
}

/// Maximum length of a turn under Policy::Pct, so that a warp that polls does
/// not block the warps that it polls for.
static constexpr uint64_t kPriorityTurn = 1024;
/// The length of a run is unknown until its end, so the steps at which
/// priorities change are drawn from spans of 2^4 to 2^18 steps.
static constexpr unsigned kShortestSpan = 4, kSpans = 15;

uint64_t &PriorityPolicy::priorityOf(AsyncOpId op) {
  auto [found, fresh] = opPriorities.insert({op, 0});
  if (fresh)
    found->second = (uint64_t(1) << 32) + cluster.random(uint64_t(1) << 32);
  return found->second;
}

/// Lowers the priority of the process that took the step below all others if a
/// change was due.
void PriorityPolicy::changePriority(uint64_t &priority, uint64_t before) {
  for (uint64_t at : priorityChanges)
    if (at >= before && at < prioritySteps) {
      priority = --lowest;
      return;
    }
}

void PriorityPolicy::drawPriorities() {
  for (size_t i = 0; i < warps.size(); ++i)
    warpPriorities.push_back((uint64_t(1) << 32) +
                             cluster.random(uint64_t(1) << 32));
  for (unsigned i = 0; i < turns.machine.options.priorityChanges; ++i)
    priorityChanges.push_back(cluster.random(
        uint64_t(1) << (kShortestSpan + cluster.random(kSpans))));
}

void PriorityPolicy::takeTurns() {
  if (warpPriorities.empty())
    drawPriorities();
  for (size_t i = 0; i < warps.size() && !turns.machine.stopped; ++i) {
    size_t best = warps.size();
    for (size_t w = 0; w < warps.size(); ++w)
      if (warps[w]->runnable() &&
          (best == warps.size() || warpPriorities[w] > warpPriorities[best]))
        best = w;
    if (best == warps.size())
      return;
    std::optional<size_t> op = bestOp();
    uint64_t before = prioritySteps;
    AsyncOpId id = op ? cluster.inFlight()[*op].first : 0;
    if (op && priorityOf(id) > warpPriorities[best]) {
      cluster.completeOp(*op);
      opPriorities.erase(id);
      ++prioritySteps;
      continue;
    }
    uint64_t steps = turns.machine.steps, changes = cluster.changes;
    turns.turn(*warps[best], 1 + cluster.random(kPriorityTurn));
    prioritySteps += turns.machine.steps - steps;
    // A warp that polls without success yields to the others.
    if (cluster.changes == changes && warps[best]->runnable())
      warpPriorities[best] = --lowest;
    changePriority(warpPriorities[best], before);
  }
}

/// Returns the operation of highest priority among those that may complete.
std::optional<size_t> PriorityPolicy::bestOp() {
  std::optional<size_t> best;
  for (size_t i = 0; i < cluster.inFlight().size(); ++i)
    if (cluster.eligible(i) &&
        (!best || priorityOf(cluster.inFlight()[i].first) >
                      priorityOf(cluster.inFlight()[*best].first)))
      best = i;
  return best;
}

bool PriorityPolicy::completeOne() {
  std::optional<size_t> op = bestOp();
  if (!op)
    return false;
  AsyncOpId id = cluster.inFlight()[*op].first;
  cluster.completeOp(*op);
  opPriorities.erase(id);
  return true;
}

// --- Policy::Exhaustive ---

static constexpr uint64_t kAsyncOp = uint64_t(1) << 63;

static Exploration::Process numberOf(const Warp &warp) {
  return uint64_t(warp.cta.rank) << 40 | uint64_t(warp.index) << 32;
}

static Exploration::Process numberOf(const AsyncOp &op) {
  return kAsyncOp | (op.site.warp ? numberOf(*op.site.warp) : 0) | op.number;
}

/// Returns true for families whose state (tensor memory, register pools, copy
/// groups) is not recorded range by range.
bool ptxsim::touchesUnnoted(const Instruction &inst) {
  static constexpr std::string_view families[] = {
      "tcgen05.",           "setmaxnreg",           "cp.async.c",
      "cp.async.w",         "cp.async.m",           "cp.async.bulk.commit",
      "cp.async.bulk.wait", "clusterlaunchcontrol", "wgmma."};
  for (std::string_view family : families)
    if (inst.opcode.starts_with(family))
      return true;
  return false;
}

// Keys of access sets: global addresses unchanged, shared addresses by rank,
// and a separate key for state without an address.
static constexpr uint64_t kSharedKeys = uint64_t(1) << 62;
static constexpr uint64_t kBarrierKeys = uint64_t(2) << 62;

void Machine::noteGlobal(uint64_t address, uint64_t bytes, bool writes) {
  if (stepAccesses)
    stepAccesses->touch(address, address + bytes, writes);
}

void Machine::noteShared(const Cta &cta, uint64_t offset, uint64_t bytes,
                         bool writes) {
  uint64_t begin = kSharedKeys + (uint64_t(cta.rank) << 32) + offset;
  if (stepAccesses)
    stepAccesses->touch(begin, begin + bytes, writes);
}

void Machine::noteBarriers(const Cta &cta, bool writes) {
  if (stepAccesses)
    stepAccesses->touch(kBarrierKeys + cta.rank, kBarrierKeys + cta.rank + 1,
                        writes);
}

void Machine::noteClusterBarrier(bool writes) {
  if (stepAccesses)
    stepAccesses->touch(kBarrierKeys + 16, kBarrierKeys + 17, writes);
}

/// Returns the operations that may complete, by number.
std::vector<ExhaustivePolicy::Choice> ExhaustivePolicy::opChoices() {
  std::vector<Choice> choices;
  for (size_t i = 0; i < cluster.inFlight().size(); ++i)
    if (cluster.eligible(i))
      choices.push_back({numberOf(*cluster.inFlight()[i].second), nullptr, i});
  return choices;
}

/// Executes the choice of the exploration. Returns false if the exploration
/// stops this schedule.
bool ExhaustivePolicy::explore(std::vector<Choice> choices) {
  std::sort(
      choices.begin(), choices.end(),
      [](const Choice &a, const Choice &b) { return a.number < b.number; });
  std::vector<uint64_t> numbers;
  for (const Choice &choice : choices)
    numbers.push_back(choice.number);
  Exploration &exploration = *machine.options.exploration;
  std::optional<size_t> index = exploration.choose(numbers);
  if (!index) {
    machine.stopped = true;
    // A schedule that exceeds the limit gives no information on its end.
    if (!exploration.redundant())
      machine.status = Status::StepLimit;
    return false;
  }
  AccessSet &accesses = exploration.accesses();
  machine.stepAccesses = &accesses;
  const Choice &choice = choices[*index];
  if (choice.warp) {
    step(*choice.warp);
  } else {
    if (!cluster.inFlight()[choice.op].second->notesAccesses())
      accesses.touchEverything();
    cluster.completeOp(choice.op);
  }
  machine.stepAccesses = nullptr;
  return true;
}

bool ExhaustivePolicy::completeOne() {
  std::vector<Choice> choices = opChoices();
  return !choices.empty() && explore(std::move(choices));
}

/// Runs a warp up to and including its next change of state that other warps
/// can observe.
void ExhaustivePolicy::step(Warp &warp) {
  uint64_t changes = cluster.changes, end = machine.steps + kPriorityTurn;
  while (warp.runnable() && cluster.changes == changes && !machine.stopped &&
         machine.steps < end)
    turns.turn(warp, 1);
  size_t index =
      size_t(std::find(warps.begin(), warps.end(), &warp) - warps.begin());
  fruitless[index] = cluster.changes == changes ? changes + 1 : 0;
}

/// Takes one step of the exploration. A warp whose last step changed nothing
/// polls or computes: it waits until something changes or nothing else can
/// proceed.
void ExhaustivePolicy::takeTurn() {
  fruitless.resize(warps.size());
  std::vector<Choice> choices = opChoices();
  for (bool all : {false, true}) {
    for (size_t i = 0; i < warps.size(); ++i)
      if (warps[i]->runnable() && (all || fruitless[i] != cluster.changes + 1))
        choices.push_back({numberOf(*warps[i]), warps[i], 0});
    if (!choices.empty())
      break;
  }
  explore(std::move(choices));
}

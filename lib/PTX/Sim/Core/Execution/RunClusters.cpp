//===- RunClusters.cpp - Clusters in sequence or in parallel --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunClusters.h"

#include "Machine/DeviceImpl.h"
#include "Machine/WriteOwnership.h"
#include "Scheduler.h"

#include "fmha/PTX/Sim/Core/Execution/LaunchQueue.h"
#include "fmha/PTX/Sim/Core/Races/Races.h"

#include <algorithm>
#include <exception>
#include <map>
#include <thread>

using namespace ptxsim;

static uint64_t clusterCount(const Machine &machine) {
  return machine.config.grid.count() / machine.clusterShape.count();
}

namespace {

// --- sequentially ---

/// A cluster that has started, and its findings.
struct Resident {
  Resident(Machine &machine, uint64_t number)
      : cluster(machine, number, firstCta(machine, number),
                machine.clusterShape),
        scheduler(cluster), report(machine.options) {}
  Cluster cluster;
  Scheduler scheduler;
  Report report;
};

/// Selects the next cluster to start. A device starts clusters in the order of
/// their numbers, in as many places as it has; their relative speed is
/// unspecified. So the policy selects one of those that would have a place, and
/// a cluster may wait for any before it. If clusters cancel others, the queue
/// has fewer places.
class StartOrder {
public:
  explicit StartOrder(const Machine &machine)
      : policy(machine.options.policy), queue(machine.queue.get()),
        places(queue ? queue->placesOf(kPlaces) : kPlaces),
        count(clusterCount(machine)),
        // Not the number of any cluster, so that none draws the same sequence.
        generator(machine.options.scheduleSeed ^ 0xA0761D6478BD642Full) {}
  bool empty() {
    dropCancelled();
    return placed.empty() && next == count;
  }
  /// Returns true if a cluster has a place while `running` have started and not
  /// ended.
  bool hasPlace(size_t running) {
    return !empty() && (!placed.empty() || running < places);
  }
  /// Adds a place if all running clusters wait for a later one. Returns false
  /// if no place is left.
  bool widen() { return !empty() && places < kPlaces && ++places; }
  uint64_t take(size_t running);

private:
  static constexpr size_t kPlaces = 256;
  void dropCancelled();

  Policy policy;
  LaunchQueue *queue;
  size_t places;
  uint64_t count, next = 0, generator;
  /// Clusters that have a place and have not started, in order.
  std::vector<uint64_t> placed;
};

void StartOrder::dropCancelled() {
  if (!queue)
    return;
  auto never = [&](uint64_t number) { return queue->isCancelled(number); };
  std::erase_if(placed, never);
  while (next < count && never(next))
    ++next;
}

uint64_t StartOrder::take(size_t running) {
  while (next < count && running + placed.size() < places) {
    placed.push_back(next++);
    dropCancelled();
  }
  size_t index = 0;
  if (policy == Policy::Late)
    index = placed.size() - 1;
  else if (policy == Policy::Random || policy == Policy::Pct)
    index = size_t(drawBelow(placed.size(), generator));
  uint64_t number = placed[index];
  placed.erase(placed.begin() + ptrdiff_t(index));
  if (queue)
    queue->start(number);
  return number;
}

/// Findings of clusters, by cluster number. They are reported in that order,
/// regardless of the order of execution.
using Reports = std::map<uint64_t, Report>;

/// Runs clusters one after another. A cluster that spins on global memory
/// yields to the next, and runs again afterwards.
class SequentialRun {
public:
  explicit SequentialRun(Machine &machine) : machine(machine), order(machine) {}
  void run() {
    runAll();
    while (!residents.empty())
      remove(residents.size() - 1);
    for (auto &[number, report] : reports)
      machine.report.absorb(std::move(report));
  }

private:
  void runAll();
  void visitAll();
  bool visit(Resident &resident);
  void reportLivelock(Resident &resident);
  void remove(size_t index);
  bool roundHelps();
  bool partLanes();
  uint64_t changesOfAll() const {
    uint64_t sum = finishedChanges;
    for (const auto &resident : residents)
      sum += resident->cluster.changes;
    return sum;
  }
  bool alone() { return residents.size() == 1 && order.empty(); }
  Machine &machine;
  StartOrder order;
  uint64_t finishedChanges = 0;
  std::vector<std::unique_ptr<Resident>> residents;
  Reports reports;
};

void SequentialRun::runAll() {
  while (!machine.stopped && !(order.empty() && residents.empty())) {
    if (order.hasPlace(residents.size()))
      residents.push_back(
          std::make_unique<Resident>(machine, order.take(residents.size())));
    else if (!roundHelps() && !partLanes() && !order.widen())
      return reportLivelock(*residents.front());
    visitAll();
  }
}

/// Visits the newest cluster first: it has not run yet, and the others may be
/// waiting for it.
void SequentialRun::visitAll() {
  for (size_t i = residents.size(); i-- > 0 && !machine.stopped;) {
    Resident &resident = *residents[i];
    resident.scheduler.othersChanged(changesOfAll() - resident.cluster.changes);
    if (!visit(resident))
      continue;
    remove(i);
    if (!order.empty())
      return;
  }
}

/// Returns true at the end of the cluster or of the launch.
bool SequentialRun::visit(Resident &resident) {
  std::swap(machine.report, resident.report);
  bool ended = resident.scheduler.run(!alone());
  std::swap(machine.report, resident.report);
  return ended;
}

void SequentialRun::reportLivelock(Resident &resident) {
  std::swap(machine.report, resident.report);
  resident.scheduler.reportLivelock();
  std::swap(machine.report, resident.report);
}

void SequentialRun::remove(size_t index) {
  Resident &resident = *residents[index];
  finishedChanges += resident.cluster.changes;
  if (!resident.report.empty())
    reports.emplace(resident.cluster.number, std::move(resident.report));
  residents.erase(residents.begin() + ptrdiff_t(index));
}

/// Returns false if all clusters spin and none has a new state. A cluster that
/// has not run since another changed something may still make progress.
bool SequentialRun::roundHelps() {
  uint64_t changes = changesOfAll();
  return !std::ranges::all_of(residents, [&](const auto &resident) {
    return resident->scheduler.isStuck(changes - resident->cluster.changes);
  });
}

bool SequentialRun::partLanes() {
  bool any = false;
  for (const auto &resident : residents)
    any |= resident->scheduler.partLanes();
  return any;
}

// --- in parallel ---

class ParallelRun {
public:
  ParallelRun(Machine &machine, unsigned threads)
      : machine(machine), count(clusterCount(machine)),
        ownership(machine.device.impl()) {
    for (unsigned i = 0; i < threads; ++i) {
      options.push_back(std::make_unique<Options>(machine.options));
      // Only the launching thread calls back.
      if (i > 0)
        options.back()->progress = nullptr;
      workers.push_back(std::make_unique<Machine>(
          machine.device, machine.program, machine.config, *options.back()));
      workers.back()->ownership = &ownership;
      workers.back()->cancelled = &failed;
    }
  }
  /// Returns false if the clusters must run sequentially; memory is then
  /// restored.
  bool run();

private:
  void work(Machine &worker);
  void runOne(Machine &worker, uint64_t number);
  Machine &machine;
  uint64_t count;
  Reports reports;
  WriteOwnership ownership;
  std::vector<std::unique_ptr<Options>> options;
  std::vector<std::unique_ptr<Machine>> workers;
  std::atomic<uint64_t> next = 0, ctasDone = 0, steps = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr error;
  std::mutex mutex;
};

void ParallelRun::runOne(Machine &worker, uint64_t number) {
  worker.steps = steps;
  worker.ctasDone = ctasDone;
  uint64_t before = worker.steps;
  worker.report = Report(worker.options);
  {
    Resident resident(worker, number);
    resident.scheduler.run(false);
  }
  steps += worker.steps - before;
  ctasDone += machine.clusterShape.count();
  if (worker.stopped)
    failed = true;
  if (worker.report.empty())
    return;
  std::lock_guard lock(mutex);
  reports.emplace(number, std::move(worker.report));
}

void ParallelRun::work(Machine &worker) {
  try {
    while (!failed) {
      uint64_t number = next++;
      if (number >= count)
        return;
      runOne(worker, number);
    }
  } catch (const ClusterConflict &) {
    failed = true;
  } catch (...) {
    std::lock_guard lock(mutex);
    error = std::current_exception();
    failed = true;
  }
}

bool ParallelRun::run() {
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < workers.size(); ++i)
      threads.emplace_back([this, i] { work(*workers[i]); });
    work(*workers[0]);
  }
  uint64_t limit = machine.options.maxSteps;
  if (failed || error || (limit && steps >= limit)) {
    ownership.restore();
    return false;
  }
  for (auto &[number, report] : reports)
    machine.report.absorb(std::move(report));
  for (std::unique_ptr<Machine> &worker : workers)
    if (worker->races)
      machine.racesOfCores.push_back(std::move(worker->races));
  machine.steps = steps;
  machine.ctasDone = ctasDone;
  return true;
}

// --- selection ---

/// Returns true for opcodes by which CTAs communicate through global memory.
/// The conflict would be detected anyway; not trying is cheaper.
bool communicatesGlobally(const Instruction &inst) {
  std::string_view opcode = inst.opcode;
  auto has = [&](std::string_view part) {
    return opcode.find(part) != opcode.npos;
  };
  if (has("shared"))
    return false;
  if (opcode.starts_with("atom") || opcode.starts_with("red.") ||
      has("cp.reduce"))
    return true;
  return (opcode.starts_with("ld.") || opcode.starts_with("st.")) &&
         (has(".volatile") || has(".acquire") || has(".release") ||
          has(".relaxed") || has(".mmio"));
}

bool prints(const Instruction &inst) {
  return inst.handler == executeCall && inst.payload &&
         inst.data<CallData>().external == CallData::Extern::Printf;
}

/// Returns the reason why the clusters must run sequentially, or null.
const char *whySequential(const Machine &machine) {
  if (machine.options.policy == Policy::Exhaustive)
    return "an exploration";
  if (machine.options.trace)
    return "a trace";
  if (machine.options.observer)
    return "an observer";
  if (machine.queue)
    return "clusters that cancel others";
  if (clusterCount(machine) >= uint64_t(1) << 30)
    return "more clusters than claims can name";
  for (const auto &[function, code] : machine.program.codes)
    for (const Instruction &inst : code->instructions) {
      if (communicatesGlobally(inst))
        return "atomics, or volatile, acquire or release accesses to global "
               "memory";
      if (prints(inst))
        return "vprintf";
    }
  return nullptr;
}

unsigned threadsFor(const Machine &machine) {
  uint64_t threads = machine.options.threads;
  if (!threads)
    threads = std::max(1u, std::thread::hardware_concurrency());
  return unsigned(std::min<uint64_t>(threads, clusterCount(machine)));
}

} // namespace

LaunchResult ptxsim::runClusters(Machine &machine) {
  LaunchResult result;
  if (cancelsClusters(machine.program))
    machine.queue =
        std::make_unique<LaunchQueue>(machine.options, clusterCount(machine));
  unsigned threads = threadsFor(machine);
  bool done = false;
  if (threads > 1) {
    const char *why = whySequential(machine);
    done = !why && ParallelRun(machine, threads).run();
    result.threads = done ? threads : 1;
    if (!done)
      result.whySequential =
          why ? why : "clusters that share global memory, or an early end";
  }
  if (!done)
    SequentialRun(machine).run();
  machine.report.moveTo(result);
  result.warpInstructions = machine.steps;
  result.status = machine.status;
  result.faulted = machine.status == Status::Findings;
  result.deadlock = std::move(machine.deadlock);
  if (result.status == Status::Ok && !result.findings.empty())
    result.status = Status::Findings;
  return result;
}

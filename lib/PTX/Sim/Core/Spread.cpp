//===- Spread.cpp - The clusters of a launch, over cores and time ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "Scheduler.h"

#include <algorithm>
#include <exception>
#include <map>
#include <thread>

using namespace ptxsim;

static uint64_t clusterCount(const Machine &machine) {
  return machine.config.grid.count() / machine.clusterShape.count();
}

Dim3 ptxsim::firstCta(const Machine &machine, uint64_t cluster) {
  const Dim3 &grid = machine.config.grid, &shape = machine.clusterShape;
  uint64_t columns = grid.x / shape.x, rows = grid.y / shape.y;
  return {uint32_t(cluster % columns) * shape.x,
          uint32_t(cluster / columns % rows) * shape.y,
          uint32_t(cluster / (columns * rows)) * shape.z};
}

namespace {

// --- one after another ---

/// A cluster that has begun.
struct Resident {
  Resident(Machine &machine, uint64_t number)
      : cluster(machine, number, firstCta(machine, number),
                machine.clusterShape),
        scheduler(cluster) {}
  Cluster cluster;
  Scheduler scheduler;
};

/// Runs clusters in order. One that spins on global memory makes room for the
/// next, and has its turn again afterwards.
class InOrder {
public:
  explicit InOrder(Machine &machine)
      : machine(machine), count(clusterCount(machine)) {}
  void run() {
    while (!machine.stopped && (next < count || !residents.empty())) {
      if (next < count && residents.size() < kMostResidents)
        residents.push_back(std::make_unique<Resident>(machine, next++));
      else if (!roundHelps())
        return residents.front()->scheduler.reportLivelock();
      visitAll();
    }
  }

private:
  /// Like a device, whose multiprocessors hold so many clusters at a time.
  static constexpr size_t kMostResidents = 256;

  void visitAll();
  bool roundHelps();
  uint64_t changesOfAll() const {
    uint64_t sum = finishedChanges;
    for (const auto &resident : residents)
      sum += resident->cluster.changes;
    return sum;
  }
  bool alone() const { return residents.size() == 1 && next == count; }
  Machine &machine;
  uint64_t count, next = 0, finishedChanges = 0;
  std::vector<std::unique_ptr<Resident>> residents;
};

/// The newest first: it has not run yet, and is what the others may wait for.
void InOrder::visitAll() {
  for (size_t i = residents.size(); i-- > 0 && !machine.stopped;) {
    Resident &resident = *residents[i];
    resident.scheduler.othersChanged(changesOfAll() - resident.cluster.changes);
    if (!resident.scheduler.run(!alone()))
      continue;
    finishedChanges += resident.cluster.changes;
    residents.erase(residents.begin() + ptrdiff_t(i));
    if (next < count)
      return;
  }
}

/// False if all clusters spin and no state of theirs is new.
bool InOrder::roundHelps() {
  return !std::all_of(
      residents.begin(), residents.end(),
      [](const auto &resident) { return resident->scheduler.isStuck(); });
}

// --- at once ---

class AtOnce {
public:
  AtOnce(Machine &machine, unsigned threads)
      : machine(machine), count(clusterCount(machine)),
        claims(machine.device.impl()) {
    for (unsigned i = 0; i < threads; ++i) {
      options.push_back(std::make_unique<Options>(machine.options));
      // The launching thread alone calls back.
      if (i > 0)
        options.back()->progress = nullptr;
      workers.push_back(std::make_unique<Machine>(
          machine.device, machine.program, machine.config, *options.back()));
      workers.back()->claims = &claims;
      workers.back()->cancelled = &failed;
    }
  }
  /// False if the clusters must run in order after all; memory is then as it
  /// was.
  bool run();

private:
  void work(Machine &worker);
  void runOne(Machine &worker, uint64_t number);
  Machine &machine;
  uint64_t count;
  /// Of clusters that found something.
  std::map<uint64_t, Report> reports;
  Claims claims;
  std::vector<std::unique_ptr<Options>> options;
  std::vector<std::unique_ptr<Machine>> workers;
  std::atomic<uint64_t> next = 0, ctasDone = 0, steps = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr error;
  std::mutex mutex;
};

void AtOnce::runOne(Machine &worker, uint64_t number) {
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

void AtOnce::work(Machine &worker) {
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

bool AtOnce::run() {
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < workers.size(); ++i)
      threads.emplace_back([this, i] { work(*workers[i]); });
    work(*workers[0]);
  }
  uint64_t limit = machine.options.maxSteps;
  if (failed || error || (limit && steps >= limit)) {
    claims.restore();
    return false;
  }
  for (auto &[number, report] : reports)
    machine.report.absorb(std::move(report));
  machine.steps = steps;
  machine.ctasDone = ctasDone;
  return true;
}

// --- which ---

/// Opcodes by which CTAs talk to each other through global memory. They would
/// be found out; but it is cheaper not to try.
bool talks(const Instruction &inst) {
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

/// Why the clusters have to run in order, or nothing.
const char *whyInOrder(const Machine &machine) {
  if (machine.options.policy == Policy::Exhaustive)
    return "an exploration";
  if (machine.options.trace)
    return "a trace";
  if (clusterCount(machine) >= uint64_t(1) << 30)
    return "more clusters than claims can name";
  for (const auto &[function, code] : machine.program.codes)
    for (const Instruction &inst : code->instructions) {
      if (talks(inst))
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

/// Clusters that make room for each other find things out of order.
static void sortByCluster(const Machine &machine,
                          std::vector<Finding> &findings) {
  const Dim3 &grid = machine.config.grid, &shape = machine.clusterShape;
  auto numberOf = [&](const Finding &finding) {
    const Dim3 &cta = finding.cta;
    return (uint64_t(cta.z / shape.z) * (grid.y / shape.y) + cta.y / shape.y) *
               (grid.x / shape.x) +
           cta.x / shape.x;
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding &a, const Finding &b) {
                     return numberOf(a) < numberOf(b);
                   });
}

LaunchResult ptxsim::runClusters(Machine &machine) {
  LaunchResult result;
  unsigned threads = threadsFor(machine);
  bool done = false;
  if (threads > 1) {
    const char *why = whyInOrder(machine);
    done = !why && AtOnce(machine, threads).run();
    result.threads = done ? threads : 1;
    if (!done)
      result.whySequential =
          why ? why : "clusters that share global memory, or an early end";
  }
  if (!done)
    InOrder(machine).run();
  machine.report.moveTo(result);
  sortByCluster(machine, result.findings);
  result.warpInstructions = machine.steps;
  result.status = machine.status;
  result.faulted = machine.status == Status::Findings;
  result.deadlock = std::move(machine.deadlock);
  if (result.status == Status::Ok && !result.findings.empty())
    result.status = Status::Findings;
  return result;
}

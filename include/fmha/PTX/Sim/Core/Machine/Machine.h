//===- Machine.h - CTAs, clusters and the launch that runs them -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_MACHINE_H
#define FMHA_PTX_SIM_CORE_MACHINE_MACHINE_H

#include "fmha/PTX/Sim/Core/Machine/AsyncOp.h"
#include "fmha/PTX/Sim/Core/Machine/SyncPoint.h"
#include "fmha/PTX/Sim/Core/Machine/Warp.h"
#include "fmha/PTX/Sim/Simulator.h"

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

namespace ptxsim {

struct Program;
struct LaunchRaces;
struct Allocation;
class WriteOwnership;
class AccessSet;
class LaunchQueue;
class Tracer;

/// Marks of a byte of shared memory. They are an empty vector if
/// no enabled finding needs it.
enum SharedMark : uint8_t {
  /// The byte has been written.
  kWritten = 1,
  /// An operation in flight will write the byte.
  kAsyncWrite = 4,
  /// An operation in flight will read the byte.
  kAsyncRead = 8,
  /// Part of a live mbarrier.
  kBarrier = 16,
};

/// One named barrier of a CTA (bar, barrier.cta).
struct NamedBarrier {
  /// Threads that have arrived in this generation, and the thread count that
  /// the instructions give; 0 means all threads of the CTA.
  uint32_t arrived = 0, expected = 0;
  /// Reduction so far over the threads that execute .red.
  uint32_t popc = 0;
  bool all = true, any = false;
  /// Registers of sleeping warps that receive the result.
  struct Pending {
    Row *row;
    LaneMask lanes;
    char op; // 'p'opc, 'a'nd, 'o'r
  };
  std::vector<Pending> pending;
  /// Number of completions so far.
  uint64_t generation = 0;
  SyncPoint sync;
  /// The last arrival.
  Site lastArrival;
};

/// Returns a number below `bound` and advances `generator`.
uint64_t drawBelow(uint64_t bound, uint64_t &generator);

class Cta {
public:
  Cta(Cluster &cluster, Dim3 id, uint32_t rank);
  ~Cta();
  Cluster &cluster;
  Machine &machine;
  /// %ctaid and %cluster_ctarank.
  const Dim3 id;
  const uint32_t rank;
  std::vector<std::unique_ptr<Warp>> warps;
  /// Bytes, indexed by 24-bit shared address from 0 to sharedEnd. The first KiB
  /// is reserved.
  std::vector<uint8_t> shared, sharedMarks;
  uint32_t sharedEnd = kSharedBase;
  /// An exploration need not record accesses below this address.
  uint32_t unnotedEnd = kSharedBase;
  std::array<NamedBarrier, 16> barriers;
  UnitStates states;
  unsigned liveWarps = 0;
  /// The last exit instruction of the warp that exited last.
  Site lastExit;
  bool exited() const { return liveWarps == 0; }
};

/// The CTAs that run together, and their operations in flight.
class Cluster {
public:
  Cluster(Machine &machine, uint64_t number, Dim3 firstCta, Dim3 shape);
  ~Cluster();
  Machine &machine;
  /// Linear index in the grid; x varies fastest.
  const uint64_t number;
  /// %clusterid * %cluster_nctaid, and %cluster_nctaid.
  const Dim3 first, shape;
  std::vector<std::unique_ptr<Cta>> ctas;
  UnitStates states;

  // --- asynchronous operations ---
  /// Puts an operation in flight. Under Policy::Eager the operation completes
  /// before issue returns. The caller must set its site and `after`.
  AsyncOpId issue(std::unique_ptr<AsyncOp> op);
  bool isDone(AsyncOpId id) const;
  /// Operations in flight, oldest first, for reports and checks.
  const std::deque<std::pair<AsyncOpId, std::unique_ptr<AsyncOp>>> &
  inFlight() const {
    return ops;
  }

  // --- progress ---
  /// Ends the waits on `key`, after the state that `key` stands for has
  /// changed.
  void notify(const void *key);
  /// Counts a change of memory or of other state that a program could poll.
  void changed() { ++changes; }
  /// Returns a number below `bound`, drawn from the schedule seed.
  uint64_t random(uint64_t bound);
  /// Returns true, at random and only under Policy::Random, where a try_wait
  /// may return false without need or an answer may come early.
  bool spurious();

  // --- memory, with checks; null means a fault was reported ---
  /// Returns the CTA of a 32-bit shared::cluster address.
  Cta *ctaOf(const Site &site, uint32_t address);
  /// Returns `bytes` of shared memory at a shared::cluster address. Read checks
  /// that the bytes were written; Write and Atomic mark them as written. With
  /// `generic`, also checks for operations in flight on the same bytes.
  uint8_t *shared(const Site &site, uint32_t address, uint32_t bytes,
                  uint32_t align, Access access, bool generic = false);
  /// Returns true if an allocation of global memory contains the byte at
  /// `address`.
  bool hasGlobal(uint64_t address) const;
  /// Returns `bytes` of global memory.
  uint8_t *global(const Site &site, uint64_t address, uint64_t bytes,
                  uint32_t align, Access access);
  /// Returns the bytes at a generic address: global, shared, the issuing
  /// thread's local memory, or the kernel's parameters (read only).
  uint8_t *generic(const Site &site, uint64_t address, uint32_t bytes,
                   uint32_t align, Access access);
  /// Returns the kernel's parameter bytes, for tensor maps; null if out of
  /// range.
  const uint8_t *parameter(uint64_t address, uint32_t bytes) const;

  // --- barrier.cluster ---
  /// Phases completed so far.
  uint64_t clusterGeneration = 0;
  SyncPoint clusterSync;

  /// The race detector, or null where no enabled finding needs it.
  std::unique_ptr<Races> races;

  /// A request to cancel a cluster has been answered: other clusters run next.
  bool makesRoom = false;

  uint64_t changes = 0;
  /// Warp instructions of this cluster, and reads of clocks so far. Two reads
  /// never return the same value.
  uint64_t steps = 0, clock = 0;
  /// Generator of the schedule. It depends only on the seed and on `number`.
  uint64_t randomState;
  /// Handles the exit of lanes of a warp.
  void lanesExited(Warp &warp);

  // --- completion of operations, which the policy decides ---
  void completeOp(size_t index);
  bool completeOne(bool randomly);
  bool eligible(size_t index) const;

private:
  std::deque<std::pair<AsyncOpId, std::unique_ptr<AsyncOp>>> ops;
  AsyncOpId nextOp = 1;
};

class Machine {
public:
  Machine(Device &device, const Program &program, const LaunchConfig &config,
          const Options &options);
  ~Machine();
  Device &device;
  const Program &program;
  const LaunchConfig &config;
  const Options &options;
  Dim3 clusterShape;
  bool explicitCluster = false;
  /// The kernel's parameter bank.
  std::vector<uint8_t> parameters;
  Report report;
  std::unique_ptr<LaunchRaces> races;
  /// The same of each core, after clusters have run in parallel.
  std::vector<std::unique_ptr<LaunchRaces>> racesOfCores;
  /// A fault, a deadlock or the step limit has ended the launch.
  bool stopped = false;
  Status status = Status::Ok;
  std::optional<DeadlockReport> deadlock;
  uint64_t steps = 0, ctasDone = 0;
  /// The clusters that have not started, in a launch that may cancel some.
  std::unique_ptr<LaunchQueue> queue;
  /// While clusters run in parallel: which cluster accessed which global
  /// memory, and whether the attempt has failed.
  WriteOwnership *ownership = nullptr;
  const std::atomic<bool> *cancelled = nullptr;
  /// The allocation of the last access to global memory.
  Allocation *lastAllocation = nullptr;
  /// Shared memory of a CTA: end of static, start of dynamic, end of all.
  uint32_t staticEnd = kSharedBase, dynamicBegin = kSharedBase,
           sharedEnd = kSharedBase;

  /// Constant rows per CTA rank: the addresses of shared variables include the
  /// rank.
  std::vector<std::vector<Row>> constantRows;

  /// The accesses of the step that an exploration runs; null otherwise.
  AccessSet *stepAccesses = nullptr;
  /// Set if a warp is traced.
  std::unique_ptr<Tracer> tracer;

  /// Reports the finding and stops the launch.
  void fault(FindingId id, const Site &site, const std::string &detail,
             const Other &other = {});
  /// Record what the step of an exploration accesses; without one, do nothing.
  void noteShared(const Cta &cta, uint64_t offset, uint64_t bytes, bool writes);
  void noteGlobal(uint64_t address, uint64_t bytes, bool writes);
  /// Record accesses to the named barriers of a CTA, and to barrier.cluster.
  void noteBarriers(const Cta &cta, bool writes);
  void noteClusterBarrier(bool writes);
  LaunchResult run();

private:
  void layOutShared();
  void fillConstants();
  void checkLaunch() const;
  void checkExploration() const;
  void findOverlapped();
  void keepForLaterGrids();
};

/// Returns the first CTA of a cluster; x varies fastest.
Dim3 firstCta(const Machine &machine, uint64_t cluster);

/// Returns the name of the shared variable at an address of a CTA: "full",
/// "full+8", "smem+64 (dynamic shared memory)", or "shared 0x410" if there is
/// no variable.
std::string sharedName(const Machine &machine, uint32_t address);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_MACHINE_H

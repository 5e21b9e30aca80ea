//===- Machine.h - CTAs, clusters and the launch that runs them -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_MACHINE_H
#define FMHA_PTX_SIM_CORE_MACHINE_MACHINE_H

#include "fmha/PTX/Sim/Core/Machine/Agent.h"
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
class Claims;
class Footprint;
class LaunchQueue;
class Tracer;

/// Bits of the shadow of a shared memory byte. Absent (empty vector) when no
/// enabled finding needs it.
enum SharedShadow : uint8_t {
  /// Somebody wrote the byte.
  kWritten = 1,
  /// An agent in flight will write the byte.
  kAsyncWrite = 4,
  /// An agent in flight will read the byte.
  kAsyncRead = 8,
  /// Part of a live mbarrier.
  kBarrier = 16,
};

/// One named barrier of a CTA (bar, barrier.cta).
struct NamedBarrier {
  /// Threads that have arrived in this generation, and the count that the
  /// instructions gave; 0 = all threads of the CTA.
  uint32_t arrived = 0, expected = 0;
  /// Reduction so far, over the threads of .red.
  uint32_t popc = 0;
  bool all = true, any = false;
  /// Registers of sleeping warps that take the result.
  struct Pending {
    Row *row;
    LaneMask lanes;
    char op; // 'p'opc, 'a'nd, 'o'r
  };
  std::vector<Pending> pending;
  SyncPoint sync;
  /// Who arrived last.
  Site lastArrival;
};

/// A number below `bound`, from a generator that it moves on.
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
  /// Bytes by 24-bit shared address: 0 .. sharedEnd; the first KiB is reserved.
  std::vector<uint8_t> shared, sharedShadow;
  uint32_t sharedEnd = kSharedBase;
  /// Accesses below this end need not be noted for an exploration.
  uint32_t unnotedEnd = kSharedBase;
  std::array<NamedBarrier, 16> barriers;
  UnitStates states;
  unsigned liveWarps = 0;
  /// Where the last lanes of a warp have exited, of the last warp that did.
  Site lastExit;
  bool exited() const { return liveWarps == 0; }
};

/// The CTAs that run together, and what they have in flight.
class Cluster {
public:
  Cluster(Machine &machine, uint64_t number, Dim3 firstCta, Dim3 shape);
  ~Cluster();
  Machine &machine;
  /// In the grid, x running fastest.
  const uint64_t number;
  /// %clusterid * %cluster_nctaid, and %cluster_nctaid.
  const Dim3 first, shape;
  std::vector<std::unique_ptr<Cta>> ctas;
  UnitStates states;

  // --- asynchronous agents ---
  /// Takes an agent in flight. Under Policy::Eager it completes before issue
  /// returns. Site and `after` must be set.
  AgentId issue(std::unique_ptr<Agent> agent);
  bool isDone(AgentId id) const;
  /// Agents in flight, oldest first, for reports and checks.
  const std::deque<std::pair<AgentId, std::unique_ptr<Agent>>> &
  inFlight() const {
    return agents;
  }

  // --- progress ---
  /// Something that `key` stands for has changed: ends the waits on it.
  void notify(const void *key);
  /// Memory or other state that a program could poll has changed.
  void changed() { ++changes; }
  /// A number below `bound` from the schedule seed.
  uint64_t random(uint64_t bound);
  /// True where a try_wait may return false although it need not wait, or an
  /// answer may come early: only under Policy::Random, at random.
  bool spurious();

  // --- memory, with checks; null means a fault was reported ---
  /// The CTA that a 32-bit shared::cluster address names.
  Cta *ctaOf(const Site &site, uint32_t address);
  /// `bytes` of shared memory at a shared::cluster address. Read checks that
  /// the bytes were written; Write and Atomic mark them written. `generic`
  /// looks for agents in flight on the same bytes.
  uint8_t *shared(const Site &site, uint32_t address, uint32_t bytes,
                  uint32_t align, Access access, bool generic = false);
  /// Whether an allocation of global memory has the byte at `address`.
  bool hasGlobal(uint64_t address) const;
  /// `bytes` of global memory.
  uint8_t *global(const Site &site, uint64_t address, uint64_t bytes,
                  uint32_t align, Access access);
  /// Bytes behind a generic address: global, shared, the issuing thread's
  /// local memory or the kernel's parameters (read only).
  uint8_t *generic(const Site &site, uint64_t address, uint32_t bytes,
                   uint32_t align, Access access);
  /// Kernel parameter bytes, for tensor maps; null if out of range.
  const uint8_t *parameter(uint64_t address, uint32_t bytes) const;

  // --- barrier.cluster ---
  /// Phases completed so far.
  uint64_t clusterGeneration = 0;
  SyncPoint clusterSync;

  /// The race detector, or null where no enabled finding needs it.
  std::unique_ptr<Races> races;

  /// A request to cancel a cluster has been answered: others shall have a turn.
  bool makesRoom = false;

  uint64_t changes = 0;
  /// Warp instructions of this cluster, and reads of clocks so far: two reads
  /// never give one value.
  uint64_t steps = 0, clock = 0;
  /// Generator of the schedule. It depends on the seed and `number` alone.
  uint64_t randomState;
  /// Called when lanes of a warp have exited.
  void lanesExited(Warp &warp);

private:
  friend class Scheduler;
  void completeAgent(size_t index);
  bool completeOne(bool randomly);
  bool eligible(size_t index) const;
  std::deque<std::pair<AgentId, std::unique_ptr<Agent>>> agents;
  AgentId nextAgent = 1;
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
  /// Ended by a fault, a deadlock or the step limit.
  bool stopped = false;
  Status status = Status::Ok;
  std::optional<DeadlockReport> deadlock;
  uint64_t steps = 0, ctasDone = 0;
  /// The clusters that have not started, of a launch that may cancel some.
  std::unique_ptr<LaunchQueue> queue;
  /// While clusters run at once: who touched which global memory, and whether
  /// that has failed.
  Claims *claims = nullptr;
  const std::atomic<bool> *cancelled = nullptr;
  /// The allocation of the last access to global memory.
  Allocation *lastAllocation = nullptr;
  /// Shared memory of a CTA: end of static, start of dynamic, end of all.
  uint32_t staticEnd = kSharedBase, dynamicBegin = kSharedBase,
           sharedEnd = kSharedBase;

  /// Constant rows as CTAs of each rank see them: addresses of shared variables
  /// carry the rank.
  std::vector<std::vector<Row>> constantRows;

  /// Of the step that an exploration runs; null elsewhere.
  Footprint *footprint = nullptr;
  /// Present if a warp is traced.
  std::unique_ptr<Tracer> tracer;

  /// Reports and stops the launch.
  void fault(FindingId id, const Site &site, const std::string &detail,
             const Other &other = {});
  /// Note what the step of an exploration touches; nothing elsewhere.
  void noteShared(const Cta &cta, uint64_t offset, uint64_t bytes, bool writes);
  void noteGlobal(uint64_t address, uint64_t bytes, bool writes);
  /// The named barriers of a CTA, and barrier.cluster.
  void noteBarriers(const Cta &cta, bool writes);
  void noteClusterBarrier(bool writes);
  LaunchResult run();

private:
  void layOutShared();
  void fillConstants();
  void checkLaunch() const;
  void checkExploration() const;
};

/// Returns the first CTA of a cluster; x runs fastest.
Dim3 firstCta(const Machine &machine, uint64_t cluster);

/// The shared variable at an address of a CTA: "full", "full+8", "smem+64
/// (dynamic shared memory)", or "shared 0x410" where no variable is.
std::string sharedName(const Machine &machine, uint32_t address);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_MACHINE_H

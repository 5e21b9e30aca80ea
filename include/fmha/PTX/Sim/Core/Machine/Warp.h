//===- Warp.h - 32 lanes, their registers and where they are ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a warp are partitioned into paths: sets of lanes at one program
// counter. A branch that splits a path opens a join at the branch's immediate
// post-dominator; paths that arrive there wait until all lanes of the split
// have arrived or exited, and go on as one. A path that sleeps never stops the
// others, so lanes make progress independently, as on sm_70 and later.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_WARP_H
#define FMHA_PTX_SIM_CORE_MACHINE_WARP_H

#include "fmha/PTX/Sim/Core/Machine/Report.h"
#include "fmha/PTX/Sim/Core/Machine/UnitState.h"

#include <bit>
#include <string>
#include <vector>

namespace ptxsim {

struct Code;
class Tracer;

/// A phase that a wait comes too late for, and who completed the one after it.
struct MissedPhase {
  PhaseOverrun facts;
  Site by;
};

/// Why lanes sleep. A handler fills Warp::wait before it returns Retry or
/// NextAndWait.
struct Wait {
  /// Cluster::notify(key) ends the wait. Any address that stands for the thing
  /// waited for.
  const void *key = nullptr;
  /// A soft wait may end without notify (try_wait may time out).
  bool soft = false;
  /// For `describe`.
  uint64_t data[4] = {};
  /// For deadlock reports: what is waited for, wanted and current state, and
  /// what could still arrive.
  std::string (*describe)(const Warp &warp, const Wait &wait) = nullptr;
  /// Set by the warp loop.
  const Instruction *inst = nullptr;
  /// Fills what `describe` says in words into the wait-for graph.
  void (*explain)(const Warp &warp, const Wait &wait,
                  WaitObject &object) = nullptr;
  /// Where what is waited for may have come and gone.
  std::optional<MissedPhase> (*missed)(const Warp &warp,
                                       const Wait &wait) = nullptr;
};

struct Frame {
  const Code *code = nullptr;
  uint32_t returnPc = 0;
  /// First register row and first byte of local memory of the frame.
  uint32_t rowBase = 0, localBase = 0;
  const Instruction *call = nullptr;
};

struct Join {
  uint32_t pc = 0, depth = 0;
  LaneMask expected = 0;
  int parent = -1;
  bool used = false;
};

struct Path {
  enum class Status : uint8_t { Ready, Waiting, AtJoin, Gathering };
  LaneMask mask = 0;
  uint32_t pc = 0;
  Status status = Status::Ready;
  /// Gathered by another path's collective, which executes for these lanes.
  int join = -1;
  std::vector<Frame> frames;
  Wait wait;
  /// Instructions at which a soft wait was ended without cause since the
  /// machine last changed; meeting one again means that the path goes round.
  std::vector<const Instruction *> wokenAt;
  /// While it gathers: lanes of other paths that the collective wants.
  LaneMask missing = 0;
  /// Execute the next collective with the lanes that are there.
  bool forced = false;
};

class Warp {
public:
  Warp(Cta &cta, unsigned index, LaneMask lanes);
  ~Warp();

  Cta &cta;
  Cluster &cluster;
  Machine &machine;
  /// Warp in the CTA: threads 32 * index .. 32 * index + 31.
  const unsigned index;
  /// Lanes that exist and have not exited.
  LaneMask live;
  scalar::Context scalarContext;
  /// What the handler waits for, read after Outcome::Retry or NextAndWait.
  Wait wait;
  UnitStates states;
  /// barrier.cluster: lanes that have arrived in the current phase, and lanes
  /// that have not waited yet since they arrived.
  LaneMask clusterArrived = 0, clusterOwesWait = 0;
  /// While set, called by the warp loop before each instruction that passes
  /// its guard: how a unit sees registers of tcgen05.ld used before the wait.
  void (*watch)(Warp &warp, const Instruction &inst, LaneMask active) = nullptr;
  /// Agents issued so far.
  uint32_t agentsIssued = 0;
  /// Set if this is the warp that Options::trace asks for.
  Tracer *tracer = nullptr;

  /// The row of an operand in the current frame.
  Row &row(Operand operand) {
    return bases[operand.code >> 31][operand.index()];
  }
  const Row &row(Operand operand) const {
    return bases[operand.code >> 31][operand.index()];
  }
  /// Value of an operand in the lowest lane of `active`.
  uint64_t uniform(Operand operand, LaneMask active) const {
    return row(operand)[std::countr_zero(active)];
  }
  /// Address of a memory operand for a lane, as a 64-bit sum.
  uint64_t addressOf(const AddressOperand &address, unsigned lane) const {
    return (address.base.valid() ? row(address.base)[lane] : 0) +
           uint64_t(address.offset);
  }
  /// %tid of a lane.
  Dim3 threadIndex(unsigned lane) const;
  Site site(const Instruction &inst, int lane = -1) const {
    return {this, &inst, lane};
  }

  // --- the warp loop and control flow, Core/Execution/Warp*.cpp ---
  /// Runs up to `budget` instructions; returns how many. Stops early when no
  /// path is ready, a fault happened or a handler yielded.
  uint64_t run(uint64_t budget);
  bool runnable() const { return readyPaths != 0; }
  bool finished() const { return live == 0; }
  /// Ends the waits on `key`.
  void wake(const void *key);
  /// Splits or moves the current path: lanes of `taken` go to `target`.
  Outcome branch(const Instruction &inst, LaneMask taken, uint32_t target,
                 LaneMask active);
  Outcome branchMany(const Instruction &inst, LaneMask active,
                     const Row &targets);
  Outcome exitLanes(LaneMask lanes);
  Outcome call(const Instruction &inst, LaneMask active, const Code &callee);
  Outcome ret(LaneMask active);
  /// Lanes of the current path, guard or not.
  LaneMask pathMask() const { return mask; }
  Frame &frame() { return paths[current].frames.back(); }
  const Frame &frame() const { return paths[current].frames.back(); }
  /// Host address of local memory of a lane, or null if out of range. The
  /// second is its byte shadow, 1 = written.
  uint8_t *local(unsigned lane, uint64_t address, uint64_t bytes);
  uint8_t *localShadow(unsigned lane, uint64_t address);
  /// Ends one soft wait that has not gone round yet / the oldest incomplete
  /// join; false if there is none.
  bool endSoftWaits();
  bool releaseJoin();
  /// Lets all go on that wait at a join, and nobody wait there again; false if
  /// nobody does.
  bool dissolveJoins();
  /// Lets a path that gathers lanes for a collective go on without the missing
  /// ones, and reports them; false if there is none, or none whose lanes are
  /// not just held up on their way.
  bool releaseGathering();
  /// The machine has changed: soft waits may be ended again.
  void machineChanged();
  /// Digest of everything that decides what the warp does next.
  uint64_t digest() const;

  std::vector<Path> paths;
  std::vector<Join> joins;

private:
  template <bool Observed> uint64_t runLoop(uint64_t budget);
  void observe(const Instruction &inst, LaneMask active, Outcome outcome);
  void select(unsigned path);
  void save();
  void refresh();
  bool selectReady();
  bool arrive();
  void settleJoins();
  void removeCurrent();
  bool settle(Outcome outcome, const Instruction &inst);
  bool converge(const Instruction &inst, LaneMask &active);
  LaneMask lanesOfOneMask(const Instruction &inst, LaneMask active);
  bool gather(const Instruction &inst, LaneMask need, LaneMask &active);
  bool heldUp(const Path &gathering) const;
  bool canArrive(LaneMask missing, const Instruction &inst) const;
  bool mayLeave(const Path &path, const Instruction &inst) const;
  void settleGatherings();
  void leaveJoin(Path &path);
  void exitsAreArrivals(LaneMask exited);
  void finishGathering(const Instruction &inst, bool waits);
  void recount();
  int newJoin(uint32_t pc, uint32_t depth, LaneMask expected, int parent);
  unsigned split(LaneMask lanes, uint32_t pc, uint32_t join);

  // The current path, unpacked. While the loop runs, the path's own pc is old.
  unsigned current = 0;
  /// The collective executes for lanes of other paths, too, and which it does.
  bool gathered = false;
  LaneMask gatheredLanes = 0;
  uint32_t pc = 0;
  LaneMask mask = 0;
  const Instruction *code = nullptr;
  Row *bases[2] = {nullptr, nullptr};
  uint32_t joinPc = UINT32_MAX;
  unsigned readyPaths = 0;

  Row *rows = nullptr;
  uint64_t rowCapacity = 0;
  std::vector<uint8_t> localBytes, localWritten;
  uint32_t localCapacity = 0;
  Row carry{};
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_WARP_H

//===- Warp.h - 32 lanes, their registers and paths -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a warp are partitioned into paths: sets of lanes at one program
// counter. A branch that splits a path creates a reconvergence point at the
// branch's immediate post-dominator. Paths that arrive there wait until all
// lanes of the split have arrived or exited, and then continue as one path. A
// sleeping path never stops the others, so lanes make independent progress, as
// on sm_70 and later.
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
class Observer;
class Tracer;

/// A phase that a wait has missed, and the site that completed the phase after
/// it.
struct MissedPhase {
  PhaseOverrun facts;
  Site by;
};

/// The reason why lanes sleep. A handler fills Warp::wait before it returns
/// Retry or NextAndWait.
struct Wait {
  /// Cluster::notify(key) ends the wait. The key is any address that stands for
  /// the object of the wait.
  const void *key = nullptr;
  /// A soft wait may end without notify (try_wait may time out).
  bool soft = false;
  /// Arguments of `describe`.
  uint64_t data[4] = {};
  /// Returns the text for deadlock reports: the object of the wait, its wanted
  /// and its current state, and what could still arrive.
  std::string (*describe)(const Warp &warp, const Wait &wait) = nullptr;
  /// Set by the warp loop.
  const Instruction *inst = nullptr;
  /// Adds the facts that `describe` states in words to the wait-for graph.
  void (*explain)(const Warp &warp, const Wait &wait,
                  WaitObject &object) = nullptr;
  /// Returns the phase that the wait has missed, if any. Null if none can be
  /// missed.
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

struct ReconvergencePoint {
  uint32_t pc = 0, depth = 0;
  LaneMask expected = 0;
  int parent = -1;
  bool used = false;
};

struct Path {
  enum class Status : uint8_t { Ready, Waiting, AtReconvergence, Gathering };
  LaneMask mask = 0;
  uint32_t pc = 0;
  Status status = Status::Ready;
  /// Index in Warp::points of the path's innermost reconvergence point, -1 if
  /// it has none.
  int point = -1;
  std::vector<Frame> frames;
  Wait wait;
  /// Instructions whose soft wait was ended without cause since the machine
  /// last changed. A second encounter means that the path loops.
  std::vector<const Instruction *> wokenAt;
  /// While the path gathers: lanes of other paths that the collective needs.
  LaneMask missing = 0;
  /// Execute the next collective with the lanes that are present.
  bool forced = false;
};

/// The lanes of a warp, their registers and their local memory.
class WarpLanes {
public:
  Cta &cta;
  Cluster &cluster;
  Machine &machine;
  /// Warp in the CTA: threads 32 * index .. 32 * index + 31.
  const unsigned index;
  /// Lanes that exist and have not exited.
  LaneMask live;
  scalar::Context scalarContext;
  /// The wait of the handler, read after Outcome::Retry or NextAndWait.
  Wait wait;
  UnitStates states;
  /// barrier.cluster: lanes that have arrived in the current phase, and lanes
  /// that have not waited since they arrived.
  LaneMask clusterArrived = 0, clusterOwesWait = 0;
  /// If set, called by the warp loop before each instruction whose guard is
  /// true. A unit detects here that registers of tcgen05.ld are used before the
  /// wait.
  void (*watch)(Warp &warp, const Instruction &inst, LaneMask active) = nullptr;
  /// Number of operations issued so far.
  uint32_t opsIssued = 0;
  /// Set if Options::trace selects this warp.
  Tracer *tracer = nullptr;
  /// Options::observer, if it watches this warp.
  Observer *observer = nullptr;

  /// Returns the row of an operand in the current frame.
  Row &row(Operand operand) {
    return bases[operand.code >> 31][operand.index()];
  }
  const Row &row(Operand operand) const {
    return bases[operand.code >> 31][operand.index()];
  }
  /// Returns the value of an operand in the lowest lane of `active`.
  uint64_t uniform(Operand operand, LaneMask active) const {
    return row(operand)[std::countr_zero(active)];
  }
  /// Returns the address of a memory operand for a lane, as a 64-bit sum.
  uint64_t addressOf(const AddressOperand &address, unsigned lane) const {
    return (address.base.valid() ? row(address.base)[lane] : 0) +
           uint64_t(address.offset);
  }
  /// Returns %tid of a lane.
  Dim3 threadIndex(unsigned lane) const;
  Site site(const Instruction &inst, int lane = -1) const;
  /// Returns the host address of a lane's local memory, or null if out of
  /// range, and of its byte marks, where 1 means written.
  uint8_t *local(unsigned lane, uint64_t address, uint64_t bytes);
  uint8_t *localMarks(unsigned lane, uint64_t address);

protected:
  WarpLanes(Cta &cta, unsigned index, LaneMask lanes);
  ~WarpLanes();
  Warp &self();
  const Warp &self() const;

  Row *bases[2] = {nullptr, nullptr};
  Row *rows = nullptr;
  uint64_t rowCapacity = 0;
  std::vector<uint8_t> localBytes, localWritten;
  uint32_t localCapacity = 0;
  Row carry{};
};

/// The paths of the lanes, and the reconvergence points where they meet again.
class WarpDivergence : public WarpLanes {
public:
  bool runnable() const { return readyPaths != 0; }
  bool finished() const { return live == 0; }
  /// Returns the lanes of the current path, regardless of the guard.
  LaneMask pathMask() const { return mask; }
  Frame &frame() { return paths[current].frames.back(); }
  const Frame &frame() const { return paths[current].frames.back(); }
  /// Completes the oldest incomplete reconvergence point. Returns false if
  /// there is none.
  bool releasePoint();
  /// Wakes every path that waits at a reconvergence point and removes the
  /// reconvergence points. Returns false if none was waiting.
  bool dissolvePoints();

  std::vector<Path> paths;
  std::vector<ReconvergencePoint> points;

protected:
  using WarpLanes::WarpLanes;
  void select(unsigned path);
  void save();
  void refresh();
  bool selectReady();
  bool arrive();
  void settlePoints();
  void removeCurrent();
  void settleGatherings();
  void leavePoint(Path &path);
  void recount();
  int newPoint(uint32_t pc, uint32_t depth, LaneMask expected, int parent);
  unsigned split(LaneMask lanes, uint32_t pc, uint32_t reconvergeAt);

  // The current path, unpacked. While the loop runs, the path's own pc is
  // stale.
  unsigned current = 0;
  uint32_t pc = 0;
  LaneMask mask = 0;
  const Instruction *code = nullptr;
  uint32_t reconvergePc = UINT32_MAX;
  unsigned readyPaths = 0;
};

/// What branches, calls and exits do to the paths.
class WarpControl : public WarpDivergence {
public:
  /// Splits or moves the current path: the lanes of `taken` go to `target`.
  Outcome branch(const Instruction &inst, LaneMask taken, uint32_t target,
                 LaneMask active);
  Outcome branchMany(const Instruction &inst, LaneMask active,
                     const Row &targets);
  Outcome exitLanes(LaneMask lanes);
  Outcome call(const Instruction &inst, LaneMask active, const Code &callee);
  Outcome ret(LaneMask active);

protected:
  using WarpDivergence::WarpDivergence;

private:
  void exitsAreArrivals(LaneMask exited);
};

/// Collectives, which wait for lanes of other paths.
class WarpCollectives : public WarpControl {
public:
  /// Lets a path that gathers lanes for a collective execute it without the
  /// missing ones, which are reported. Returns false if there is no such path,
  /// or if the missing lanes of each are only delayed on their way there.
  bool releaseGathering();

protected:
  using WarpControl::WarpControl;
  bool converge(const Instruction &inst, LaneMask &active);
  void finishGathering(const Instruction &inst, bool waits);

  /// Whether the collective also executes for lanes of other paths, and for
  /// which.
  bool gathered = false;
  LaneMask gatheredLanes = 0;

private:
  LaneMask lanesOfOneMask(const Instruction &inst, LaneMask active);
  bool gather(const Instruction &inst, LaneMask need, LaneMask &active);
  bool heldUp(const Path &gathering) const;
  bool canArrive(LaneMask missing, const Instruction &inst) const;
};

/// A warp and its loop, Core/Execution/Warp*.cpp.
class Warp : public WarpCollectives {
public:
  Warp(Cta &cta, unsigned index, LaneMask lanes);
  /// Runs up to `budget` instructions and returns how many. Stops early when no
  /// path is ready, a fault happened or a handler yielded.
  uint64_t run(uint64_t budget);
  /// Ends the waits on `key`.
  void wake(const void *key);
  /// Ends one soft wait that has not looped yet. Returns false if there is
  /// none.
  bool endSoftWaits();
  /// Allows soft waits to be ended again, after the machine has changed.
  void machineChanged();
  /// Returns a digest of all state that determines what the warp does next.
  uint64_t digest() const;

private:
  template <bool Observed> uint64_t runLoop(uint64_t budget);
  void observe(const Instruction &inst, LaneMask active, Outcome outcome);
  void observeSkipped(const Instruction &inst);
  bool settle(Outcome outcome, const Instruction &inst);
};

inline Warp &WarpLanes::self() { return static_cast<Warp &>(*this); }

inline const Warp &WarpLanes::self() const {
  return static_cast<const Warp &>(*this);
}

inline Site WarpLanes::site(const Instruction &inst, int lane) const {
  return {&self(), &inst, lane};
}

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_WARP_H

//===- WarpConvergence.cpp - Collectives wait for their lanes ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .sync instruction executes once for the lanes of its membermask, on
// whichever paths they arrive. A path that arrives early sleeps (Gathering);
// the last path executes for all. An .aligned instruction needs all lanes that
// have not exited. If the missing lanes can arrive only after the waiting ones
// have continued, the instruction is reported and executes with the lanes
// present. If the missing lanes could arrive but wait for an event that never
// happens, the instruction is not at fault: that is a deadlock.
//
// PTX ISA 9.7.9.6 (shfl), 9.7.13.9 (vote), 9.7.13.10 (match) and 9.7.13.12
// (redux): the executing thread waits for the threads of the membermask that
// have not exited. Lanes on their way to an exit therefore need not arrive;
// they continue past reconvergence points at which they would wait for the
// others. The manual does not say this of bar.warp.sync (9.7.13.2) and
// elect.sync (9.7.13.14); they are assumed to behave the same, as CUDA's
// documentation of __syncwarp states.
//
//===----------------------------------------------------------------------===//

#include "Deadlock.h"
#include "Machine/Handlers.h"

#include <utility>

using namespace ptxsim;

static std::string lanes(LaneMask mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

namespace {

/// The instructions reachable from a path in one function, up to the next
/// instruction at which it may wait for lanes of its own warp.
class WayOut {
public:
  explicit WayOut(const Code &code)
      : code(code), seen(code.instructions.size()) {}
  /// Returns true if an exit is reachable from `pc`. Sets `returns` if the
  /// return to the caller is.
  bool leads(uint32_t pc, bool &returns);

private:
  void add(uint32_t pc) {
    if (pc < seen.size() && !seen[pc]) {
      seen[pc] = true;
      work.push_back(pc);
    }
  }
  const Code &code;
  std::vector<bool> seen;
  std::vector<uint32_t> work;
};

bool WayOut::leads(uint32_t pc, bool &returns) {
  returns = pc >= code.instructions.size();
  for (add(pc); !work.empty();) {
    pc = work.back();
    work.pop_back();
    const Instruction &inst = code.instructions[pc];
    if (inst.handler == executeExit)
      return true;
    // barrier.sync waits for the warp without being a collective.
    if (inst.convergence != Convergence::None || inst.opcode.starts_with("bar"))
      continue;
    bool isReturn = inst.handler == executeRet;
    returns |= isReturn;
    bool leaves = isReturn || inst.handler == executeBranchMany ||
                  inst.handler == executeBranch;
    if (!leaves || inst.guard.valid()) {
      returns |= pc + 1 >= code.instructions.size();
      add(pc + 1);
    }
    if (inst.handler == executeBranch)
      add(inst.target);
    if (inst.handler == executeBranchMany)
      for (uint32_t target : inst.data<BranchTargets>().pcs)
        add(target);
  }
  return false;
}

/// Returns true if lanes that follow `path` from `pc` may exit without waiting
/// for lanes of their warp. Calls on the way are assumed to return.
bool mayExit(const Path &path, uint32_t pc) {
  for (size_t depth = path.frames.size(); depth-- > 0;) {
    const Frame &frame = path.frames[depth];
    bool returns = false;
    if (WayOut(*frame.code).leads(pc, returns))
      return true;
    if (!returns)
      return false;
    pc = frame.returnPc;
  }
  return true;
}

/// Returns true if lanes at a reconvergence point may exit instead of waiting
/// there, which is all that the collective needs of them.
bool mayLeave(const Path &path, const Instruction &inst) {
  return inst.convergence == Convergence::Members && mayExit(path, path.pc);
}

} // namespace

/// Returns the lanes with the mask of the first lane, and splits off the
/// others. Lanes may name different masks, as those of the tiles of a warp do.
/// Each such group is a separate collective; after it they continue together.
LaneMask WarpCollectives::lanesOfOneMask(const Instruction &inst,
                                         LaneMask active) {
  if (inst.memberMask.isConstant())
    return active;
  const Row &masks = row(inst.memberMask);
  LaneMask first = LaneMask(uniform(inst.memberMask, active)), same = 0;
  eachLane(active, [&](unsigned lane) {
    same |= LaneMask(LaneMask(masks[lane]) == first) << lane;
  });
  if (same != active)
    split(active & ~same, pc, pc + 1);
  return same;
}

bool WarpCollectives::converge(const Instruction &inst, LaneMask &active) {
  bool forced = std::exchange(paths[current].forced, false);
  LaneMask need = live;
  bool aligned = inst.convergence == Convergence::Aligned;
  if (!aligned) {
    active = lanesOfOneMask(inst, active);
    LaneMask members = LaneMask(uniform(inst.memberMask, active));
    if (active & ~members)
      machine.report.add(FindingId::MemberMask, site(inst),
                         "lanes " + lanes(active & ~members) +
                             " execute it, but the membermask is " +
                             lanes(members) + ".");
    need = (members & live) | active;
  }
  if ((need & ~active) == 0)
    return true;
  // Lanes of this path that the guard disables never arrive.
  LaneMask guarded = need & mask & ~active;
  if (guarded && !aligned && mayExit(paths[current], pc + 1)) {
    split(mask & ~active, pc + 1, UINT32_MAX);
    guarded = 0;
  }
  if (guarded || forced) {
    machine.report.add(
        aligned ? FindingId::AlignedPartialWarp : FindingId::MemberMask,
        site(inst),
        "expected lanes " + lanes(need) + ", got " + lanes(active) + ".");
    return true;
  }
  return gather(inst, need, active);
}

/// Returns true if all of `missing` may still reach `inst`, or exit, while this
/// path waits there.
bool WarpCollectives::canArrive(LaneMask missing,
                                const Instruction &inst) const {
  for (unsigned i = 0; i < paths.size(); ++i) {
    const Path &path = paths[i];
    if (i == current || !(path.mask & missing) ||
        path.status != Path::Status::AtReconvergence)
      continue;
    // The other waits at a reconvergence point for lanes of this path.
    if ((points[path.point].expected & mask) && !mayLeave(path, inst))
      return false;
  }
  return true;
}

/// Handles that a path now waits at a reconvergence point. Lanes that a
/// collective needs, and that may exit, do not wait there for the lanes that
/// wait for them. Otherwise the collective stops waiting.
void WarpDivergence::settleGatherings() {
  for (Path &waiting : paths)
    for (Path &path : paths) {
      if (waiting.status != Path::Status::Gathering ||
          path.status != Path::Status::AtReconvergence ||
          !(path.mask & waiting.missing) ||
          !(points[path.point].expected & waiting.mask))
        continue;
      if (mayLeave(path, *waiting.wait.inst)) {
        leavePoint(path);
      } else {
        waiting.status = Path::Status::Ready;
        ++readyPaths;
      }
    }
}

/// Lets collectives recompute their missing lanes after some of those exited.
void WarpControl::exitsAreArrivals(LaneMask exited) {
  for (Path &path : paths)
    if (path.status == Path::Status::Gathering && (path.missing & exited))
      path.status = Path::Status::Ready;
}

/// Returns true if a path that gathers is at the same collective. The position
/// of bar.warp.sync does not matter (PTX ISA 9.7.13.2: all threads of the
/// membermask have executed one with the same value).
static bool meets(const Path &path, const Instruction &inst, LaneMask need,
                  LaneMask live) {
  const Instruction &other = *path.wait.inst;
  if (&other == &inst)
    return (path.mask & need) != 0;
  return inst.opcode == "bar.warp.sync" && other.opcode == inst.opcode &&
         ((path.mask | path.missing) & live) == need;
}

bool WarpCollectives::gather(const Instruction &inst, LaneMask need,
                             LaneMask &active) {
  LaneMask there = active;
  for (const Path &path : paths)
    if (path.status == Path::Status::Gathering && meets(path, inst, need, live))
      there |= path.mask & need;
  gatheredLanes = there;
  if ((need & ~there) == 0) {
    active = there;
    gathered = true;
    return true;
  }
  if (!canArrive(need & ~there, inst)) {
    machine.report.add(
        inst.convergence == Convergence::Aligned ? FindingId::AlignedPartialWarp
                                                 : FindingId::MemberMask,
        site(inst),
        "expected lanes " + lanes(need) + ", got " + lanes(there) +
            ": the others wait after the branch for these.");
    active = there;
    gathered = there != mask;
    return true;
  }
  save();
  paths[current].status = Path::Status::Gathering;
  paths[current].missing = need & ~mask;
  paths[current].wait = {};
  paths[current].wait.inst = &inst;
  recount();
  settleGatherings();
  return false;
}

void WarpCollectives::finishGathering(const Instruction &inst, bool waits) {
  for (unsigned i = 0; i < paths.size(); ++i) {
    Path &path = paths[i];
    bool sameKind = path.status == Path::Status::Gathering &&
                    path.wait.inst->opcode == inst.opcode;
    if (i == current || !sameKind || !(path.mask & gatheredLanes))
      continue;
    path.status = waits ? Path::Status::Waiting : Path::Status::Ready;
    if (waits) {
      path.wait = wait;
      path.wait.inst = &inst;
    }
    ++path.pc;
  }
  recount();
}

/// Returns true if lanes missing from the collective of `gathering` wait for
/// something else on a way that leads there.
bool WarpCollectives::heldUp(const Path &gathering) const {
  for (const Path &path : paths)
    if (path.status == Path::Status::Waiting &&
        (path.mask & gathering.missing) &&
        mayReach(self(), path, *gathering.wait.inst))
      return true;
  return false;
}

bool WarpCollectives::releaseGathering() {
  for (Path &path : paths) {
    if (path.status != Path::Status::Gathering || heldUp(path))
      continue;
    path.status = Path::Status::Ready;
    path.forced = true;
    ++readyPaths;
    return true;
  }
  return false;
}

//===- WarpGather.cpp - Collectives wait for their lanes --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .sync instruction executes once for the lanes of its membermask, wherever
// their paths have been before. A path that arrives early sleeps (Gathering);
// the last one executes for all. An .aligned instruction wants all lanes that
// have not exited. If the missing lanes can only come after the waiting ones
// have moved on, the instruction is reported and executes with those there. If
// they could come, and wait for something that never happens, it is innocent:
// that is a deadlock.
//
//===----------------------------------------------------------------------===//

#include "Deadlock.h"
#include "Handlers.h"

using namespace ptxsim;

static std::string lanes(LaneMask mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

bool Warp::converge(const Instruction &inst, LaneMask &active) {
  LaneMask need = live;
  bool aligned = inst.convergence == Convergence::Aligned;
  if (!aligned) {
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
  // Lanes of this very path that the guard has switched off never come.
  LaneMask guarded = need & mask & ~active;
  if (guarded || paths[current].forced) {
    paths[current].forced = false;
    machine.report.add(
        aligned ? FindingId::AlignedPartialWarp : FindingId::MemberMask,
        site(inst),
        "expected lanes " + lanes(need) + ", got " + lanes(active) + ".");
    return true;
  }
  return gather(inst, need, active);
}

/// Whether all of `missing` may still reach `inst` while this path waits there.
bool Warp::canArrive(LaneMask missing, const Instruction &inst) const {
  for (unsigned i = 0; i < paths.size(); ++i) {
    const Path &path = paths[i];
    if (i == current || !(path.mask & missing) ||
        path.status != Path::Status::AtJoin)
      continue;
    // The other waits at a join for lanes of this path.
    if (joins[path.join].expected & mask)
      return false;
  }
  return true;
}

bool Warp::gather(const Instruction &inst, LaneMask need, LaneMask &active) {
  LaneMask there = active;
  for (const Path &path : paths)
    if (path.status == Path::Status::Gathering && path.wait.inst == &inst)
      there |= path.mask;
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
            ": the others wait behind the branch for these.");
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
  return false;
}

void Warp::finishGathering(const Instruction &inst, bool waits) {
  for (unsigned i = 0; i < paths.size(); ++i) {
    Path &path = paths[i];
    if (i == current || path.status != Path::Status::Gathering ||
        path.wait.inst != &inst)
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

/// Whether lanes that the collective of `gathering` misses wait for something
/// else on a way that leads there.
bool Warp::heldUp(const Path &gathering) const {
  for (const Path &path : paths)
    if (path.status == Path::Status::Waiting &&
        (path.mask & gathering.missing) &&
        mayReach(*this, path, *gathering.wait.inst))
      return true;
  return false;
}

bool Warp::releaseGathering() {
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

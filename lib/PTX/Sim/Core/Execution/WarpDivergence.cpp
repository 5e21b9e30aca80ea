//===- WarpDivergence.cpp - Divergence, reconvergence, calls ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include <algorithm>
#include <cstring>

using namespace ptxsim;

int WarpDivergence::newPoint(uint32_t pc, uint32_t depth, LaneMask expected,
                             int parent) {
  size_t free = 0;
  while (free < points.size() && points[free].used)
    ++free;
  if (free == points.size())
    points.emplace_back();
  points[free] = {pc, depth, expected, parent, true};
  return int(free);
}

/// Moves `lanes` of the current path into a new path at `at`. If the paths
/// reconverge at `reconvergeAt`, both get a point there. Returns the new path.
unsigned WarpDivergence::split(LaneMask lanes, uint32_t at,
                               uint32_t reconvergeAt) {
  Path &path = paths[current];
  uint32_t depth = uint32_t(path.frames.size());
  if (reconvergeAt != UINT32_MAX) {
    bool same = path.point >= 0 && points[path.point].pc == reconvergeAt &&
                points[path.point].depth == depth;
    if (!same)
      path.point = newPoint(reconvergeAt, depth, path.mask, path.point);
  }
  Path other;
  other.mask = lanes;
  other.pc = at;
  other.point = path.point;
  other.frames = path.frames;
  other.wokenAt = path.wokenAt;
  path.mask &= ~lanes;
  paths.push_back(std::move(other));
  ++readyPaths;
  refresh();
  return unsigned(paths.size() - 1);
}

Outcome WarpControl::branch(const Instruction &inst, LaneMask taken,
                            uint32_t target, LaneMask) {
  if (taken == mask) {
    pc = target;
    return Outcome::Control;
  }
  split(taken, target, inst.reconvergeAt);
  ++pc;
  return Outcome::Control;
}

Outcome WarpControl::branchMany(const Instruction &inst, LaneMask active,
                                const Row &targets) {
  LaneMask stay = mask & ~active;
  uint32_t next = pc + 1;
  // Each group of lanes with one target, except the last, moves to a new path.
  LaneMask rest = active;
  while (rest) {
    uint64_t target = targets[std::countr_zero(rest)];
    LaneMask same = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      if ((rest >> lane & 1) && targets[lane] == target)
        same |= 1u << lane;
    rest &= ~same;
    if (!rest && !stay) {
      pc = uint32_t(target);
      return Outcome::Control;
    }
    split(same, uint32_t(target), inst.reconvergeAt);
  }
  pc = next;
  return Outcome::Control;
}

void WarpDivergence::removeCurrent() {
  paths.erase(paths.begin() + current);
  if (current >= paths.size())
    current = 0;
  recount();
}

/// Handles the arrival of the current path at its reconvergence point. Returns
/// true if the path continues, false if it waits or has merged into the path
/// that waits there.
bool WarpDivergence::arrive() {
  while (pc == reconvergePc) {
    Path &path = paths[current];
    ReconvergencePoint &point = points[path.point];
    if (point.depth != path.frames.size())
      return true;
    if (mask != point.expected)
      break;
    point.used = false;
    path.point = point.parent;
    refresh();
  }
  if (pc != reconvergePc)
    return true;
  save();
  for (unsigned i = 0; i < paths.size(); ++i) {
    Path &other = paths[i];
    if (i == current || other.status != Path::Status::AtReconvergence ||
        other.point != paths[current].point)
      continue;
    other.mask |= mask;
    removeCurrent();
    settlePoints();
    settleGatherings();
    return false;
  }
  paths[current].status = Path::Status::AtReconvergence;
  recount();
  settleGatherings();
  return false;
}

/// Wakes the paths whose reconvergence points are complete.
void WarpDivergence::settlePoints() {
  for (Path &path : paths) {
    if (path.status != Path::Status::AtReconvergence ||
        path.mask != points[path.point].expected)
      continue;
    points[path.point].used = false;
    path.point = points[path.point].parent;
    path.status = Path::Status::Ready;
  }
  recount();
}

/// Wakes a path that waits at its reconvergence point; the others do not wait
/// for it.
void WarpDivergence::leavePoint(Path &path) {
  points[path.point].expected &= ~path.mask;
  path.point = points[path.point].parent;
  path.status = Path::Status::Ready;
  ++readyPaths;
}

bool WarpDivergence::releasePoint() {
  for (Path &path : paths)
    if (path.status == Path::Status::AtReconvergence) {
      leavePoint(path);
      return true;
    }
  return false;
}

bool WarpDivergence::dissolvePoints() {
  bool any = false;
  for (Path &waiting : paths) {
    if (waiting.status != Path::Status::AtReconvergence)
      continue;
    any = true;
    waiting.status = Path::Status::Ready;
    int point = waiting.point, parent = points[point].parent;
    for (Path &path : paths)
      if (path.point == point)
        path.point = parent;
    for (ReconvergencePoint &inner : points)
      if (inner.parent == point)
        inner.parent = parent;
    points[point].used = false;
  }
  recount();
  return any;
}

Outcome WarpControl::exitLanes(LaneMask lanes) {
  live &= ~lanes;
  if (!live)
    cta.lastExit = site(code[pc]);
  for (ReconvergencePoint &point : points) {
    point.expected &= ~lanes;
    point.used &= point.expected != 0;
  }
  exitsAreArrivals(lanes);
  Path &path = paths[current];
  path.mask &= ~lanes;
  if (path.mask) {
    refresh();
    ++pc;
    settlePoints();
    cluster.lanesExited(self());
    return Outcome::Control;
  }
  removeCurrent();
  settlePoints();
  cluster.lanesExited(self());
  if (live)
    selectReady();
  return Outcome::Control;
}

static void copyLanes(Row &to, const Row &from, LaneMask active) {
  eachLane(active, [&](unsigned lane) { to[lane] = from[lane]; });
}

/// Copies one argument or result between two frames.
static void copySlot(WarpLanes &warp, LaneMask active, const Slot &to,
                     Row *toRows, uint32_t toLocal, const Slot &from,
                     const Row *fromRows, uint32_t fromLocal) {
  if (to.inRegisters && from.inRegisters) {
    for (uint32_t i = 0; i < std::min(to.rows, from.rows); ++i)
      copyLanes(toRows[i], fromRows[i], active);
    return;
  }
  uint32_t bytes = to.inRegisters     ? from.bytes
                   : from.inRegisters ? to.bytes
                                      : std::min(to.bytes, from.bytes);
  eachLane(active, [&](unsigned lane) {
    uint8_t word[16] = {};
    uint8_t *source = from.inRegisters
                          ? word
                          : warp.local(lane, fromLocal + from.offset, bytes);
    uint8_t *target =
        to.inRegisters ? word : warp.local(lane, toLocal + to.offset, bytes);
    if (from.inRegisters)
      for (uint32_t i = 0; i < from.rows; ++i)
        std::memcpy(word + 8 * i, &fromRows[i][lane], 8);
    if (target != source)
      std::memcpy(target, source, bytes);
    if (to.inRegisters)
      for (uint32_t i = 0; i < to.rows; ++i)
        std::memcpy(&toRows[i][lane], source + 8 * i, 8);
    if (uint8_t *marks = to.inRegisters
                             ? nullptr
                             : warp.localMarks(lane, toLocal + to.offset))
      std::memset(marks, 1, bytes);
  });
}

/// Limit for frames without registers or local memory, which take no space.
static constexpr size_t kMostFrames = 4096;

Outcome WarpControl::call(const Instruction &inst, LaneMask active,
                          const Code &callee) {
  if (active != mask) {
    // Lanes whose guard is false continue after the call and wait there.
    split(mask & ~active, pc + 1, pc + 1);
  }
  Path &path = paths[current];
  const Frame caller = path.frames.back();
  Frame next;
  next.code = &callee;
  next.returnPc = pc + 1;
  next.rowBase = caller.rowBase + caller.code->rows;
  next.localBase = caller.localBase + (caller.code->localBytes + 15) / 16 * 16;
  next.call = &inst;
  if (path.frames.size() >= kMostFrames ||
      next.rowBase + callee.rows > rowCapacity ||
      next.localBase + callee.localBytes > localCapacity) {
    machine.fault(FindingId::StackOverflow, site(inst),
                  "the call needs frame " +
                      std::to_string(path.frames.size() + 1));
    return Outcome::Fault;
  }
  const CallData &data = inst.data<CallData>();
  if (data.arguments.size() != callee.parameters.size() ||
      data.results.size() != callee.results.size()) {
    machine.fault(
        FindingId::IllegalInstruction, site(inst),
        "expected a function of " + std::to_string(data.arguments.size()) +
            " parameters and " + std::to_string(data.results.size()) +
            " results, got " + std::to_string(callee.parameters.size()) +
            " and " + std::to_string(callee.results.size()) + ".");
    return Outcome::Fault;
  }
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    const Slot &to = callee.parameters[i];
    const Row *from =
        data.arguments[i].inRegisters ? &row(data.argumentRows[i]) : nullptr;
    copySlot(*this, active, to, rows + next.rowBase + to.row, next.localBase,
             data.arguments[i], from, caller.localBase);
  }
  // Lanes that return separately reconverge after the call.
  path.point = newPoint(pc + 1, uint32_t(path.frames.size()), mask, path.point);
  path.frames.push_back(next);
  pc = 0;
  refresh();
  return Outcome::Control;
}

Outcome WarpControl::ret(LaneMask active) {
  if (paths[current].frames.size() == 1)
    return exitLanes(active);
  if (active != mask)
    split(mask & ~active, pc + 1, UINT32_MAX);
  Path &path = paths[current];
  Frame done = path.frames.back();
  path.frames.pop_back();
  const Frame &caller = path.frames.back();
  const CallData &data = done.call->data<CallData>();
  for (size_t i = 0; i < done.code->results.size(); ++i) {
    const Slot &to = data.results[i], &from = done.code->results[i];
    copySlot(*this, active, to, rows + caller.rowBase + to.row,
             caller.localBase, from, rows + done.rowBase + from.row,
             done.localBase);
  }
  pc = done.returnPc;
  refresh();
  return Outcome::Control;
}

//===- Warp.cpp - The warp loop ---------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"
#include "Trace.h"
#include "fmha/PTX/Sim/Core/Machine/Observer.h"
#include "fmha/PTX/Sim/Core/Races/Races.h"
#include "fmha/PTX/Sim/Exploration.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace ptxsim;

unsigned ptxsim::nextUnitStateId() {
  static std::atomic<unsigned> next = 0;
  return next++;
}

WarpLanes::WarpLanes(Cta &cta, unsigned index, LaneMask lanes)
    : cta(cta), cluster(cta.cluster), machine(cta.machine), index(index),
      live(lanes) {
  const Program &program = machine.program;
  rowCapacity = program.stackRows;
  // calloc allocates pages on first access: most warps never use most rows of a
  // large kernel.
  rows = static_cast<Row *>(std::calloc(rowCapacity + 1, sizeof(Row)));
  if (!rows)
    throw Error(Error::Kind::Launch, "no memory for the registers of a warp");
  localCapacity = uint32_t(program.stackLocal);
  localBytes.resize(size_t(localCapacity) * 32);
  if (machine.report.marksMemory())
    localWritten.resize(size_t(localCapacity) * 32);
  scalarContext.approx = machine.options.approx;
  scalarContext.carry = &carry;
  bases[1] = machine.constantRows[cta.rank].data();
}

WarpLanes::~WarpLanes() { std::free(rows); }

Warp::Warp(Cta &cta, unsigned index, LaneMask lanes)
    : WarpCollectives(cta, index, lanes) {
  Path path;
  path.mask = lanes;
  path.frames.push_back({machine.program.entry, 0, 0, 0, nullptr});
  paths.push_back(std::move(path));
  recount();
  select(0);
}

Dim3 WarpLanes::threadIndex(unsigned lane) const {
  const Dim3 &block = machine.config.block;
  uint32_t thread = index * 32 + lane;
  return {thread % block.x, thread / block.x % block.y,
          thread / (block.x * block.y)};
}

uint8_t *WarpLanes::local(unsigned lane, uint64_t address, uint64_t bytes) {
  if (address > localCapacity || bytes > localCapacity - address)
    return nullptr;
  return localBytes.data() + size_t(lane) * localCapacity + address;
}

uint8_t *WarpLanes::localMarks(unsigned lane, uint64_t address) {
  return localWritten.empty()
             ? nullptr
             : localWritten.data() + size_t(lane) * localCapacity + address;
}

void WarpDivergence::recount() {
  readyPaths = 0;
  for (const Path &path : paths)
    readyPaths += path.status == Path::Status::Ready;
}

void WarpDivergence::refresh() {
  const Path &path = paths[current];
  mask = path.mask;
  code = path.frames.back().code->instructions.data();
  bases[0] = rows + path.frames.back().rowBase;
  reconvergePc = path.point < 0 ? UINT32_MAX : points[path.point].pc;
}

void WarpDivergence::select(unsigned path) {
  current = path;
  pc = paths[path].pc;
  refresh();
}

void WarpDivergence::save() {
  if (current < paths.size())
    paths[current].pc = pc;
}

bool WarpDivergence::selectReady() {
  // Start after the current path, so that paths take turns.
  for (unsigned i = 1; i <= paths.size(); ++i) {
    unsigned candidate = (current + i) % paths.size();
    if (paths[candidate].status == Path::Status::Ready) {
      select(candidate);
      return true;
    }
  }
  return false;
}

void Warp::observe(const Instruction &inst, LaneMask active, Outcome outcome) {
  if (observer)
    observer->end(*this, inst, outcome);
  if (tracer)
    tracer->executed(*this, inst, active, outcome);
  if (machine.stepAccesses && touchesUnnoted(inst))
    machine.stepAccesses->touchEverything();
}

void Warp::observeSkipped(const Instruction &inst) {
  if (!observer)
    return;
  observer->begin(*this, inst, 0);
  observer->end(*this, inst, Outcome::Next);
}

uint64_t Warp::run(uint64_t budget) {
  bool observed = tracer || observer || machine.stepAccesses;
  return observed ? runLoop<true>(budget) : runLoop<false>(budget);
}

template <bool Observed> uint64_t Warp::runLoop(uint64_t budget) {
  uint64_t done = 0;
  recount();
  if (!selectReady())
    return 0;
  while (done < budget) {
    if (pc == reconvergePc && !arrive()) {
      if (!selectReady())
        return done;
      continue;
    }
    const Instruction &inst = code[pc];
    LaneMask active = mask;
    if (inst.guard.valid()) {
      LaneMask guard = lanesSet(row(inst.guard));
      active &= inst.guardNegated ? ~guard : guard;
      if (!active) {
        if constexpr (Observed)
          observeSkipped(inst);
        ++pc;
        ++done;
        continue;
      }
    }
    if (inst.convergence != Convergence::None) {
      if (!converge(inst, active)) {
        if (!selectReady())
          return done;
        continue;
      }
      if (Races *races = racesOf(*this))
        races->edges.collective(*this, active);
    }
    ++done;
    if (watch) [[unlikely]]
      watch(*this, inst, active);
    if constexpr (Observed)
      if (observer)
        observer->begin(*this, inst, active);
    Outcome outcome = inst.handler(*this, inst, active);
    if constexpr (Observed)
      observe(inst, active, outcome);
    if (outcome == Outcome::Next && !gathered) [[likely]]
      ++pc;
    else if (outcome != Outcome::Control || gathered) {
      if (!settle(outcome, inst))
        return done;
    } else if (!readyPaths) {
      return done;
    }
  }
  save();
  return done;
}

/// Handles the rare outcomes. Returns false if the warp has to stop for now.
bool Warp::settle(Outcome outcome, const Instruction &inst) {
  if (gathered && outcome != Outcome::Retry)
    finishGathering(inst, outcome == Outcome::NextAndWait);
  gathered = false;
  switch (outcome) {
  case Outcome::Next:
    ++pc;
    return true;
  case Outcome::Control:
    return readyPaths != 0;
  case Outcome::Yield:
    ++pc;
    save();
    return false;
  case Outcome::Fault:
    save();
    return false;
  case Outcome::Retry:
  case Outcome::NextAndWait:
    break;
  }
  if (outcome == Outcome::NextAndWait)
    ++pc;
  save();
  Path &path = paths[current];
  path.status = Path::Status::Waiting;
  path.wait = wait;
  path.wait.inst = &inst;
  recount();
  return selectReady();
}

void Warp::wake(const void *key) {
  for (Path &path : paths)
    if (path.status == Path::Status::Waiting && path.wait.key == key) {
      path.status = Path::Status::Ready;
      ++readyPaths;
    }
}

bool Warp::endSoftWaits() {
  bool woken = false;
  for (Path &path : paths) {
    if (path.status != Path::Status::Waiting || !path.wait.soft)
      continue;
    if (std::find(path.wokenAt.begin(), path.wokenAt.end(), path.wait.inst) !=
        path.wokenAt.end())
      continue;
    path.wokenAt.push_back(path.wait.inst);
    path.status = Path::Status::Ready;
    ++readyPaths;
    woken = true;
  }
  return woken;
}

void Warp::machineChanged() {
  for (Path &path : paths)
    path.wokenAt.clear();
}

uint64_t Warp::digest() const {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0xD6E8FEB86659FD93ull;
    hash ^= hash >> 32;
  };
  uint64_t top = 0;
  for (const Path &path : paths) {
    mix(path.pc);
    mix(path.mask);
    mix(uint64_t(path.status));
    const Frame &frame = path.frames.back();
    top = std::max<uint64_t>(top, frame.rowBase + frame.code->rows);
  }
  for (uint64_t i = 0; i < top; ++i)
    for (uint64_t value : rows[i])
      mix(value);
  return hash;
}

//===- ExecutionText.cpp - Messages about unordered accesses ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <algorithm>
#include <bit>

using namespace fmha::schedule::sync;

static const char *nameOf(Unit unit) {
  static constexpr const char *names[] = {
      "threads", "a cp.async", "tmem_load",   "tmem_store",
      "an MMA",  "a TMA load", "a TMA store", "a wgmma"};
  return names[unsigned(unit)];
}

/// Returns ", of each 128 from 32 to 64,", or nothing for all strips.
static std::string stripsOf(const Event &event) {
  if (event.strips == allStrips)
    return "";
  unsigned first = std::countr_zero(event.strips);
  unsigned end = std::bit_width(event.strips);
  return ", of each 128 from " + std::to_string(first * stripBytes) + " to " +
         std::to_string(end * stripBytes) + ",";
}

static std::string rangeOf(const Event &event) {
  // By Halves.
  static constexpr const char *lanes[] = {"", ", lanes 0 to 15 of each warp,",
                                          ", lanes 16 to 31 of each warp,", ""};
  bool tensor = event.memory == Memory::Tensor;
  if (event.memory == Memory::Registers)
    return "its registers";
  return std::string(tensor ? "columns" : "bytes") + " [" +
         std::to_string(event.begin) + ", " + std::to_string(event.stop) + ")" +
         (tensor ? lanes[event.halves] : stripsOf(event)) + " of " +
         (tensor ? "tensor memory" : "shared memory");
}

/// Returns whether the thread waits for its own tensor-memory accesses before
/// its next signal.
static bool waitsBeforeSignal(const Program &program, const Record &old) {
  Action wanted =
      old.unit == Unit::TmemLoad ? Action::WaitLoads : Action::WaitStores;
  const Agent &agent = program.agents[old.agent];
  for (size_t i = old.at; i < agent.order.size(); ++i) {
    Action action = program.events[agent.order[i]].action;
    if (action == wanted)
      return true;
    if (action == Action::Arrive || action == Action::SyncCta)
      return false;
  }
  return false;
}

/// Returns whether threads wait for groups of their copies.
static bool makesGroups(const Program &program) {
  return std::any_of(
      program.events.begin(), program.events.end(),
      [](const Event &event) { return event.action == Action::CommitCopies; });
}

std::string Accesses::missingStep(const Record &old, uint32_t agent,
                                  const Record &fresh) const {
  const Clock &now = run.agents[agent].now;
  bool handedOver = now[laneOf(old.agent, Issue)] >= old.tick;
  switch (old.unit) {
  case Unit::Copies:
    if (now[old.lane] >= old.tick)
      return "a fence proxy_async after the wait for the copies";
    return makesGroups(run.program)
               ? "commit_copies after the copies, await_copies of that group, "
                 "and a barrier if they are another thread's"
               : "arrive_copies after the copies, and a wait for its phase";
  case Unit::TmaLoad:
    return "a wait for the phase that the TMA load signals";
  case Unit::TmaStore:
    return "tma_store_wait, and a barrier if it is another thread's";
  case Unit::Mma:
    return now[old.lane] >= old.tick
               ? "a fence tcgen05_after after the wait"
               : "a commit after the MMA, and a wait for its phase";
  case Unit::Wgmma:
    return old.agent == agent
               ? "wgmma_commit after the wgmma, and a wgmma_wait that leaves "
                 "fewer groups in flight"
               : "a wgmma_wait of those threads before they signal";
  case Unit::Threads:
    if (!handedOver || fresh.unit == Unit::Threads ||
        fresh.unit == Unit::Copies ||
        (old.agent == agent && now[laneOf(agent, Proxied)] >= old.tick))
      return "a barrier, or a channel, between the two";
    return std::string("a fence proxy_async by the ") +
           (old.write ? "writing" : "reading") + " threads before they signal";
  case Unit::TmemLoad:
  case Unit::TmemStore:
    break;
  }
  std::string wait =
      old.unit == Unit::TmemLoad ? "tmem_wait load" : "tmem_wait store";
  if (old.agent == agent)
    return wait + " between the two";
  if (now[old.lane] >= old.tick)
    return "a fence tcgen05_after after the wait";
  if (!handedOver)
    return "a barrier, or a channel, between the two";
  return waitsBeforeSignal(run.program, old)
             ? "a fence tcgen05_before before the signal"
             : wait + " before the thread signals";
}

std::string Accesses::raceText(const Record &old, uint32_t agent,
                               const Record &fresh) const {
  const Event &event = run.program.events[fresh.event];
  const Event &earlier = run.program.events[old.event];
  return "Y1: " + std::string(nameOf(event.unit)) + " of " +
         run.program.agents[agent].name +
         (event.write ? " writes " : " reads ") + rangeOf(event) + ", which " +
         nameOf(earlier.unit) + " of " + run.program.agents[old.agent].name +
         (earlier.write ? " writes: expected " : " reads: expected ") +
         missingStep(old, agent, fresh);
}

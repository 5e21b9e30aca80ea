//===- Phases.cpp - What warps wait for -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

namespace ptxsim::timing {

/// Adds the end of `phase` to a wait.
static void take(OpenWait &wait, const Phase &phase) {
  if (phase.end.time < wait.until.time && wait.until.by.valid())
    return;
  wait.until = phase.end;
  wait.afterEnd = phase.afterEnd;
}

/// Ends a wait: a scoreboard is at zero, or the warp continues.
static void resume(State &state, StepId id, const OpenWait &wait) {
  WarpState &warp = state.warps[id.warp];
  Timed &timed = state.result.steps[id.warp][id.step];
  bool waited = wait.until.time > wait.at;
  timed.end = std::max(wait.at + wait.least, wait.until.time + wait.latency);
  timed.endCause = waited ? Cause{wait.until.by, Why::Result, wait.afterEnd}
                          : Cause{id, Why::Latency, false};
  if (wait.barrier != sass::kNoBarrier) {
    warp.scoreboards[wait.barrier].until.atLeast({timed.end, id});
    warp.nextTry = state.now;
  } else {
    warp.resume = {timed.end, id};
    warp.parked = false;
    warp.nextTry = timed.end;
  }
  if (timed.end > state.result.clocks) {
    state.result.clocks = timed.end;
    state.result.last = id;
  }
}

/// Takes a phase that has ended off the wait of a step.
static void release(State &state, StepId id, const Phase &phase) {
  WarpState &warp = state.warps[id.warp];
  auto found = warp.waits.find(id.step);
  OpenWait &wait = found->second;
  take(wait, phase);
  if (--wait.open)
    return;
  if (wait.barrier != sass::kNoBarrier)
    --warp.scoreboards[wait.barrier].open;
  resume(state, id, wait);
  warp.waits.erase(found);
}

void signal(State &state, const Fact &fact, const Moment &moment,
            bool afterEnd) {
  Phase &phase = state.phases[fact.value];
  if (moment.time >= phase.end.time || !phase.end.by.valid()) {
    phase.end = moment;
    phase.afterEnd = afterEnd;
  }
  if (--phase.missing)
    return;
  for (StepId id : phase.waiting)
    release(state, id, phase);
  phase.waiting.clear();
}

void signalAll(Doing &doing, double time, bool afterEnd) {
  for (const Fact &fact : doing.facts)
    if (fact.kind == Fact::Kind::Signal)
      signal(doing.state, fact, {time, doing.id}, afterEnd);
}

void waitForAll(Doing &doing) {
  WarpState &warp = doing.warp;
  OpenWait wait;
  wait.at = doing.now();
  wait.latency = wait.least = doing.figure(doing.code.of->latency);
  if (doing.code.of->action == Action::WgmmaWait)
    wait.least = doing.figure(Figure::WgmmaWaitInterval);
  if (doing.code.control)
    wait.barrier = doing.code.control->writeBarrier;
  for (const Fact &fact : doing.facts) {
    if (fact.kind != Fact::Kind::Wait || fact.value == kNoPhase)
      continue;
    Phase &phase = doing.state.phases[fact.value];
    if (!phase.missing) {
      take(wait, phase);
      continue;
    }
    ++wait.open;
    phase.waiting.push_back(doing.id);
  }
  if (!wait.open)
    return resume(doing.state, doing.id, wait);
  if (wait.barrier == sass::kNoBarrier)
    warp.parked = true;
  else
    ++warp.scoreboards[wait.barrier].open;
  warp.waits.emplace(doing.id.step, wait);
}

void waitUntil(Doing &doing, const Moment &moment, Figure latency) {
  bool waited = moment.by.valid() && moment.time > doing.now();
  doing.timed.end = std::max(doing.now(), moment.time) + doing.figure(latency);
  if (waited)
    doing.timed.endCause = {moment.by, Why::Result, true};
}

} // namespace ptxsim::timing

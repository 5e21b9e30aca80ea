//===- Phases.cpp - What warps wait for -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

namespace ptxsim::timing {

/// Makes the end of `phase` a moment that the warp waits for.
static void take(WarpState &warp, const Phase &phase) {
  if (phase.end.time < warp.parkedUntil.time && warp.parkedUntil.by.valid())
    return;
  warp.parkedUntil = phase.end;
  warp.parkedAfterEnd = phase.afterEnd;
}

static void resume(State &state, WarpState &warp) {
  const StepId id = warp.parkedStep;
  const Moment until = warp.parkedUntil;
  Timed &timed = state.result.steps[id.warp][id.step];
  bool waited = until.time > warp.parkedAt;
  timed.end = std::max(warp.parkedAt, until.time) + warp.parkedLatency;
  timed.endCause = waited ? Cause{until.by, Why::Result, warp.parkedAfterEnd}
                          : Cause{id, Why::Latency, false};
  warp.resume = {timed.end, id};
  warp.parked = false;
  warp.nextTry = timed.end;
  if (timed.end > state.result.clocks) {
    state.result.clocks = timed.end;
    state.result.last = id;
  }
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
  for (uint32_t index : phase.waiting) {
    WarpState &warp = state.warps[index];
    take(warp, phase);
    if (--warp.openWaits == 0)
      resume(state, warp);
  }
  phase.waiting.clear();
}

void signalAll(Doing &doing, double time, bool afterEnd) {
  for (const Fact &fact : doing.facts)
    if (fact.kind == Fact::Kind::Signal)
      signal(doing.state, fact, {time, doing.id}, afterEnd);
}

void waitForAll(Doing &doing) {
  WarpState &warp = doing.warp;
  warp.parkedAt = doing.now();
  warp.parkedLatency = doing.figure(doing.code.of->latency);
  warp.parkedStep = doing.id;
  warp.parkedUntil = {};
  for (const Fact &fact : doing.facts) {
    if (fact.kind != Fact::Kind::Wait || fact.value == kNoPhase)
      continue;
    Phase &phase = doing.state.phases[fact.value];
    if (!phase.missing) {
      take(warp, phase);
      continue;
    }
    ++warp.openWaits;
    phase.waiting.push_back(warp.index);
  }
  warp.parked = warp.openWaits;
  if (!warp.parked)
    resume(doing.state, warp);
}

void waitUntil(Doing &doing, const Moment &moment, Figure latency) {
  bool waited = moment.by.valid() && moment.time > doing.now();
  doing.timed.end = std::max(doing.now(), moment.time) + doing.figure(latency);
  if (waited)
    doing.timed.endCause = {moment.by, Why::Result, true};
}

} // namespace ptxsim::timing

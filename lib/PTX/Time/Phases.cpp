//===- Phases.cpp - What warps wait for -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

namespace ptxsim::timing {

static void resumeAt(State &state, WarpState &warp, const Phase &phase) {
  const StepId id = warp.parkedStep;
  Timed &timed = state.result.steps[id.warp][id.step];
  bool waited = phase.end.time > warp.parkedAt;
  timed.end = std::max(warp.parkedAt, phase.end.time) + warp.parkedLatency;
  timed.endCause = waited ? Cause{phase.end.by, Why::Result, phase.afterEnd}
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
  for (uint32_t index : phase.waiting)
    resumeAt(state, state.warps[index], phase);
  phase.waiting.clear();
}

void signalAll(Doing &doing, double time, bool afterEnd) {
  for (const Fact &fact : doing.facts)
    if (fact.kind == Fact::Kind::Signal)
      signal(doing.state, fact, {time, doing.id}, afterEnd);
}

void waitFor(Doing &doing, const Fact &fact) {
  WarpState &warp = doing.warp;
  warp.parkedAt = doing.now();
  warp.parkedLatency = doing.figure(doing.code.of->latency);
  warp.parkedStep = doing.id;
  if (fact.value == kNoPhase)
    return resumeAt(doing.state, warp, Phase());
  Phase &phase = doing.state.phases[fact.value];
  if (!phase.missing)
    return resumeAt(doing.state, warp, phase);
  warp.parked = true;
  phase.waiting.push_back(warp.index);
}

void waitUntil(Doing &doing, const Moment &moment, Figure latency) {
  bool waited = moment.by.valid() && moment.time > doing.now();
  doing.timed.end = std::max(doing.now(), moment.time) + doing.figure(latency);
  if (waited)
    doing.timed.endCause = {moment.by, Why::Result, true};
}

} // namespace ptxsim::timing

//===- Signals.cpp - Phases that trips signal and wait for ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signals.h"

#include "Walk.h"

#include "fmha/PTX/Sim/Simulator.h"

namespace ptxsim::timing {

uint32_t Signals::phaseOf(const Key &key, Recording &result) {
  auto [place, isNew] =
      phases.try_emplace(key, uint32_t(result.signals.size()));
  if (isNew)
    result.signals.push_back(0);
  return place->second;
}

void Signals::signal(WarpRecord &warp, uint32_t step,
                     const std::string &barrier, uint64_t phase,
                     Recording &result) {
  Fact fact;
  fact.step = step;
  fact.value = phaseOf({warp.cluster, barrier, phase}, result);
  ++result.signals[fact.value];
  warp.facts.push_back(fact);
}

void Signals::wait(WarpRecord &warp, uint32_t step, const std::string &barrier,
                   uint64_t phase, uint32_t signals, Recording &result) {
  Key key(warp.cluster, barrier, phase);
  Fact fact;
  fact.step = step;
  fact.kind = Fact::Kind::Wait;
  fact.value = phaseOf(key, result);
  warp.facts.push_back(fact);
  waits.push_back({key, warp.steps[step].code, warp.warp, signals});
}

void Signals::check(const Recording &result,
                    const sass::Function &function) const {
  for (const Waited &of : waits) {
    const auto &[cta, barrier, phase] = of.key;
    uint32_t signals = result.signals[phases.at(of.key)];
    if (signals && (!of.signals || signals == of.signals))
      continue;
    std::string expected =
        of.signals ? std::to_string(of.signals) + " warps" : "a signal";
    throw Error(Error::Kind::Launch,
                "trips: expected " + expected + " for phase " +
                    std::to_string(phase) + " of '" + barrier +
                    "', which warp " + std::to_string(of.warp) +
                    " waits for with " +
                    describe(function.instructions[of.instruction]) + ", got " +
                    (signals ? std::to_string(signals) : "none"));
  }
}

} // namespace ptxsim::timing

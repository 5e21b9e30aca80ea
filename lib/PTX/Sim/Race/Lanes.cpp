//===- Lanes.cpp - Lanes of a warp, separate where necessary --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/Lanes.h"

#include <algorithm>
#include <bit>

using namespace ptxsim::race;

Actor Lanes::actorOrNew(uint32_t warp, unsigned lane, Actor &next) {
  Actor &actor = warps[warp].actors[lane];
  if (!actor) {
    actor = std::min(next++, kActors - 1);
    list.push_back({warp, lane, actor});
  }
  return actor;
}

void Lanes::active(uint32_t warp, Time from, uint32_t lanes) {
  warps[warp].epochs.push_back({from, lanes});
}

uint32_t Lanes::activeAt(uint32_t warp, Time time) const {
  const auto &epochs = warps[warp].epochs;
  auto after = std::upper_bound(
      epochs.begin(), epochs.end(), time,
      [](Time wanted, const auto &epoch) { return wanted < epoch.first; });
  return after == epochs.begin() ? 0 : std::prev(after)->second;
}

bool Lanes::has(const VectorClock &clock, uint32_t warp, uint32_t lanes,
                Time time) const {
  for (; lanes; lanes &= lanes - 1) {
    Actor one = actor(warp, unsigned(std::countr_zero(lanes)));
    if (!one || clock.at(one) < time)
      return false;
  }
  return true;
}

//===- Lanes.h - Lanes of a warp, separate where necessary ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All lanes of a warp share one time. The warp's component of a clock is the
// time up to which the accesses of all its lanes are known. What a single lane
// has released beyond that is in a component of the lane, which is created when
// the lane first releases alone. So a warp that stays together costs one
// component, as if it were a single actor.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_RACE_LANES_H
#define FMHA_PTX_SIM_RACE_LANES_H

#include "fmha/PTX/Sim/Race/Clock.h"

#include <array>

namespace ptxsim::race {

/// Values that replace a single lane: several lanes, of those that were active
/// at the time; or all lanes together, in a collective.
constexpr uint8_t kManyLanes = 254, kWholeWarp = 255;

/// The lanes of the warps of a cluster.
class Lanes {
public:
  explicit Lanes(uint32_t warps) : warps(warps) {}
  /// Returns the component of a lane; 0 if it never released alone.
  Actor actor(uint32_t warp, unsigned lane) const {
    return warps[warp].actors[lane];
  }
  /// Returns the component, which becomes `next` if there is none yet.
  Actor actorOrNew(uint32_t warp, unsigned lane, Actor &next);
  /// Records that from time `from` on, `lanes` perform the accesses of the
  /// warp.
  void active(uint32_t warp, Time from, uint32_t lanes);
  uint32_t activeAt(uint32_t warp, Time time) const;
  /// Returns true if `clock` contains the accesses of all of `lanes` up to
  /// `time`.
  bool has(const VectorClock &clock, uint32_t warp, uint32_t lanes,
           Time time) const;
  struct Named {
    uint32_t warp;
    unsigned lane;
    Actor actor;
  };
  /// The lanes that have a component.
  const std::vector<Named> &named() const { return list; }

private:
  struct PerWarp {
    std::array<Actor, 32> actors{};
    std::vector<std::pair<Time, uint32_t>> epochs;
  };
  std::vector<PerWarp> warps;
  std::vector<Named> list;
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_LANES_H

//===- RaceState.h - State of the race detector -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_RACES_RACESTATE_H
#define FMHA_LIB_PTX_SIM_CORE_RACES_RACESTATE_H

#include "fmha/PTX/Sim/Core/Races/Races.h"

#include <array>

namespace ptxsim {

struct RaceState::WarpState {
  race::Actor actor = 0;
  race::Time time = 1;
  race::Knowledge knows;
  /// The tensor view that tcgen05.fence::after_thread_sync has acquired.
  race::VectorClock tensorFenced;
  /// The lanes that access memory at `time`.
  LaneMask active = 0;
  /// What strong operations of `fencedLanes` after the last release fence, at
  /// `fenceTime`, carry, and the scope of that fence.
  std::unique_ptr<race::Knowledge> fenced;
  LaneMask fencedLanes = 0;
  race::Time fenceTime = 0;
  race::Scope fenceScope = race::Scope::Weak;
  /// What relaxed reads have observed, for the next acquire fence.
  PublishedList observed;
  /// Versions of publications that `knows` contains, the last one per slot of
  /// the table: a loop that polls does not absorb a publication again.
  std::array<uint64_t, 8> absorbed{};
};

struct RaceState::CtaState {
  race::Shadow shared{16};
  race::TensorShadow tensor;
  /// The last operation of each stream, and of each warp of another CTA, that
  /// accesses the shared memory, and the finding if it outlives the CTA.
  struct Touch {
    race::Time time = 0;
    Site site;
    FindingId id = FindingId::SmemInUseAtExit;
  };
  std::vector<Touch> touches;
  void touch(race::Actor actor, const Touch &last) {
    if (actor >= touches.size())
      touches.resize(actor + 1);
    touches[actor] = last;
  }
  race::VectorClock atExit;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_RACES_RACESTATE_H

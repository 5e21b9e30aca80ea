//===- RaceState.h - What the race detector keeps ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_RACESTATE_H
#define FMHA_LIB_PTX_SIM_CORE_RACESTATE_H

#include "fmha/PTX/Sim/Core/Races.h"

namespace ptxsim {

struct Races::WarpState {
  race::Actor actor = 0;
  race::Time time = 1;
  race::Knowledge knows;
  /// The tensor view that tcgen05.fence::after_thread_sync has taken over.
  race::VectorClock tensorFenced;
  /// When all lanes last met.
  race::Time met = 0;
  /// What strong operations behind the last release fence carry, and how far.
  std::unique_ptr<race::Knowledge> fenced;
  race::Scope fenceScope = race::Scope::Weak;
  /// When fence.mbarrier_init was last executed.
  race::Time initFence = 0;
  /// What relaxed reads have seen, for the next acquire fence.
  PublishedList observed;
};

struct Races::CtaState {
  race::Shadow shared{16};
  race::TensorShadow tensor;
  /// The last operation of each stream that touches the shared memory.
  struct Touch {
    race::Time time = 0;
    Site site;
  };
  std::vector<Touch> touches;
  race::VectorClock atExit;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_RACESTATE_H

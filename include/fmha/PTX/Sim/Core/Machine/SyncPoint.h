//===- SyncPoint.h - What a barrier carries ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_SYNCPOINT_H
#define FMHA_PTX_SIM_CORE_MACHINE_SYNCPOINT_H

#include "fmha/PTX/Sim/Core/Machine/Report.h"
#include "fmha/PTX/Sim/Race/Shadow.h"

namespace ptxsim {

class Races;

/// A wait has said that a phase is complete.
struct PhaseSeen {
  Site site;
  LaneMask lanes = 0;
  race::Time time = 0;
};

/// What has arrived at a barrier, and what its last complete phase carries.
/// Arrivals of earlier phases stay: each arrival is a read-modify-write, so a
/// phase continues the release sequences of those before it.
struct SyncPoint {
  race::Knowledge gathering, completed;
  /// Warps that acquire at the next completion.
  std::vector<const Warp *> waiting;
  /// mbarrier.init, for uses that nothing orders behind it.
  race::Stamp init;
  /// The last use by each warp, for an inval or init that nothing orders
  /// behind.
  std::vector<race::Stamp> uses;
  /// Who has seen the last complete phase of an mbarrier, the latest wait of
  /// each group of lanes.
  std::vector<PhaseSeen> seers;
};

/// What the signal of an agent carries; empty without a race detector.
struct RaceTicket {
  race::Knowledge knows;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_SYNCPOINT_H

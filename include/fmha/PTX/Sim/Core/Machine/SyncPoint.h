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

/// A wait has observed that a phase is complete.
struct PhaseSeen {
  Site site;
  LaneMask lanes = 0;
  race::Time time = 0;
};

/// The knowledge of the arrivals at a barrier, and of its last complete phase.
/// Arrivals of earlier phases stay: each arrival is a read-modify-write, so a
/// phase continues the release sequences of those before it.
struct SyncPoint {
  race::Knowledge gathering, completed;
  /// Warps that acquire at the next completion.
  std::vector<const Warp *> waiting;
  /// mbarrier.init, to find uses that are not ordered after it.
  race::Stamp init;
  /// The last use by each warp, to find an inval or init that is not ordered
  /// after it.
  std::vector<race::Stamp> uses;
  /// The waits that have observed the last complete phase of an mbarrier: the
  /// latest wait of each group of lanes.
  std::vector<PhaseSeen> seers;
};

/// The knowledge that the signal of an operation carries; empty without a race
/// detector.
struct RaceTicket {
  race::Knowledge knows;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_SYNCPOINT_H

//===- Warpgroup.h - What four warps have of wgmma in flight ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WARPGROUP_H
#define FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WARPGROUP_H

#include "WgmmaRegisters.h"

#include <deque>

namespace ptxsim {

/// The wgmma that not all warps of a group have issued, and those in flight.
/// Its address is the key that a wait sleeps on.
struct Warpgroup {
  /// The oldest that a warp has yet to issue is number `issued`.
  std::deque<std::shared_ptr<Wgmma>> open;
  uint64_t issued = 0;
  std::vector<std::shared_ptr<Wgmma>> pipe;

  /// Wgmma number `number` of the group, which the caller may be the first to
  /// issue: null then.
  std::shared_ptr<Wgmma> find(uint64_t number) const;
};

struct Warpgroups : UnitState {
  std::map<unsigned, Warpgroup> groups;
  /// Reports what some warps have issued and others have not.
  void atCtaExit(Cta &cta) override;
};

/// A wgmma that a warp has issued and not waited for.
struct WgmmaInFlight {
  std::shared_ptr<Wgmma> work;
  const Instruction *inst = nullptr;
  uint32_t rowBase = 0;
  /// Registers of D.
  std::vector<Row *> rows;
};

struct WarpWgmma : UnitState {
  std::vector<WgmmaInFlight> open;
  std::deque<std::vector<WgmmaInFlight>> committed;
  /// Groups so far, as times of the race detector: an operation of the open
  /// group has the time `groups` + 1.
  race::Time groups = 0;
  /// Of the next wgmma in the sequence of the warpgroup.
  uint64_t next = 0;
  WgmmaRegisters registers;

  void commit();
  /// The oldest wgmma of all groups but the newest `pending` that has not
  /// completed, or null.
  const Wgmma *unfinished(uint64_t pending) const;
  /// The accumulator in flight that lies in just these registers, or null.
  std::shared_ptr<WgmmaAccumulator>
  accumulatorIn(const std::vector<Row *> &rows, const WgmmaForm &form) const;
  /// Gives the registers of all groups but the newest `pending` back.
  void retire(unsigned part, uint64_t pending);
  void atCtaExit(Cta &cta) override;

private:
  bool inUse(const WgmmaAccumulator *accumulator) const;
};

Warpgroup &warpgroupOf(const Warp &warp);
/// The race detector's stream of the group.
RaceStream &streamOf(Races &races, const Warp &warp);

/// What has kept `work` from executing: "warps 2, 3 have not issued it".
std::string missingWarps(const Warp &warp, const Wgmma &work);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WARPGROUP_H

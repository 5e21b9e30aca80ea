//===- Warpgroup.h - The wgmma of four warps in flight ----------*- C++ -*-===//
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
/// Its address is the wait key.
struct Warpgroup {
  /// The oldest one that a warp has yet to issue is number `issued`.
  std::deque<std::shared_ptr<Wgmma>> open;
  uint64_t issued = 0;
  std::vector<std::shared_ptr<Wgmma>> pipe;

  /// Returns wgmma number `number` of the group, or null if the caller is the
  /// first to issue it.
  std::shared_ptr<Wgmma> find(uint64_t number) const;
};

struct Warpgroups : UnitState {
  std::map<unsigned, Warpgroup> groups;
  /// Reports wgmma that only some of the warps have issued.
  void atCtaExit(Cta &cta) override;
};

/// A wgmma that a warp has issued and not yet waited for.
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
  /// Number of groups so far, as times of the race detector: an operation of
  /// the open group has the time `groups` + 1.
  race::Time groups = 0;
  /// Number of the next wgmma in the sequence of the warpgroup.
  uint64_t next = 0;
  WgmmaRegisters registers;

  void commit();
  /// Returns the oldest incomplete wgmma of all groups but the newest
  /// `pending`, or null.
  const Wgmma *unfinished(uint64_t pending) const;
  /// Returns the accumulator in flight that occupies exactly these registers,
  /// or null.
  std::shared_ptr<WgmmaAccumulator>
  accumulatorIn(const std::vector<Row *> &rows, const WgmmaForm &form) const;
  /// Releases the registers of all groups but the newest `pending`.
  void retire(unsigned part, uint64_t pending);
  void atCtaExit(Cta &cta) override;

private:
  bool inUse(const WgmmaAccumulator *accumulator) const;
};

Warpgroup &warpgroupOf(const Warp &warp);
/// Returns the race detector's stream of the group.
RaceStream &streamOf(Races &races, const Warp &warp);

/// Returns the reason why `work` has not executed: "warps 2, 3 have not issued
/// it".
std::string missingWarps(const Warp &warp, const Wgmma &work);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WARPGROUP_H

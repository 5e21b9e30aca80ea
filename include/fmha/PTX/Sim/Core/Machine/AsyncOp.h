//===- AsyncOp.h - Asynchronous work in flight ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TMA, tcgen05, bulk stores, cp.async: an instruction issues an operation, and
// the completion policy decides when its effects happen. Data is read and
// written in complete(), never at issue.
//
//   eager   at issue
//   late    when no warp of the cluster can proceed otherwise, oldest first
//   random  at a moment drawn from the schedule seed, in any order that the
//           predecessors allow
//
// An operation with two milestones (source read, destination written) is two
// operations, the second after the first.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_ASYNCOP_H
#define FMHA_PTX_SIM_CORE_MACHINE_ASYNCOP_H

#include "fmha/PTX/Sim/Core/Machine/Report.h"

#include <memory>
#include <string>
#include <vector>

namespace ptxsim {

/// Identifies an issued operation within its cluster; 0 is "none", which counts
/// as done.
using AsyncOpId = uint64_t;

class AsyncOp {
public:
  explicit AsyncOp(const Site &site) : site(site) {}
  virtual ~AsyncOp() = default;
  /// Performs the work and notifies all waiters (Cluster::notify).
  virtual void complete(Cluster &cluster) = 0;
  /// Returns one phrase for reports: "TMA load of 16384 bytes to shared 0x400".
  virtual std::string describe() const = 0;
  /// Returns true if all accesses of `complete` go through functions that
  /// record them for an exploration. Otherwise the operation conflicts with all
  /// others.
  virtual bool notesAccesses() const { return false; }
  /// Returns true if the operation will write (Write) or read (Read) any of
  /// these shared bytes. Findings use it to name the operation.
  virtual bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
                       Access access) const {
    return false;
  }

  /// Operations that must complete before this one (issue order of a pipe).
  std::vector<AsyncOpId> after;
  /// The instruction that issued it, and the number of operations that its warp
  /// had issued before.
  Site site;
  uint32_t number = 0;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_ASYNCOP_H

//===- Deadlock.h - The wait-for graph of a cluster -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_DEADLOCK_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_DEADLOCK_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

namespace ptxsim {

/// Returns the wait-for graph: which paths wait for which objects, and which
/// warps could still complete them. Does not modify the cluster.
DeadlockReport explainDeadlock(const Cluster &cluster);

/// Returns the phase that a path has missed, if any.
std::optional<MissedPhase> missedBy(const Warp &warp, const Path &path);

/// Returns true if the code that a path may still execute contains the
/// instruction, regardless of register values.
bool mayReach(const Warp &warp, const Path &path, const Instruction &inst);

/// Returns "cta 0,0,0 warp 3".
std::string nameOf(const Warp &warp);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_DEADLOCK_H

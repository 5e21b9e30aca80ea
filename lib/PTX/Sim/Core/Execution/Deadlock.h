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

/// Who waits for what, and who could still bring it about. Reads the cluster
/// only.
DeadlockReport explainDeadlock(const Cluster &cluster);

/// The phase that a path waits for too late, if it does.
std::optional<MissedPhase> missedBy(const Warp &warp, const Path &path);

/// Whether the code that a path may still execute has the instruction, whatever
/// the registers hold.
bool mayReach(const Warp &warp, const Path &path, const Instruction &inst);

/// "cta 0,0,0 warp 3".
std::string nameOf(const Warp &warp);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_DEADLOCK_H

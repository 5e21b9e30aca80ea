//===- RunClusters.h - Clusters in sequence or in parallel ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clusters that share no global memory can run in parallel with the same
// result. Whether they share any is checked while they run: every granule of
// global memory belongs to the cluster that writes it, or to all that only read
// it. A cluster that violates this stops the attempt, the written memory is
// restored, and the clusters run sequentially; so does a launch that ends
// early. The result of a launch is thus that of the sequential order, for any
// number of cores.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_RUNCLUSTERS_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_RUNCLUSTERS_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

namespace ptxsim {

/// Runs the clusters of a machine's launch, in parallel where Options and the
/// program allow it.
LaunchResult runClusters(Machine &machine);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_RUNCLUSTERS_H

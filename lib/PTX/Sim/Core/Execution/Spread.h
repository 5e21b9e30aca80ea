//===- Spread.h - The clusters of a launch, over cores and time -*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clusters that share no global memory can run at once, and nothing shows it.
// Whether they do is found out while they run: every granule of global memory
// belongs to the cluster that writes it, or to all that only read it. Who
// breaks that stops the attempt, what was written is put back, and the clusters
// run one after another; so does a launch that ends before its time. What a
// launch leaves behind is thus that of the plain order, however many cores
// there are.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_EXECUTION_SPREAD_H
#define FMHA_LIB_PTX_SIM_CORE_EXECUTION_SPREAD_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

namespace ptxsim {

/// Runs the clusters of a machine's launch: several at once where Options and
/// the program let it.
LaunchResult runClusters(Machine &machine);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_EXECUTION_SPREAD_H

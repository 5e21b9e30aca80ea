//===- Faults.h - Which driver error a finding becomes ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_STREAM_FAULTS_H
#define FMHA_LIB_PTX_DRIVER_STREAM_FAULTS_H

#include "State/DriverTypes.h"
#include "fmha/PTX/Sim/Simulator.h"

namespace ptxsim::driver {

/// What a real driver's next call would return after this launch: SUCCESS if
/// there is nothing worse than a warning, LAUNCH_TIMEOUT for a kernel that
/// does not end, the error of the fault where the hardware has one, and
/// LAUNCH_FAILED for what only the simulator notices.
CUresult faultOf(const LaunchResult &result);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_STREAM_FAULTS_H

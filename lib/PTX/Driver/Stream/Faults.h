//===- Faults.h - The driver error of a finding -----------------*- C++ -*-===//
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

/// Returns the result of a real driver's next call after this launch: SUCCESS
/// if there is nothing worse than a warning, LAUNCH_TIMEOUT for a kernel that
/// does not end, the error of the fault if the hardware has one, and
/// LAUNCH_FAILED for findings that only the simulator detects.
CUresult faultOf(const LaunchResult &result);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_STREAM_FAULTS_H

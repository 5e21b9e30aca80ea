//===- LaunchOutcome.h - The outcome of a launch ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_LIB_RUNTIME_HOST_LAUNCHOUTCOME_H
#define FMHA_LIB_RUNTIME_HOST_LAUNCHOUTCOME_H

#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// Sets status, findings, driverError and warpInstructions from `result` and,
/// on the simulator, its report. An Error means that the launch was rejected.
llvm::Error readOutcome(Device &device, driver::Result result,
                        LaunchReport &report);

/// Adds a finding if a kernel wrote `strayBytes` bytes that do not belong to
/// any element of the tensor `name`.
void addStrayFinding(llvm::StringRef name, size_t strayBytes,
                     LaunchReport &report);

/// Adds a finding if `left`, the value of the tile counter after the launch, is
/// not 0.
void addCounterFinding(uint32_t left, LaunchReport &report);

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_LAUNCHOUTCOME_H

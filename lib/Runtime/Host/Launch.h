//===- Launch.h - Launches one kernel and waits for it ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_HOST_LAUNCH_H
#define FMHA_LIB_RUNTIME_HOST_LAUNCH_H

#include "KernelArguments.h"
#include "fmha/Runtime/Attention.h"

namespace fmha::runtime {

/// Sets the options of a simulator for the launches that follow.
llvm::Error applyOptions(Device &device, const RunOptions &options);

/// Loads the kernel, launches it unless `grid` is empty, waits unless the next
/// launch shall follow at once, and adds the outcome to `report`.
llvm::Error launch(const KernelLaunch &kernel,
                   const std::array<uint32_t, 3> &grid, const std::string &ptx,
                   Device &device, const RunValues &values,
                   const DeviceCaptures &captures, KernelArguments::Find find,
                   bool wait, LaunchReport &report);

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_HOST_LAUNCH_H

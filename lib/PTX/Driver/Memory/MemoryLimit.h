//===- MemoryLimit.h - Amount of global memory ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_MEMORY_MEMORYLIMIT_H
#define FMHA_LIB_PTX_DRIVER_MEMORY_MEMORYLIMIT_H

#include "State/State.h"

namespace ptxsim::driver {

/// Returns the bytes of global memory: the device's, or this machine's if that
/// is less, so that a host that fills a fraction of the device does not exhaust
/// the machine's memory.
uint64_t memoryLimit(const State &state);

/// Allocates within that limit for the current context. The host can also
/// access managed memory.
CUresult allocateFrom(State &state, CUdeviceptr *out, size_t bytes,
                      bool managed);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_MEMORY_MEMORYLIMIT_H

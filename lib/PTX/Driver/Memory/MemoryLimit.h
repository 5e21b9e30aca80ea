//===- MemoryLimit.h - How much global memory there is ----------*- C++ -*-===//
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

/// Bytes of global memory: what the device would have, or what this machine
/// has where that is less, so that a host that fills a share of the device does
/// not run the machine out of memory.
uint64_t memoryLimit(const State &state);

/// Allocates within that limit for the current context. Managed memory is the
/// host's, too.
CUresult allocateFrom(State &state, CUdeviceptr *out, size_t bytes,
                      bool managed);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_MEMORY_MEMORYLIMIT_H

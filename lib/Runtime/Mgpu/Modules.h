//===- Modules.h - Functions and their limits -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits of functions, which launches raise as necessary.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_MGPU_MODULES_H
#define FMHA_LIB_RUNTIME_MGPU_MODULES_H

#include "Process.h"

namespace fmha::runtime::mgpu {

/// Allows `function` to use `bytes` of dynamic shared memory, unless its
/// default or an earlier launch already does.
void allowSharedMemory(driver::Function function, int32_t bytes);

/// Returns whether `function` waits for earlier grids itself
/// (fmha/Kernel/Programmatic.h).
bool isProgrammatic(driver::Function function);

} // namespace fmha::runtime::mgpu

#endif // FMHA_LIB_RUNTIME_MGPU_MODULES_H

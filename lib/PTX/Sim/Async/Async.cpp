//===- Async.cpp - Asynchronous PTX instructions --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Async/Async.h"

#include "Families.h"

void ptxsim::registerAsync(Registry &registry) {
  registerMbarrier(registry);
  registerFences(registry);
  registerRegisterPool(registry);
  registerCpAsync(registry);
  registerBulkCopy(registry);
  registerBulkGroups(registry);
  registerTensorCopy(registry);
  registerTmemAllocation(registry);
  registerTmemMovement(registry);
  registerTmemCopy(registry);
  registerTmemShift(registry);
  registerMma(registry);
  registerCommit(registry);
  registerWgmma(registry);
  registerMmaSync(registry);
  registerLaunchControl(registry);
}

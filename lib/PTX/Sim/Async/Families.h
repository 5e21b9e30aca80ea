//===- Families.h - Families of asynchronous instructions -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_FAMILIES_H
#define FMHA_LIB_PTX_SIM_ASYNC_FAMILIES_H

#include "fmha/PTX/Sim/Core/Program/Decoder.h"

namespace ptxsim {

void registerMbarrier(Registry &registry);
void registerFences(Registry &registry);
void registerRegisterPool(Registry &registry);
void registerCpAsync(Registry &registry);
void registerBulkCopy(Registry &registry);
void registerBulkGroups(Registry &registry);
void registerTensorCopy(Registry &registry);
void registerTmemAllocation(Registry &registry);
void registerTmemMovement(Registry &registry);
void registerTmemCopy(Registry &registry);
void registerTmemShift(Registry &registry);
void registerMma(Registry &registry);
void registerCommit(Registry &registry);
void registerWgmma(Registry &registry);
void registerMmaSync(Registry &registry);
void registerLaunchControl(Registry &registry);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_FAMILIES_H

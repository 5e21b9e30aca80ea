//===- Async.h - Asynchronous PTX instructions ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous instructions: semantics on top of the units of Sim/Units
// and the machine of Sim/Core.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_ASYNC_ASYNC_H
#define FMHA_PTX_SIM_ASYNC_ASYNC_H

#include "fmha/PTX/Sim/Core/Program/Decoder.h"

namespace ptxsim {

/// Registers mbarrier, cp.async, bulk and tensor copies, fences, setmaxnreg and
/// tcgen05.
void registerAsync(Registry &registry);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_ASYNC_ASYNC_H

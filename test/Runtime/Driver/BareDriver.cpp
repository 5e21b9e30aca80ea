//===- BareDriver.cpp - A driver library with the required calls only -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every required call of fmha/Runtime/Driver/Calls.h, each of which succeeds
// and does nothing.
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Driver/Calls.h"

namespace fmha::runtime::driver {

extern "C" {

#define FMHA_DO_NOTHING(member, symbol, signature)                             \
  Result symbol signature { return success; }
FMHA_DRIVER_CALLS(FMHA_DO_NOTHING)
#undef FMHA_DO_NOTHING

} // extern "C"

} // namespace fmha::runtime::driver

//===- Order.h - What orders the grids of streams ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A programmatic launch may overlap earlier kernels of its stream, unless other
// work, or a synchronization with the host, comes in between. The default
// streams count as one. It waits for the streams that are not non-blocking, and
// these wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_DRIVER_STATE_ORDER_H
#define FMHA_LIB_PTX_DRIVER_STATE_ORDER_H

#include "State.h"

namespace ptxsim::driver {

/// Returns the stream in the sense of LaunchConfig.
uint64_t numberOf(CUstream stream);

/// Records that work other than a kernel was submitted to the stream, or that
/// the host waited for the stream: no later kernel overlaps earlier ones.
void orderStream(State &state, CUstream stream);

/// Records work of any kind in the stream: the default stream orders blocking
/// streams, and these order the default stream.
void orderOtherStreams(State &state, CUstream stream);

} // namespace ptxsim::driver

#endif // FMHA_LIB_PTX_DRIVER_STATE_ORDER_H

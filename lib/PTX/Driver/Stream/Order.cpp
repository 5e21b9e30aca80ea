//===- Order.cpp - What orders the grids of streams -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State/Order.h"

using namespace ptxsim::driver;

uint64_t ptxsim::driver::numberOf(CUstream stream) {
  return isDefault(stream) ? 0 : stream->id;
}

void ptxsim::driver::orderOtherStreams(State &state, CUstream stream) {
  if (!isDefault(stream)) {
    if (!(stream->flags & streamNonBlocking))
      state.device->finish(numberOf(nullptr));
    return;
  }
  state.streams.forEach([&](const CUstream_st &other) {
    if (!(other.flags & streamNonBlocking))
      state.device->finish(other.id);
  });
}

void ptxsim::driver::orderStream(State &state, CUstream stream) {
  state.device->finish(numberOf(stream));
  orderOtherStreams(state, stream);
}

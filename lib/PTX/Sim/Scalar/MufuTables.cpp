//===- MufuTables.cpp - The special-function unit of sm_90, bit by bit ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MufuTables.h"

#include "fmha/PTX/Sim/Simulator.h"

namespace ptxsim::scalar {

uint32_t mufuF32(Mufu, uint32_t, bool) {
  throw Error(Error::Kind::Unsupported,
              "approximate functions: expected correct or perturb, got sm90, "
              "which this build has no tables for; choose --approx=correct");
}

} // namespace ptxsim::scalar

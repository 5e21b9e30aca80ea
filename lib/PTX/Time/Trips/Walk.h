//===- Walk.h - The way of a role through SASS ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_TRIPS_WALK_H
#define FMHA_LIB_PTX_TIME_TRIPS_WALK_H

#include "Graph.h"

#include "fmha/PTX/Time/Trips.h"

namespace ptxsim::timing {

/// Returns "0x1a0".
std::string hex(uint32_t value);

/// Returns "'@P0 BRA `(.L_x_1)' at 0x1a0".
std::string describe(const sass::Instruction &inst);

/// Returns the blocks that the warps of a role visit. A branch that tests a
/// wait goes on as if the wait had succeeded, unless it has a rule; others
/// need one. Throws Error::Launch, also for more than `most` instructions.
std::vector<uint32_t> walk(const SassKernel &kernel, const SassGraph &graph,
                           const Trips &trips, const TripsRole &role,
                           size_t most);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_TRIPS_WALK_H

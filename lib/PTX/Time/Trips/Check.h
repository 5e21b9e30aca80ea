//===- Check.h - Rules that suit their instructions -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_TRIPS_CHECK_H
#define FMHA_LIB_PTX_TIME_TRIPS_CHECK_H

#include "Graph.h"

#include "fmha/PTX/Time/Trips.h"

namespace ptxsim::timing {

/// Checks that each rule is for an instruction of the kernel that reads it, and
/// that each barrier is one of an instruction. Throws Error::Launch.
void checkRules(const Trips &trips, const SassKernel &kernel,
                const SassGraph &graph);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_TRIPS_CHECK_H

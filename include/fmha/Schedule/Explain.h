//===- Explain.h - A plan, for people to read -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_EXPLAIN_H
#define FMHA_SCHEDULE_EXPLAIN_H

#include "fmha/Schedule/Schedule.h"

namespace fmha::schedule {

/// The schedule and why it was chosen, the roles with their warps and
/// registers, tensor memory and shared memory as drawings to scale, and what
/// was rejected and why. Lines end with '\n'; drawings are at most 80
/// characters wide.
std::string explain(const Problem &problem, const Plan &plan);

/// The parts, each for itself.
std::string drawTmem(const MemoryMap &map);
std::string drawSmem(const MemoryMap &map, unsigned capacityBytes);
std::string tabulateRoles(const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_EXPLAIN_H

//===- OtherAccessors.h - The other party of a finding ----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries for the other party of a finding, made only when there is something
// to report.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_OTHERACCESSORS_H
#define FMHA_PTX_SIM_CORE_MACHINE_OTHERACCESSORS_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

namespace ptxsim {

/// Returns the oldest operation in flight that will write (Write) or read
/// (Read) any of these shared bytes.
Other inFlightAt(const Cta &cta, uint32_t offset, uint32_t bytes,
                 Access access);
/// Returns the site that initialized the live mbarrier at these shared bytes.
Other barrierAt(const Cta &cta, uint32_t offset, uint32_t bytes);
/// Returns the exit that ended a CTA.
Other exitOf(const Cta &cta);
/// Returns "TEXT warp 0 lane 3 in line 12" for the site.
Other otherAt(const std::string &text, const Site &site);

/// Returns true if two ranges overlap.
constexpr bool overlap(uint64_t a, uint64_t aSize, uint64_t b, uint64_t bSize) {
  return a < b + bSize && b < a + aSize;
}

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_OTHERACCESSORS_H

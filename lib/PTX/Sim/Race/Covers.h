//===- Covers.h - When one read stands for another --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_RACE_COVERS_H
#define FMHA_LIB_PTX_SIM_RACE_COVERS_H

#include "fmha/PTX/Sim/Race/Shadow.h"

namespace ptxsim::race {

/// Whether a write that comes after the new read also comes after the old one:
/// the reader knows the old read, or it is an earlier one of the same actor
/// (streams complete as prefixes).
inline bool covers(const Access &access, const Stamp &old) {
  Moment now = access.stamp.when;
  bool sameActor = now >> kTimeBits == old.when >> kTimeBits && now >= old.when;
  return sameActor ||
         access.knows->has(Knowledge::View::Seen, access.cluster, old.when);
}

} // namespace ptxsim::race

#endif // FMHA_LIB_PTX_SIM_RACE_COVERS_H

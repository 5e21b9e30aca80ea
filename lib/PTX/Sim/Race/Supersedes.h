//===- Supersedes.h - When one read replaces another ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_RACE_SUPERSEDES_H
#define FMHA_LIB_PTX_SIM_RACE_SUPERSEDES_H

#include "fmha/PTX/Sim/Race/Shadow.h"

namespace ptxsim::race {

/// Returns true if the lanes that read at `old` read again: the same lane, or
/// the same set of active lanes then and now.
inline bool sameLanes(const Access &access, const Stamp &old) {
  const Stamp &now = access.stamp;
  if (!access.lanes || old.lane == now.lane || actorOf(now.when) != now.warp)
    return true;
  return old.lane == kManyLanes &&
         access.lanes->activeAt(now.warp, timeOf(old.when)) ==
             access.lanes->activeAt(now.warp, timeOf(now.when));
}

/// Returns true if a write after the new read is also after the old one: the
/// reader knows the old read, or it is an earlier read of the same actor
/// (streams complete as prefixes).
inline bool supersedes(const Access &access, const Stamp &old) {
  Moment now = access.stamp.when;
  bool sameActor = now >> kTimeBits == old.when >> kTimeBits && now >= old.when;
  return (sameActor && sameLanes(access, old)) ||
         knows(access, Knowledge::View::Seen, old);
}

/// Returns true if a read differs from the new one only in the lane.
inline bool otherLane(const Stamp &old, const Stamp &now) {
  return old.when == now.when && old.scope == now.scope &&
         old.async == now.async && old.lane < 32 && old.lane != now.lane &&
         actorOf(now.when) == now.warp;
}

} // namespace ptxsim::race

#endif // FMHA_LIB_PTX_SIM_RACE_SUPERSEDES_H

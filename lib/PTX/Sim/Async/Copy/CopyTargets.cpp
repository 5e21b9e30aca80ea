//===- CopyTargets.cpp - Destinations and barriers of copies --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyTargets.h"

namespace ptxsim {

std::vector<CopyTarget> copyTargets(Cluster &cluster, const Site &site,
                                    uint32_t address, uint32_t barrier,
                                    std::optional<uint16_t> mask, bool pair,
                                    uint32_t bytes, uint32_t align) {
  std::vector<CopyTarget> targets;
  if (!mask) {
    SharedRef ref = resolveShared(cluster, site, address, bytes, align);
    if (ref)
      targets.push_back({ref, barrier});
    return targets;
  }
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (!(*mask >> rank & 1))
      continue;
    SharedRef ref =
        resolveShared(cluster, site, inCta(address, rank), bytes, align);
    if (!ref)
      return {};
    uint32_t owner = pair ? (rank & ~1u) | (barrier >> 24 & 1) : rank;
    targets.push_back({ref, inCta(barrier, owner)});
  }
  return targets;
}

RaceStream &groupStream(Races &races, const Site &site,
                        const BulkGroups &groups, race::Kind kind) {
  RaceStream &stream =
      races.clocks.stream(*site.warp, kind, uint64_t(site.lane));
  stream.time = groups.threads[unsigned(site.lane)].groups + 1;
  return stream;
}

void issueInGroup(Warp &warp, unsigned lane, std::unique_ptr<AsyncOp> read,
                  std::unique_ptr<AsyncOp> write) {
  AsyncGroup &open = warp.states.get<BulkGroups>().threads[lane].open;
  AsyncOpId first = warp.cluster.issue(std::move(read));
  open.reads.push_back(first);
  write->after.push_back(first);
  open.writes.push_back(warp.cluster.issue(std::move(write)));
}

} // namespace ptxsim

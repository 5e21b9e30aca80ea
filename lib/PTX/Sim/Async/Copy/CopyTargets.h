//===- CopyTargets.h - Where copies land and whom they tell -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_COPY_COPYTARGETS_H
#define FMHA_LIB_PTX_SIM_ASYNC_COPY_COPYTARGETS_H

#include "BulkGroups.h"
#include "Mbarrier/MbarrierTable.h"

namespace ptxsim {

/// One destination in shared memory and the barrier that counts its bytes.
struct CopyTarget {
  SharedRef shared;
  uint32_t barrier = 0;
};

/// What the race detector gets to see of a load: its writes to shared memory
/// are the caller's, by `visit(stream, target)`; the tickets are for the
/// barriers of the targets. Empty without a detector.
template <typename Visit>
std::vector<RaceTicket>
noteLoad(const Site &site, std::vector<CopyTarget> &targets, Visit visit) {
  std::vector<RaceTicket> tickets(targets.size());
  Races *races = racesOf(site);
  for (size_t i = 0; races && i < targets.size(); ++i) {
    // All loads of a thread that signal one barrier are done with its phase.
    RaceStream &stream =
        races->stream(*site.warp, race::Kind::BulkLoad, targets[i].barrier);
    visit(*races, stream, targets[i]);
    tickets[i] = ticketFor(site, stream, targets[i].barrier);
  }
  return tickets;
}

/// The stream of the open bulk group of the lane that issues.
RaceStream &groupStream(Races &races, const Site &site,
                        const BulkGroups &groups, race::Kind kind);

/// The address of the same place in the CTA of `rank`.
constexpr uint32_t inCta(uint32_t address, uint32_t rank) {
  return (address & 0xffffff) | rank << 24;
}

/// The destinations of a load: the CTA that `address` names, or every CTA of
/// `mask`. With `.cta_group::2` a multicast signals the CTA of each pair that
/// has the parity of the barrier's. Empty after a fault.
std::vector<CopyTarget> copyTargets(Cluster &cluster, const Site &site,
                                    uint32_t address, uint32_t barrier,
                                    std::optional<uint16_t> mask, bool pair,
                                    uint32_t bytes, uint32_t align);

/// The second half of a bulk operation that ends in a thread's bulk group.
class GroupAgent : public Agent {
public:
  GroupAgent(const Site &site, BulkGroups &groups)
      : Agent(site), groups(groups) {}

protected:
  void finish(Cluster &cluster) { cluster.notify(&groups); }
  BulkGroups &groups;
};

/// Issues a read of shared memory and, after it, what is done with the bytes,
/// and puts both into the open group of the thread.
void issueInGroup(Warp &warp, unsigned lane, std::unique_ptr<Agent> read,
                  std::unique_ptr<Agent> write);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_COPY_COPYTARGETS_H

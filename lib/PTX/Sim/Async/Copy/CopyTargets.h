//===- CopyTargets.h - Destinations and barriers of copies ------*- C++ -*-===//
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

/// One destination in shared memory, and the barrier that counts its bytes.
struct CopyTarget {
  SharedRef shared;
  uint32_t barrier = 0;
};

/// Reports a load to the race detector and returns the tickets for the barriers
/// of the targets, which are empty without a detector. The caller reports the
/// writes to shared memory in `visit(races, stream, target)`.
template <typename Visit>
std::vector<RaceTicket>
noteLoad(const Site &site, std::vector<CopyTarget> &targets, Visit visit) {
  std::vector<RaceTicket> tickets(targets.size());
  Races *races = racesOf(site);
  for (size_t i = 0; races && i < targets.size(); ++i) {
    // All loads of a thread that signal one barrier complete with its phase.
    RaceStream &stream = races->clocks.stream(*site.warp, race::Kind::BulkLoad,
                                              targets[i].barrier);
    visit(*races, stream, targets[i]);
    tickets[i] = ticketFor(site, stream, targets[i].barrier);
  }
  return tickets;
}

/// Returns the stream of the issuing lane's open bulk group.
RaceStream &groupStream(Races &races, const Site &site,
                        const BulkGroups &groups, race::Kind kind);

/// Returns the corresponding address in the CTA of `rank`.
constexpr uint32_t inCta(uint32_t address, uint32_t rank) {
  return (address & 0xffffff) | rank << 24;
}

/// Returns the destinations of a load: the CTA of `address`, or every CTA of
/// `mask`. With `.cta_group::2` a multicast signals, in each pair, the CTA
/// whose rank has the parity of the barrier's CTA. Empty after a fault.
std::vector<CopyTarget> copyTargets(Cluster &cluster, const Site &site,
                                    uint32_t address, uint32_t barrier,
                                    std::optional<uint16_t> mask, bool pair,
                                    uint32_t bytes, uint32_t align);

/// The second half of a bulk operation that belongs to a thread's bulk group.
class GroupOp : public AsyncOp {
public:
  GroupOp(const Site &site, BulkGroups &groups)
      : AsyncOp(site), groups(groups) {}

protected:
  void finish(Cluster &cluster) { cluster.notify(&groups); }
  BulkGroups &groups;
};

/// Issues a read of shared memory, then the operation on the bytes read, and
/// adds both to the open group of the thread.
void issueInGroup(Warp &warp, unsigned lane, std::unique_ptr<AsyncOp> read,
                  std::unique_ptr<AsyncOp> write);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_COPY_COPYTARGETS_H

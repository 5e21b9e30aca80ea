//===- BulkGroups.cpp - Bulk async-groups of a thread ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, cp.async.bulk.commit_group and cp.async.bulk.wait_group.
//
//===----------------------------------------------------------------------===//

#include "BulkGroups.h"

#include "Families.h"
#include "SharedAccess.h"

#include <algorithm>

namespace ptxsim {

bool ThreadGroups::atMost(const Cluster &cluster, uint64_t pending, bool read) {
  auto finished = [&](const std::vector<AsyncOpId> &ops) {
    return std::all_of(ops.begin(), ops.end(),
                       [&](AsyncOpId id) { return cluster.isDone(id); });
  };
  while (!committed.empty() && finished(committed.front().reads) &&
         finished(committed.front().writes))
    committed.pop_front();
  for (size_t i = 0; i + pending < committed.size(); ++i)
    if (!finished(committed[i].reads) ||
        (!read && !finished(committed[i].writes)))
      return false;
  return true;
}

namespace {

Outcome executeCommit(Warp &warp, const Instruction &inst, LaneMask active) {
  BulkGroups &groups = warp.states.get<BulkGroups>();
  forLanes(active, [&](unsigned lane) { groups.threads[lane].commit(); });
  return Outcome::Next;
}

struct WaitForm {
  uint64_t pending = 0;
  bool read = false;
};

std::string describeWait(const Warp &warp, const Wait &wait) {
  return "cp.async.bulk.wait_group: bulk copies of the thread that are still "
         "in flight";
}

/// Records that the thread knows that all but the newest groups are done; only
/// their sources if it has waited for reads.
void noteDone(Warp &warp, const BulkGroups &groups, const WaitForm &form,
              LaneMask active) {
  Races *races = racesOf(warp);
  if (!races)
    return;
  forLanes(active, [&](unsigned lane) {
    race::Time count = groups.threads[lane].groups;
    if (count <= form.pending)
      return;
    race::Time time = count - race::Time(form.pending);
    races->edges.finished(
        warp, races->clocks.stream(warp, race::Kind::BulkRead, lane), time);
    if (!form.read)
      races->edges.finished(
          warp, races->clocks.stream(warp, race::Kind::BulkWrite, lane), time);
  });
}

Outcome executeWait(Warp &warp, const Instruction &inst, LaneMask active) {
  const WaitForm &form = inst.data<WaitForm>();
  BulkGroups &groups = warp.states.get<BulkGroups>();
  bool done = true;
  forLanes(active, [&](unsigned lane) {
    done &= groups.threads[lane].atMost(warp.cluster, form.pending, form.read);
  });
  if (done) {
    noteDone(warp, groups, form, active);
    return Outcome::Next;
  }
  warp.wait = {};
  warp.wait.key = &groups;
  warp.wait.describe = describeWait;
  return Outcome::Retry;
}

void decodeCommit(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"async", "bulk", "commit_group"});
  decoder.expectOperands(0, 0);
  inst.handler = executeCommit;
}

void decodeWait(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"async", "bulk", "wait_group", "read"});
  decoder.expectOperands(1, 1);
  inst.payload =
      decoder.payload(WaitForm{decoder.immediate(0), decoder.has("read")});
  inst.handler = executeWait;
}

} // namespace

void registerBulkGroups(Registry &registry) {
  registry.add("cp.async.bulk.commit_group", decodeCommit);
  registry.add("cp.async.bulk.wait_group", decodeWait);
}

} // namespace ptxsim

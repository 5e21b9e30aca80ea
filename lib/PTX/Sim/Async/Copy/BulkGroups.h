//===- BulkGroups.h - Bulk async-groups of a thread -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_COPY_BULKGROUPS_H
#define FMHA_LIB_PTX_SIM_ASYNC_COPY_BULKGROUPS_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

#include <deque>

namespace ptxsim {

/// The operations of one committed group: those that read the sources, and all.
struct AsyncGroup {
  std::vector<AsyncOpId> reads, writes;
};

/// Groups of one thread, oldest first; `open` is not yet committed.
struct ThreadGroups {
  AsyncGroup open;
  std::deque<AsyncGroup> committed;
  /// Number of groups so far, as times of the race detector: an operation of
  /// the open group has the time `groups` + 1.
  race::Time groups = 0;

  void commit() {
    committed.push_back(std::move(open));
    open = {};
    ++groups;
  }
  /// Returns true if at most `pending` of the newest groups are unfinished.
  /// With `read`, only the reads of their sources count.
  bool atMost(const Cluster &cluster, uint64_t pending, bool read);
};

/// Per warp: cp.async.bulk groups and cp.async groups. The address of the state
/// is the wait key that its operations notify.
struct BulkGroups : UnitState {
  std::array<ThreadGroups, 32> threads;
};
struct CpAsyncGroups : UnitState {
  std::array<ThreadGroups, 32> threads;
  /// All operations issued, for cp.async.wait_all and cp.async.mbarrier.arrive.
  std::array<std::vector<AsyncOpId>, 32> issued;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_COPY_BULKGROUPS_H

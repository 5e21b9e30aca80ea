//===- Clock.h - Vector clocks and the knowledge of actors ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A component of a clock is an actor: a warp, or a stream of asynchronous
// operations that complete as a prefix (knowing that operation n is done
// implies it for all operations before n). Actors are numbered within their
// cluster; a Moment identifies one point in the execution of one actor of one
// cluster.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_RACE_CLOCK_H
#define FMHA_PTX_SIM_RACE_CLOCK_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace ptxsim::race {

using Actor = uint32_t;
using Time = uint32_t;

/// Cluster (22 bits, from 1), actor (14 bits) and time (28 bits) in one word;
/// 0 is no moment.
using Moment = uint64_t;
constexpr unsigned kTimeBits = 28, kActorBits = 14;
constexpr Actor kActors = 1u << kActorBits;
constexpr Moment momentOf(uint32_t cluster, Actor actor, Time time) {
  return uint64_t(cluster) << (kTimeBits + kActorBits) |
         uint64_t(actor) << kTimeBits | time;
}
constexpr uint32_t clusterOf(Moment moment) {
  return uint32_t(moment >> (kTimeBits + kActorBits));
}
constexpr Actor actorOf(Moment moment) {
  return uint32_t(moment >> kTimeBits) & (kActors - 1);
}
constexpr Time timeOf(Moment moment) {
  return uint32_t(moment) & ((1u << kTimeBits) - 1);
}

/// The latest known time of each actor of one cluster; 0 = nothing known.
class VectorClock {
public:
  Time at(Actor actor) const { return actor < times.size() ? times[actor] : 0; }
  void raise(Actor actor, Time time) {
    if (actor >= times.size())
      times.resize(actor + 1);
    if (times[actor] < time)
      times[actor] = time;
  }
  void join(const VectorClock &other);
  bool empty() const { return times.empty(); }
  void clear() { times.clear(); }
  size_t size() const { return times.size(); }

private:
  std::vector<Time> times;
};

/// The knowledge of an actor, which a release passes to an acquire.
struct Knowledge {
  /// Happened before.
  VectorClock seen;
  /// Happened before, with a fence between the generic and the async proxy on
  /// the way, for shared and for global memory.
  VectorClock sharedProxy, globalProxy;
  /// tcgen05 operations that tcgen05.fence::before_thread_sync, or a commit,
  /// has ordered before a synchronization.
  VectorClock tensor;
  /// Components of warps: what fence.mbarrier_init orders before, for
  /// mbarrier.init only.
  VectorClock inits;
  /// What is not in `seen` but still came before. Relaxed arrivals and waits
  /// release nothing, but no thread passes a wait before the event it waits
  /// for, or reads a value before its writer wrote it.
  VectorClock flow;
  /// The part of `flow` that preceded a relaxed barrier.cluster.arrive.
  VectorClock clusterFlow;
  /// Knowledge of clusters other than the owner's, by number; 0 stands for
  /// earlier grids (EarlierGrids.h).
  std::map<uint32_t, std::shared_ptr<const Knowledge>> others;

  void join(const Knowledge &other);
  /// Joins what an actor of another cluster, `cluster`, has released; `own` is
  /// the number of the receiver's cluster.
  void joinForeign(uint32_t cluster, const Knowledge &other, uint32_t own);
  /// Joins knowledge of another cluster's actors.
  void joinOther(uint32_t cluster, std::shared_ptr<const Knowledge> other);

  enum class View : uint8_t { Seen, SharedProxy, GlobalProxy, Tensor, Inits };
  const VectorClock &view(View which) const {
    return which == View::Seen          ? seen
           : which == View::SharedProxy ? sharedProxy
           : which == View::GlobalProxy ? globalProxy
           : which == View::Tensor      ? tensor
                                        : inits;
  }
  /// Returns true if the moment is in the view of an actor of cluster `own`.
  bool has(View which, uint32_t own, Moment moment) const {
    if (clusterOf(moment) == own)
      return view(which).at(actorOf(moment)) >= timeOf(moment);
    return hasForeign(which, moment);
  }

private:
  bool hasForeign(View which, Moment moment) const;
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_CLOCK_H

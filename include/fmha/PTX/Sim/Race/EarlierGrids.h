//===- EarlierGrids.h - Grids that a later one may overlap ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grid launched with programmatic stream serialization may start before the
// grids before it in its stream have ended. griddepcontrol.wait waits for the
// end of the previous grid, which implies the end of those that the previous
// grid itself has waited for. Launches run one after another here, so each
// leaves its shadow of global memory for those that could overlap it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_RACE_EARLIERGRIDS_H
#define FMHA_PTX_SIM_RACE_EARLIERGRIDS_H

#include "fmha/PTX/Sim/Race/Shadow.h"

#include <string>

namespace ptxsim::race {

/// A grid that has run, and its accesses to global memory.
struct EarlierGrid {
  std::string entry;
  /// Its number among all launches of the device, from 1.
  uint64_t launch = 0;
  /// One shadow for each core that ran clusters of it.
  std::deque<Shadow> memory;
};

/// A grid that may still run when a programmatic launch starts.
struct OverlappedGrid {
  std::shared_ptr<const EarlierGrid> grid;
  /// Whether griddepcontrol.wait waits for its end.
  bool awaited = true;
};
using OverlappedGrids = std::vector<OverlappedGrid>;

/// The cluster whose actors are the overlapped grids, by their index. Knowing
/// time 1 of such an actor means knowing that the grid has ended.
constexpr uint32_t kEarlierGrids = 0;
constexpr Moment endOfGrid(size_t index) {
  return momentOf(kEarlierGrids, Actor(index), 1);
}

/// Returns the knowledge that griddepcontrol.wait gives.
std::shared_ptr<const Knowledge> endsOfAwaited(const OverlappedGrids &grids);

/// The grids of each stream that a programmatic launch there may overlap.
class EarlierGrids {
public:
  /// Returns the latest grids that a programmatic launch in `stream` may
  /// overlap, at most kGrids.
  OverlappedGrids of(uint64_t stream) const;
  /// Records a grid of the stream that has overlapped `overlapped`. `waited`
  /// means that one of its threads has executed griddepcontrol.wait.
  void add(uint64_t stream, EarlierGrid grid, const OverlappedGrids &overlapped,
           bool waited);
  /// Forgets the grids of a stream, which end before any later launch starts:
  /// those of the first `launches` launches.
  void finish(uint64_t stream, uint64_t launches = UINT64_MAX);
  void finishAll() { streams.clear(); }
  static constexpr size_t kGrids = 8;

private:
  std::unordered_map<uint64_t, OverlappedGrids> streams;
};

} // namespace ptxsim::race

#endif // FMHA_PTX_SIM_RACE_EARLIERGRIDS_H

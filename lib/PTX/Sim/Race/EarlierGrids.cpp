//===- EarlierGrids.cpp - Grids that a later one may overlap --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Race/EarlierGrids.h"

using namespace ptxsim::race;

std::shared_ptr<const Knowledge>
ptxsim::race::endsOfAwaited(const OverlappedGrids &grids) {
  auto knows = std::make_shared<Knowledge>();
  for (size_t i = 0; i < grids.size(); ++i)
    if (grids[i].awaited)
      knows->seen.raise(actorOf(endOfGrid(i)), timeOf(endOfGrid(i)));
  return knows;
}

OverlappedGrids EarlierGrids::of(uint64_t stream) const {
  auto found = streams.find(stream);
  return found == streams.end() ? OverlappedGrids() : found->second;
}

void EarlierGrids::add(uint64_t stream, EarlierGrid grid,
                       const OverlappedGrids &overlapped, bool waited) {
  OverlappedGrids now;
  now.push_back({std::make_shared<const EarlierGrid>(std::move(grid)), true});
  // The end of the new grid implies that of the grids that it waited for. It
  // says nothing about the others.
  for (const OverlappedGrid &old : overlapped)
    if (!(waited && old.awaited) && now.size() < kGrids)
      now.push_back({old.grid, false});
  streams[stream] = std::move(now);
}

void EarlierGrids::finish(uint64_t stream, uint64_t launches) {
  auto found = streams.find(stream);
  if (found == streams.end())
    return;
  std::erase_if(found->second, [&](const OverlappedGrid &old) {
    return old.grid->launch <= launches;
  });
  if (found->second.empty())
    streams.erase(found);
}

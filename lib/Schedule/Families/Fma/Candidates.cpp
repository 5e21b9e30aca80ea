//===- Candidates.cpp - Levels of the tree for plain threads ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan/Axes.h"

#include "fmha/Schedule/Model/FmaThreads.h"

#include <algorithm>
#include <bit>

using namespace fmha::schedule;

/// Returns the rows of a CTA: the query heads of a KV head, if their number is
/// known, so that each key is read once for all of them. The rows of a thread
/// are limited by its registers.
static Values packings(const Axes &axes) {
  unsigned most = FmaThreads::mostRows(axes.problem);
  unsigned wanted =
      axes.overrides[Choice::PackHeads].value_or(Overrides::wholeGroup);
  if (wanted != Overrides::wholeGroup)
    return {wanted};
  return {std::min(std::bit_ceil(std::max(groupHint(axes.problem), 1u)), most)};
}

static void addAxes(Axes &axes) {
  axes.add("q_tiles", {1}, 0);
  axes.levels.push_back({packings(axes), 0, [](Schedule &s, unsigned heads) {
                           s.packHeads = s.qTileRows = heads;
                         }});
  if (std::optional<unsigned> rows = axes.overrides[Choice::QTileRows])
    axes.add("q_tile_rows", {*rows}, 0);
  axes.add("kv_block", {256}, rule(3));
  axes.addPlacement({PPlacement::Smem}, rule(5));
  axes.addSlices({1});
}

constinit const FamilyCandidates fmha::schedule::fmaCandidates = {
    .qTileRows = 1,
    .pPlacement = PPlacement::Smem,
    .addAxes = addAxes,
    .leastStages = 1,
    .delaysRescales = false,
    .roundsScaledP = false,
    .ringBytes = nullptr};

//===- TileOrder.h - The order of the output tiles of a launch --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_TILEORDER_H
#define FMHA_SCHEDULE_MODEL_TILEORDER_H

#include <algorithm>
#include <cstdint>

namespace fmha::schedule {

struct Problem;
struct Schedule;

/// Returns the maximum number of bytes of K and V per section. A section is a
/// group of heads whose tiles are sorted together, the longest first. Returns 0
/// if the tiles are ordered head by head.
uint64_t sectionBytes(const Problem &problem, const Schedule &schedule);

/// Returns the number of CTAs whose rows are neighbors and which go through the
/// same KV blocks: those of a pair, unless they have chunks of packed heads of
/// the same rows.
constexpr unsigned ctasOfRows(unsigned packHeads, unsigned ctaGroup) {
  return packHeads > 1 ? 1 : std::max(1u, ctaGroup);
}

/// Returns whether the tiles of all heads are sorted together, the longest
/// first, for CTAs that compute several tiles of a known order. A CTA takes one
/// tile of each round; every other round has the opposite direction, so that no
/// CTA has the longest tile of all rounds.
bool sortsTiles(const Problem &problem, const Schedule &schedule);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_TILEORDER_H

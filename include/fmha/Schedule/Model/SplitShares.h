//===- SplitShares.h - Slots of a batch with uneven lengths -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With split_by = length the n sequences of a batch share splits·n slots, so
// that neither the grid nor the workspace depends on lengths. Sequence i has a
// weight w_i, its KV blocks, and a slot for each c of them:
//
//   w_i = clamp(ceil(length_i / keys of a block), 1, most)
//   parts_i = ceil(w_i / c)
//
// where `most` keeps the sum of all weights below 2^32, and each below 2^22.
// c is the least of shareSteps numbers with which splits·n slots suffice:
//
//   c = ceil(sum / (splits·n)) + k·step,   k = 0 ... shareSteps - 1
//
// The last of them is at least ceil(sum / (splits·n - n)), which always
// suffices, since the parts are at most sum / c + n. Equal lengths have
// `splits` parts each, or fewer, as with split_by = sequence.
//
// The slots of a sequence follow each other. First come those of sequences 0,
// 32, 64, ..., then those of 1, 33, ..., so that a lane of a warp has
// neighboring slots.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_SPLITSHARES_H
#define FMHA_SCHEDULE_MODEL_SPLITSHARES_H

#include <cstdint>
#include <span>
#include <vector>

namespace fmha::schedule {

constexpr unsigned shareSteps = 16;
/// The lanes among which sequences are dealt out.
constexpr unsigned shareLanes = 32;
/// The most blocks that a sequence counts for: quotients of such numbers are
/// off by less than 1 in f32.
constexpr uint32_t mostShareWeight = (1u << 22) - 1;

/// The slots of one sequence.
struct SplitShare {
  unsigned first = 0, parts = 0;
  bool operator==(const SplitShare &) const = default;
};

/// Returns the slots of each sequence. `splits` is at least 2, and a block has
/// `keys` keys.
std::vector<SplitShare> shareSlots(std::span<const int32_t> lengths,
                                   unsigned splits, unsigned keys);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_SPLITSHARES_H

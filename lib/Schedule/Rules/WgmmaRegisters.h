//===- WgmmaRegisters.h - What a consumer holds in registers ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_RULES_WGMMAREGISTERS_H
#define FMHA_LIB_SCHEDULE_RULES_WGMMAREGISTERS_H

#include "CheckRules.h"

#include "fmha/Schedule/Model/Schedule.h"

#include <algorithm>

namespace fmha::schedule {

/// 32-bit registers of a thread. The scores of the next block are made while P
/// of this one is multiplied, so that S, O and P are there at once.
struct WgmmaRegisters {
  unsigned scores, outputs, probabilities, there, captured = 0;

  WgmmaRegisters(const Problem &problem, const Schedule &s) {
    constexpr unsigned threadsOfRowPair = 4;
    scores = s.kvBlock * 2 / threadsOfRowPair;
    outputs = outputColumns(problem, s) * 2 / threadsOfRowPair;
    probabilities = s.pPlacement == PPlacement::Registers ? scores / 2 : 0;
    there = ofConsumer(s);
    bool loops = s.scheduler != Scheduler::Single;
    if (s.pPlacement == PPlacement::Smem)
      there -= ofMovingP(problem, s.qTiles, loops);
    if (problem.score)
      there -= ofCode(s);
    // Polynomials, or code that reads, in a loop: beside narrow O they fit.
    if (s.qTiles == 3 && loops && outputs >= scores &&
        (s.exp2EmulatedPercent || !problem.captures.empty()))
      there -= 12;
    if (problem.scoreByKey)
      addCaptures(problem.captures, s, loops);
    // ptxas begins long code for all keys at once (an error function times the
    // score: 48 to 216 bytes of spill stores with blocks of 128 keys and more,
    // 0 below).
    if (problem.scoreIsLong) {
      captured += scores;
      there -= s.qTiles == 2 ? 24 : 16;
      // A wide cap and a bias of one consumer: 4 to 48 bytes.
      if (problem.scoreByKey && s.pPlacement == PPlacement::Smem)
        there -= 24;
    }
  }
  unsigned all() const { return scores + outputs + probabilities + captured; }

private:
  /// Of 176 keys: from there on code on scores has to leave room, beyond it P.
  static constexpr unsigned wideScores = 88;

  /// What public kernels leave for addresses, statistics and exponentials:
  /// FlashAttention-3 takes up to 196 of 240, and 128 of 160. ptxas 13.0 spills
  /// nowhere below these, of 248 or 232 and of 160 registers; of several CTAs
  /// an SM each has 216 or 136.
  static unsigned ofConsumer(const Schedule &s) {
    if (s.ctasPerSm > 1)
      return s.ctasPerSm == 2 ? 176 : 104;
    return s.qTiles == 3 ? 128 : 200;
  }

  /// Code on scores needs some where P takes what there is, and many beside a
  /// wide row: a cap and ALiBi spilled 4 to 40 bytes at 176 keys.
  unsigned ofCode(const Schedule &s) const {
    bool few = s.qTiles == 3 || (s.ctasPerSm == 3 && s.exp2EmulatedPercent);
    return (few && probabilities ? 8 : 0) + (scores >= wideScores ? 40 : 0);
  }

  /// P that is on its way to shared memory is in registers, too: of three
  /// consumers only where S is widest, in a loop, beside code on scores, and
  /// where each sequence has a right bound of its own (4 bytes of 18 of 558
  /// kernels with blocks of 128 keys in a ring of two stages).
  unsigned ofMovingP(const Problem &problem, unsigned qTiles,
                     bool loops) const {
    if (qTiles != 3)
      return 24;
    if (problem.score)
      return 12;
    bool bounded = hasLists(problem) && problem.mask.rightBound();
    return scores > wideScores || bounded ? 8 : loops ? 4 : 0;
  }

  /// Code on scores reads for many keys at once, of every tensor of matrices,
  /// and computes for them what a tensor of vectors (ALiBi) brings besides.
  void addCaptures(const std::vector<Capture> &captures, const Schedule &s,
                   bool loops) {
    unsigned matrices = 0;
    for (const Capture &capture : captures)
      matrices += capture.rank > 1;
    unsigned tensors = std::max(matrices, captures.size() > 1 ? 2u : 1u);
    captured = scores * tensors;
    // What is read beside packed heads, or of two matrices in a loop, grows
    // with a row. Two consumers of 232 registers have nothing more, nor have
    // three CTAs (12 bytes of a bias with lists and blocks of 64 keys).
    unsigned share = scores / 4;
    if (tensors > 1 && loops)
      there -= 10 + std::min(10u, share);
    else if (tensors > 1 || loops)
      there -= 10;
    else if (s.qTiles != 2 && s.ctasPerSm < 3)
      there += 8;
    if (s.packHeads > 1)
      there -= std::min(8u, share);
    // A vector beside two matrices (ALiBi, a bias and a mask) in a loop: 4 to
    // 24 bytes of one tile without this, up to 108 of two.
    if (loops && captures.size() > tensors) {
      captured += scores / 2;
      there -= 4;
    }
  }
};

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_RULES_WGMMAREGISTERS_H

//===- CheckSpills.cpp - What roles have too few registers for --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Found with ptxas 13.0 and scripts/spills.py: kernels that would spill are
// refused with the schedule that does not. See README.md.
//
//===----------------------------------------------------------------------===//

#include "CheckRules.h"

#include <algorithm>
#include <string>

using namespace fmha;
using namespace fmha::schedule;

/// Whether a CTA does several output tiles.
static bool loops(const Schedule &s) {
  return s.scheduler != Scheduler::Single;
}

/// ptxas 13.0 spills there: beside another tile softmax has no registers for
/// what code on scores reads for some keys at once.
Complaint fmha::schedule::checkScore(const Case &c) {
  if (!c.problem.scoreByKey || c.schedule.qTiles == 1)
    return std::nullopt;
  return "C8: expected q_tiles = 1 with code on scores that reads for each key "
         "(a bias or a mask), which softmax has too few registers for beside "
         "another tile, got " +
         str(c.schedule.qTiles) + "; take one query tile";
}

/// ptxas 13.0 spills there (ALiBi; 168 bytes of one tile with a second source,
/// 4 with a loop and lists; 12 to 24 of ALiBi, a bias and a softcap behind a
/// left bound): what a row has of its head meets, in every score, what a block
/// has of its source or sequence, or what is read for each key.
Complaint fmha::schedule::checkPackedScore(const Case &c) {
  const Problem &p = c.problem;
  bool lists = hasLists(p) && loops(c.schedule);
  bool reads = p.scoreByKey && p.captures.size() > 1 && p.mask.left;
  if (p.captures.empty() || !(p.source2 || lists || reads) ||
      c.schedule.packHeads == 1 || c.schedule.qTileRows == 64)
    return std::nullopt;
  return "C8: expected q_tile_rows = 64 with packed heads, " +
         std::string(p.source2 ? "a second source of keys"
                     : lists   ? "lists of lengths, a loop over tiles"
                               : "a left bound, reads for each key") +
         " and code on scores that reads, which softmax has too few registers "
         "for otherwise, got " +
         str(c.schedule.qTileRows) +
         "; take query tiles of 64 rows or pack_heads = 1";
}

/// ptxas 13.0 spills there (4 to 32 bytes, ALiBi): numbers of rows and of their
/// sequences meet those of the score code.
Complaint fmha::schedule::checkPackedLists(const Case &c) {
  const Problem &p = c.problem;
  const Schedule &s = c.schedule;
  if (p.captures.empty() || !hasLists(p) || s.packHeads == 1 || s.qTiles == 1)
    return std::nullopt;
  return "C8: expected q_tiles = 1 with code on scores that reads, packed "
         "heads and lists of lengths, which softmax has too few registers for "
         "beside another tile, got " +
         str(s.qTiles) + "; take one query tile or pack_heads = 1";
}

/// ptxas 13.0 spills there (4 to 20 bytes): a product has two descriptors for
/// each 16 columns. K that V shares and tiles of 64 rows spill nothing.
Complaint fmha::schedule::checkWideProducts(const Case &c) {
  constexpr unsigned most = 256;
  const Schedule &s = c.schedule;
  if (c.problem.headDim <= most || s.shareKv || s.qTileRows == 64 ||
      (s.keyChunk && s.keyChunk <= most))
    return std::nullopt;
  return "C8: expected key_chunk from 64 to " + str(most) +
         " with a head dim above " + str(most) + " and tiles of 128 rows" +
         ", since the MMA role has too few registers for the descriptors of a "
         "wider product, got " +
         str(s.keyChunk);
}

/// ptxas 13.0 spills there (24 to 120 bytes, with packed heads or with a sink
/// and LSE; 44 to 52 with splits of two sources): bounds of a window in a
/// sequence are numbers that softmax keeps over a loop over tiles, or beside
/// those of its part and of each source.
Complaint fmha::schedule::checkLoop(const Case &c) {
  const Problem &p = c.problem;
  bool parts = c.schedule.splits > 1 && p.source2;
  if (!p.mask.left || !hasLists(p) || c.schedule.qTiles == 1 ||
      !(loops(c.schedule) || parts))
    return std::nullopt;
  return "C8: expected q_tiles = 1 with " +
         (loops(c.schedule)
              ? "scheduler " + std::string(stringify(c.schedule.scheduler))
              : "splits, a second source") +
         ", lists of lengths and a left bound of the window, which softmax has "
         "too few registers for beside another tile, got " +
         str(c.schedule.qTiles) + "; take one query tile" +
         (parts ? "" : " or the scheduler single");
}

/// What keeps polynomials from a second query tile, or nothing.
static std::string besideEmulation(const Case &c) {
  constexpr unsigned mostHeadDim = 128;
  if (std::max(c.problem.headDim, c.problem.headDimV) > mostHeadDim)
    return "a head dim above " + str(mostHeadDim);
  // Not whole panels of 64 columns, and more than fit beside one.
  unsigned columns = paddedColumns(c.problem.headDimV);
  if (columns > 80 && columns < mostHeadDim)
    return "a head_dim_v from 81 to 112";
  if (c.schedule.packHeads > 1)
    return "packed heads";
  if (c.schedule.pPlacement == PPlacement::Smem)
    return "P in shared memory";
  if (c.problem.outF32)
    return "an output of f32";
  if (!c.problem.captures.empty())
    return "code on scores that reads";
  if (loops(c.schedule) && c.problem.unnormalised)
    return "an undivided output in a loop over tiles";
  return hasLists(c.problem) ? "lists of lengths" : "";
}

/// ptxas 13.0 interleaves the polynomials with all else that a row needs, and
/// spills: above a quarter of one tile (24 to 68 bytes at a half); beside
/// another tile where correction has more to keep, of the output of a wide head
/// or of packed heads, of f32, or undivided in a loop over tiles (4 to 32
/// bytes), or softmax of lists or of the way to shared memory (4 to 16).
Complaint fmha::schedule::checkEmulation(const Case &c) {
  constexpr unsigned most = 25;
  const Schedule &s = c.schedule;
  unsigned percent = s.exp2EmulatedPercent;
  if (percent > most)
    return "C8: expected exp2_emulated of at most " + str(most) +
           " per cent, beyond which softmax has too few registers, got " +
           str(percent);
  if (percent == 0 || s.qTiles == 1)
    return std::nullopt;
  std::string what = besideEmulation(c);
  if (what.empty())
    return std::nullopt;
  return "C8: expected q_tiles = 1 with exp2_emulated and " + what +
         ", where roles have too few registers beside another tile, got " +
         str(s.qTiles) + "; take one query tile or exp2_emulated = 0";
}

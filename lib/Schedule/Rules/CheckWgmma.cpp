//===- CheckWgmma.cpp - Can wgmma do what a schedule says? ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckRules.h"
#include "WgmmaRegisters.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

using namespace fmha;
using namespace fmha::schedule;

/// 65536 registers of an SM: with three consumers 160 each leave 32 for the
/// warpgroup that loads (FlashAttention-3's counts). With two, 240 would leave
/// 24, in which ptxas 13.0 spills what loads from lists of sequences keep (4 to
/// 12 bytes); 232 cost 0.2 % of the time on an H200. Beside one nobody needs to
/// give any away, unless the SM has other CTAs.
std::vector<Role> fmha::schedule::consumerRoles(unsigned qTiles,
                                                unsigned ctasPerSm) {
  constexpr std::pair<unsigned, unsigned> shares[] = {
      {248, 248}, {232, 40}, {160, 32}};
  // check() refuses other counts.
  auto [consumer, producer] = shares[std::clamp(qTiles, 1u, 3u) - 1];
  if (ctasPerSm > 1) {
    constexpr unsigned groups = 2;
    producer = ctasPerSm == 2 ? 40 : 24;
    consumer = groups * registersAtLaunch(groups * 128, ctasPerSm) - producer;
  }
  std::vector<Role> roles = {{"load", 0, 1, producer},
                             {"store", 1, 1, producer},
                             {"spare", 2, 2, producer}};
  for (unsigned tile = 0; tile < qTiles; ++tile)
    roles.push_back({"consumer" + str(tile), 4 + 4 * tile, 4, consumer});
  return roles;
}

std::span<const KnownRole> fmha::schedule::wgmmaRoles() {
  static constexpr KnownRole roles[] = {{"load", 1, 0},
                                        {"store", 1, 0},
                                        {"consumer0", 4, 0},
                                        {"consumer1", 4, 1},
                                        {"consumer2", 4, 2}};
  return roles;
}

Complaint fmha::schedule::checkWgmmaTiles(const Case &c) {
  const Schedule &s = c.schedule;
  constexpr unsigned mostTiles = 3, rows = 64, keyStep = 16, mostKeys = 256;
  if (s.qTiles < 1 || s.qTiles > mostTiles)
    return "C3: expected q_tiles to be 1, 2 or 3 on " + s.target +
           ", warpgroups with a tile each, got " + str(s.qTiles);
  if (s.ctasPerSm < 1 || s.ctasPerSm > mostTiles)
    return "C3: expected ctas_per_sm to be 1, 2 or 3 on " + s.target +
           ", got " + str(s.ctasPerSm);
  if (s.ctasPerSm > 1 && s.qTiles > 1)
    return "C3: expected q_tiles = 1 with several CTAs an SM, which have the "
           "registers of one consumer each, got " +
           str(s.qTiles) + "; take ctas_per_sm = 1";
  if (s.qTileRows != rows)
    return "C3: expected q_tile_rows to be 64 on " + s.target +
           ", the rows of a wgmma, got " + str(s.qTileRows);
  if (!std::has_single_bit(s.packHeads) || s.packHeads > rows)
    return "C3: expected pack_heads to be a power of two of at most "
           "q_tile_rows, 64, got " +
           str(s.packHeads);
  if (s.kvBlock == 0 || s.kvBlock % keyStep || s.kvBlock > mostKeys)
    return "C3: expected kv_block to be a multiple of 16 from 16 to 256 on " +
           s.target + ", the columns of a wgmma, got " + str(s.kvBlock);
  return std::nullopt;
}

/// With P in shared memory ptxas 13.0 spills up to 128 bytes at an eighth, with
/// P in registers in none of 200 kernels at a quarter and at a half.
static Complaint checkWgmmaEmulation(const Schedule &s) {
  constexpr unsigned most = 50;
  if (s.exp2EmulatedPercent > most)
    return "C8: expected exp2_emulated of at most " + str(most) +
           " per cent on " + s.target +
           ", beyond which the FMA units have more to do than those that it "
           "spares, got " +
           str(s.exp2EmulatedPercent);
  if (s.exp2EmulatedPercent && s.pPlacement != PPlacement::Registers)
    return "C8: expected p_placement to be registers on " + s.target +
           " with exp2_emulated, for which a consumer has too few registers "
           "beside P on its way to shared memory; take registers or "
           "exp2_emulated = 0";
  return std::nullopt;
}

/// What a loop over tiles leaves too few registers for in any of several
/// consumers, or of several CTAs of an SM, or nothing. 4 to 180 bytes were
/// spilled of head dims of 176 and more with splits and polynomials, or with
/// splits, a left bound and a second source; 4 to 8 of head_dim_v 256 and 512
/// with a second source, an f32 output, and bounds or packed heads; 4 to 68
/// with lists, a left bound, and packed heads or a softcap; 44 of several
/// passes with lists, ALiBi, polynomials and an f32 output.
static std::string refusedByTwo(const Case &c) {
  constexpr unsigned mostColumns = 192;
  const Problem &p = c.problem;
  if (c.schedule.splits > 1)
    return "splits";
  if (c.schedule.oColumns && c.schedule.oColumns < p.headDimV)
    return "o_columns below head_dim_v";
  if (p.source2 && p.headDimV > mostColumns)
    return "a second source of keys above a head_dim_v of " + str(mostColumns);
  return hasLists(p) && p.mask.left
             ? "lists of lengths and a left bound of the window"
             : "";
}

/// What three have too few registers for besides: warps that load have 32 or 24
/// for what says where the blocks of a tile are, and consumers 160 or 136 for
/// what they keep from tile to tile (4 to 120 bytes). Three tiles are refused
/// code that reads for each key in every schedule.
static std::string refusedByThree(const Case &c) {
  const Problem &p = c.problem;
  if (p.source2)
    return "a second source of keys";
  if (p.outF32)
    return "an output of f32";
  if (p.scoreByKey)
    return "code on scores that reads for each key (a bias or a mask)";
  return c.schedule.ctasPerSm > 2 && hasLists(p) ? "lists of lengths" : "";
}

/// Behind the registers that a consumer needs, so that the scheduler `single`
/// is a way out.
Complaint fmha::schedule::checkWgmmaLoop(const Case &c) {
  const Schedule &s = c.schedule;
  bool ctas = s.ctasPerSm > 1;
  unsigned count = ctas ? s.ctasPerSm : s.qTiles;
  if (s.scheduler == Scheduler::Single || count == 1)
    return std::nullopt;
  std::string what = refusedByTwo(c);
  bool one = !what.empty();
  if (!one && count > 2)
    what = refusedByThree(c);
  if (what.empty())
    return std::nullopt;
  std::string field = ctas ? "ctas_per_sm" : "q_tiles";
  return "C8: expected " + field + (one ? " = 1" : " of at most 2") + " on " +
         s.target + " with scheduler " + std::string(stringify(s.scheduler)) +
         " and " + what + ", which roles have too few registers for, got " +
         str(count) + "; take " + field + " = " + (one ? "1" : "2") +
         " or the scheduler single";
}

/// ptxas 13.0 spills there (an error function times the score: 36 to 104 bytes
/// of three consumers, up to 136 in a loop over tiles).
static Complaint checkWgmmaLongScore(const Case &c) {
  const Schedule &s = c.schedule;
  if (!c.problem.scoreIsLong)
    return std::nullopt;
  auto must = [&](const std::string &what, const std::string &got) {
    return "C8: expected " + what + " on " + s.target +
           " with code on scores that calls long functions or divides, which "
           "needs more registers than a consumer has otherwise, got " +
           got + "; take it so, or leave the choice to the planner";
  };
  if (s.scheduler != Scheduler::Single)
    return must("scheduler = single", std::string(stringify(s.scheduler)));
  if (s.qTiles == 3)
    return must("q_tiles of at most 2", "3");
  return s.ctasPerSm == 3 ? Complaint(must("ctas_per_sm of at most 2", "3"))
                          : std::nullopt;
}

/// Fields that no pass of these targets builds yet.
Complaint fmha::schedule::checkWgmmaFeatures(const Case &c) {
  const Schedule &s = c.schedule;
  auto must = [&](const char *field, const char *value, unsigned got,
                  const char *why) -> Complaint {
    bool isSwitch = std::string_view(value) == "false";
    return "C8: expected " + std::string(field) + " to be " + value + " on " +
           s.target + ", " + why + "; got " + (isSwitch ? "true" : str(got));
  };
  if (s.pSlices != 1)
    return must("p_slices", "1", s.pSlices,
                "where a warpgroup multiplies its own P");
  if (Complaint complaint = checkWgmmaEmulation(s))
    return complaint;
  if (s.keyChunk || s.valueChunk)
    return must("key_chunk and value_chunk", "0",
                s.keyChunk ? s.keyChunk : s.valueChunk,
                "since no pass builds it otherwise");
  if (s.vStages)
    return must("v_stages", "0", s.vStages,
                "since no pass builds it otherwise");
  if (s.shareKv)
    return must("share_kv", "false", 1, "since no pass builds it otherwise");
  // ptxas 13.0 spills there: 160 registers do not hold what is read as well.
  if (c.problem.scoreByKey && s.qTiles == 3)
    return "C8: expected q_tiles of at most 2 on " + s.target +
           " with code on scores that reads for each key (a bias or a mask), "
           "which three consumers have too few registers for, got 3; take "
           "q_tiles = 2";
  // 4 to 12 bytes were spilled of 4 of some 150 kernels, whatever the head dim:
  // the first key of a row is one number more for each of two rows.
  constexpr unsigned mostKeys = 112;
  if (s.qTiles == 3 && s.pPlacement == PPlacement::Smem && c.problem.score &&
      c.problem.mask.left && s.kvBlock > mostKeys)
    return "C8: expected kv_block of at most " + str(mostKeys) + " on " +
           s.target +
           " with three consumers, P in shared memory, code on scores and a "
           "left bound, for which 160 registers are too few otherwise, got " +
           str(s.kvBlock);
  if (Complaint complaint = checkWgmmaLongScore(c))
    return complaint;
  if (s.scheduler == Scheduler::Dynamic)
    return "C8: expected scheduler to be single or static on " + s.target +
           ", which has no clusterlaunchcontrol; got dynamic";
  return std::nullopt;
}

/// Passes of so many columns. Beside others rule C8 takes them in no loop.
static std::string passesOf(const Schedule &s, unsigned columns) {
  bool loops = s.scheduler != Scheduler::Single;
  bool beside = s.qTiles > 1 || s.ctasPerSm > 1;
  return "o_columns of at most " + str(columns) +
         (loops && beside ? " with the scheduler single" : "");
}

/// Registers that each thread of a CTA starts with.
static unsigned atLaunch(unsigned qTiles, unsigned ctasPerSm) {
  constexpr unsigned group = 128;
  return registersAtLaunch((1 + qTiles) * group, ctasPerSm);
}

/// All of a CTA is compiled for the registers that its threads start with, and
/// ptxas 13.0 refuses a wgmma whose accumulator leaves less than 30 of these.
static unsigned mostAccumulators(unsigned qTiles, unsigned ctasPerSm) {
  constexpr unsigned beside = 30;
  return atLaunch(qTiles, ctasPerSm) - beside;
}

static Complaint checkAccumulators(const Schedule &s,
                                   const WgmmaRegisters &sizes) {
  constexpr unsigned panel = 64, step = 16;
  unsigned most = mostAccumulators(s.qTiles, s.ctasPerSm);
  unsigned widest = std::max(sizes.scores, sizes.outputs);
  if (widest <= most)
    return std::nullopt;
  std::vector<std::string> ways;
  if (s.ctasPerSm > 1)
    ways.push_back("fewer ctas_per_sm");
  else if (s.qTiles > 2 && widest <= mostAccumulators(2, 1))
    ways.push_back("two query tiles");
  std::string narrower;
  if (sizes.outputs > most)
    narrower = passesOf(s, 2 * most / panel * panel);
  if (sizes.scores > most)
    narrower += (narrower.empty() ? "" : " and ") +
                ("kv_block of at most " + str(2 * most / step * step));
  ways.push_back(narrower);
  return "C2: a thread starts with " + str(atLaunch(s.qTiles, s.ctasPerSm)) +
         " registers where " +
         (s.ctasPerSm > 1 ? "an SM has " + str(s.ctasPerSm) + " CTAs"
          : s.qTiles == 1 ? std::string("a CTA has one consumer")
                          : "a CTA has " + str(s.qTiles) + " consumers") +
         ", of which ptxas leaves " + str(most) + " to S or O, got " +
         str(widest) + " (one for each 2 columns); take " + anyOf(ways);
}

/// What would leave a consumer more registers.
static std::vector<std::string> waysToFit(const Case &c, unsigned outputs) {
  constexpr unsigned panel = 64, leastKeys = 16;
  std::vector<std::string> ways;
  if (c.schedule.qTiles == 3)
    ways.push_back("two query tiles");
  else if (c.schedule.ctasPerSm > 1)
    ways.push_back("fewer ctas_per_sm");
  if (c.schedule.kvBlock > leastKeys)
    ways.push_back("a smaller kv_block");
  // Passes are of whole panels.
  if (unsigned columns = (2 * outputs - 1) / panel * panel)
    ways.push_back(passesOf(c.schedule, columns));
  if (ways.empty())
    ways.push_back("fewer tensors for code on scores");
  return ways;
}

Complaint fmha::schedule::checkWgmmaRegisters(const Case &c) {
  WgmmaRegisters sizes(c.problem, c.schedule);
  if (Complaint complaint = checkAccumulators(c.schedule, sizes))
    return complaint;
  unsigned needed = sizes.all(), there = sizes.there;
  if (needed <= there)
    return std::nullopt;
  return "C2: a consumer needs " + str(needed) + " registers a thread (S " +
         str(sizes.scores) + ", O " + str(sizes.outputs) + " and P " +
         str(sizes.probabilities) +
         (sizes.captured ? ", for code on scores " + str(sizes.captured) : "") +
         "), " + str(there) + " are there beside what softmax " +
         (c.problem.score ? "and code on scores need" : "needs") + "; take " +
         anyOf(waysToFit(c, sizes.outputs));
}

Complaint fmha::schedule::checkWgmmaPlacement(const Case &c) {
  const Schedule &s = c.schedule;
  switch (s.pPlacement) {
  case PPlacement::Registers:
    return std::nullopt;
  case PPlacement::Smem:
    if (s.ctasPerSm == 1)
      return std::nullopt;
    return "C5: expected p_placement to be registers with ctas_per_sm = " +
           str(s.ctasPerSm) +
           ": shared memory is what CTAs of an SM are short of; take "
           "ctas_per_sm = 1";
  case PPlacement::Auto:
    return "C5: expected p_placement to be registers or smem in a schedule, "
           "got auto: the planner decides it, so leave the schedule out";
  case PPlacement::Tmem:
    break;
  }
  return "C5: p_placement tmem cannot be had on " + s.target +
         ", which has no tensor memory; take registers or smem";
}

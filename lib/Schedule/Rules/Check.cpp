//===- Check.cpp - Check a schedule for a problem ---------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "CheckRules.h"
#include "Model/Footprint.h"

#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Target/Target.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

Violation fmha::schedule::checkTarget(const Case &c) {
  const std::string &name = c.schedule.target;
  if (!c.gpu)
    return "expected a known target (" + target::supportedNames() +
           "), got \"" + name + '"';
  if (!c.gpu->supported)
    return "attention cannot be compiled for " + name + ": " + c.gpu->reason +
           "; take one of " + target::supportedNames();
  return std::nullopt;
}

/// Returns the types that the family takes: "f16 or bf16".
static std::string typesOf(const Family &family) {
  std::vector<std::string> names;
  Problem problem;
  for (size_t n = 0; n < std::size(dataTypeNames); ++n) {
    problem.dtype = DataType(n);
    problem.kvE4M3 = problem.dtype == DataType::E4M3;
    if (family.takes(problem))
      names.push_back(std::string(dataTypeNames[n]));
  }
  return anyOf(names);
}

/// A feature that not every family has.
struct RareFeature {
  bool Problem::*has;
  std::string_view expected, got;
};

constexpr RareFeature rareFeatures[] = {
    {&Problem::kvE4M3, "k and v of 16 bits", "e4m3; take family = fma"},
    {&Problem::keyVectors, "keys with a whole head dim",
     "keys in vectors of 16 bytes; take family = fma"}};

/// Checks that the target can convert e4m3, which every family does.
static Violation checkConversions(const Case &c) {
  bool has = c.problem.kvDtype() == DataType::E4M3 ||
             c.problem.dtype == DataType::E4M3;
  if (!has || !c.gpu || c.gpu->hasE4M3Conversions)
    return std::nullopt;
  return "expected q, k and v of f32 or 16 bits on " + c.schedule.target +
         ", which has no conversions of e4m3, got e4m3; convert the tensors to "
         "16 bits, or take sm_89 or later";
}

Violation fmha::schedule::checkDtype(const Case &c) {
  if (Violation found = checkConversions(c))
    return found;
  if (c.family.takes(c.problem))
    return std::nullopt;
  auto message = [&](std::string_view expected, std::string_view got) {
    return "expected " + std::string(expected) +
           " with family = " + std::string(stringify(c.schedule.family)) +
           ", got " + std::string(got);
  };
  Problem sameOut = c.problem;
  sameOut.setOutDtype(sameOut.dtype);
  if (c.family.takes(sameOut))
    return message("an output of " + std::string(stringify(sameOut.dtype)) +
                       ", the type of q, or f32",
                   std::string(stringify(c.problem.outDtype())) +
                       "; take that, or family = fma");
  for (const RareFeature &feature : rareFeatures) {
    Problem without = c.problem;
    without.*feature.has = false;
    if (c.family.takes(without))
      return message(feature.expected, feature.got);
  }
  return message("q, k and v of " + typesOf(c.family),
                 std::string(stringify(c.problem.dtype)) +
                     "; take family = fma");
}

/// Proposes the multiples of 8 on both sides of `dim`: "take 56 or 64".
static std::string nearestDims(unsigned dim) {
  constexpr unsigned unit = 8;
  unsigned below = dim / unit * unit;
  return "take " + (below ? str(below) + " or " : "") +
         str(uint64_t(below) + unit);
}

Violation fmha::schedule::checkHeadDims(const Case &c) {
  for (auto [name, dim] : {std::pair("head_dim", c.problem.headDim),
                           std::pair("head_dim_v", c.problem.headDimV)})
    if (dim == 0 || dim % 8 != 0)
      return "expected " + std::string(name) +
             " to be a positive multiple of 8, since rows are copied 16 bytes "
             "at a time, got " +
             str(dim) + "; " + nearestDims(dim);
  if (c.problem.vInK && c.problem.headDimV > c.problem.headDim)
    return "expected head_dim_v of a V that lies in K to be at most head_dim, "
           "got " +
           str(c.problem.headDimV) + " and " + str(c.problem.headDim);
  return std::nullopt;
}

Violation fmha::schedule::checkListedKeys(const Case &c) {
  const Schedule &s = c.schedule;
  if (!c.problem.topk || (s.qTiles == 1 && s.packHeads == s.qTileRows))
    return std::nullopt;
  return "expected q_tiles = 1 and pack_heads = q_tile_rows with topk, since "
         "the rows of a tile read the keys of one query, got " +
         str(s.qTiles) + ", " + str(s.packHeads) + " and " + str(s.qTileRows) +
         "; leave them out";
}

Violation fmha::schedule::checkListedBlocks(const Case &c) {
  const Schedule &s = c.schedule;
  if (!c.problem.kvIndices)
    return std::nullopt;
  auto expected = [](const std::string &what, uint64_t got,
                     const std::string &way) -> Violation {
    return "expected " + what + ", got " + str(got) + "; " + way;
  };
  if (s.packHeads != 1)
    return expected("pack_heads = 1 with blocks", s.packHeads, "leave it out");
  if (s.splits != 1)
    return expected("splits = 1 with blocks", s.splits, "leave it out");
  unsigned keys = c.problem.blockKeys, rows = s.qTiles * queriesOfTile(s);
  if (keys % s.kvBlock != 0)
    return expected("kv_block to divide the " + str(keys) + " keys of a block",
                    s.kvBlock,
                    "take a divisor, or blocks of a multiple of " +
                        str(leastKeys) + " keys");
  constexpr unsigned mostLists = 16;
  unsigned listed = c.problem.blockRows;
  bool divides = listed % rows == 0;
  if (divides || (rows % listed == 0 && rows / listed <= mostLists))
    return std::nullopt;
  return expected("the rows of a CTA to divide the " + str(listed) +
                      " rows of a block, or to be a multiple of them of at "
                      "most " +
                      str(mostLists),
                  rows, "take other q_tiles, or blocks of a power of two rows");
}

Violation fmha::schedule::checkNewKeys(const Case &c) {
  const Schedule &s = c.schedule;
  if (!c.problem.keyNew)
    return std::nullopt;
  // Plain threads evaluate no code on scores, and fmha.append takes no e4m3.
  std::string others = c.problem.score ? "" : "family = fma, ";
  others += c.problem.kvE4M3 ? "or write the caches before attention"
                             : "or append by fmha.append before attention";
  auto expected = [&](const std::string &what, const std::string &got,
                      const std::string &way) -> Violation {
    return "expected " + what + " with key_new, since no CTA may read keys " +
           "that another one writes, got " + got + "; take " + way + others;
  };
  // A host checks the launch, which may be unknown.
  unsigned group = groupHint(c.problem);
  if (s.packHeads < group)
    return expected("pack_heads of at least " + str(group) +
                        ", the query heads of a KV head,",
                    str(s.packHeads),
                    "pack_heads = " + str(std::bit_ceil(group)) + ", ");
  uint64_t rows = uint64_t(c.problem.qLenHint) * s.packHeads;
  if (uint64_t there = uint64_t(s.qTiles) * s.qTileRows; rows > there)
    return expected("the " + str(rows) +
                        " rows of all queries and packed heads in the query "
                        "tiles of one CTA",
                    str(there) + " rows", "more query tiles, ");
  if (unsigned passes = outputPasses(c.problem, s); passes > 1)
    return expected("all columns of the output (o_columns) in one CTA",
                    str(s.oColumns), "o_columns = 0, ");
  if (s.scheduler != Scheduler::Single)
    return expected("scheduler = single", std::string(stringify(s.scheduler)),
                    "scheduler = single, ");
  return std::nullopt;
}

Violation fmha::schedule::checkCtaGroup(const Case &c) {
  if (c.schedule.ctaGroup == 1)
    return std::nullopt;
  return "expected cta_group to be 1, got " + str(c.schedule.ctaGroup) +
         "; a pair of CTAs needs products in tensor memory";
}

std::string fmha::schedule::withConversion(std::string_view expected,
                                           std::string_view got) {
  return "expected " + std::string(expected) + " with kv_copy = convert, got " +
         std::string(got);
}

/// Checks messages of K and V that threads convert, whichever family takes
/// them.
static Violation checkConvertedTiles(const Case &c) {
  constexpr unsigned numbersOfLoad = 16, rowsOfStep = 32, mostThreads = 128;
  const Schedule &s = c.schedule;
  const Problem &p = c.problem;
  if (p.headDim % numbersOfLoad || p.headDimV % numbersOfLoad)
    return withConversion("head dims to be multiples of 16 (16 bytes of e4m3)",
                          str(p.headDim) + " and " + str(p.headDimV));
  if (s.kvBlock % rowsOfStep)
    return withConversion("kv_block to be a multiple of 32", str(s.kvBlock));
  if (p.scalePerPage && s.kvBlock > mostThreads)
    return withConversion(
        "kv_block of at most 128 with a scale per page, since "
        "each thread of the conversion reads the scale of "
        "one key,",
        str(s.kvBlock));
  if (s.valueChunk % rowsOfStep)
    return withConversion("value_chunk to be a multiple of 32",
                          str(s.valueChunk));
  return std::nullopt;
}

Violation fmha::schedule::checkKvCopy(const Case &c) {
  KvCopy copy = c.schedule.kvCopy;
  bool converts = copy == KvCopy::Convert;
  if (converts != c.problem.kvE4M3)
    return "expected kv_copy = convert if and only if K and V are of e4m3, "
           "got " +
           std::string(stringify(copy)) + " and K of " +
           std::string(stringify(c.problem.kvDtype())) +
           (converts ? "; leave kv_copy out" : "; take kv_copy = convert");
  if (copiesKeysByThreads(c.schedule) && c.problem.source2)
    return "expected one KV segment with kv_copy = " +
           std::string(stringify(copy)) + ", got two; " +
           (converts ? "compute each with row_max and row_sum and combine them "
                       "by fmha.merge"
                     : "take kv_copy = tma");
  return converts ? checkConvertedTiles(c) : std::nullopt;
}

Violation fmha::schedule::checkSplitBy(const Case &c) {
  if (c.schedule.splitBy == SplitBy::Sequence)
    return std::nullopt;
  auto expected = [](const char *what, const char *got) -> Violation {
    return "expected " + std::string(what) + " with split_by = length, got " +
           got + "; take split_by = sequence";
  };
  if (!c.problem.kvLens)
    return expected("lengths of sequences (kv_lens)", "none");
  if (c.problem.cuSeqlensQ)
    return expected("queries of one length", "packed sequences (cu_seqlens_q)");
  if (c.problem.topk)
    return expected("keys that are not listed", "topk");
  if (c.schedule.scheduler != Scheduler::Single)
    return expected("scheduler = single", "a loop over tiles");
  return std::nullopt;
}

/// Returns the fewest kv_stages. In a shared ring the MMA role holds a message
/// of V while it waits for K. If it issues Q.K of the next block first, the
/// ring must hold all messages of K and V of a block.
static unsigned leastStages(const Problem &problem, const Schedule &s) {
  if (s.vStages)
    return 1;
  if (s.sStages == 1 || s.shareKv)
    return 2;
  Rings rings = ringsOf(problem, s);
  return rings.keyMessages + rings.valueMessages;
}

static Violation checkStages(const Problem &problem, const Schedule &s) {
  unsigned least = leastStages(problem, s);
  if (s.kvStages && s.kvStages < least && s.sStages > 1)
    return "expected kv_stages of at least " + str(least) +
           " with s_stages = 2, since a ring of K and V holds all messages of "
           "a block, got " +
           str(s.kvStages) + "; take v_stages = 1, or s_stages = 1";
  if (s.kvStages && s.kvStages < least)
    return "expected at least 2 KV stages, since products read a V block while "
           "the next K block arrives; got " +
           str(s.kvStages);
  if (s.kvStages == 0)
    return "expected at least 1 stage of K, got 0";
  // A full and a free mbarrier per stage, and those of a tile's channels.
  uint64_t perTile = 10 + (s.pSlices - 1) + (s.sStages - 1) * (s.pSlices + 2);
  uint64_t ofFactors = problem.scalePerPage ? factorStages : 0;
  uint64_t barriers =
      2 * (uint64_t(s.kvStages) + s.vStages + ofFactors) + perTile * s.qTiles;
  if (barriers > barrierSlots)
    return str(uint64_t(s.kvStages) + s.vStages) + " stages of K and V need " +
           str(barriers) + " mbarriers, " + str(barrierSlots) +
           " are kept; take fewer " + (s.kvStages > least ? "KV" : "V") +
           " stages";
  return std::nullopt;
}

std::string fmha::schedule::anyOf(const std::vector<std::string> &ways) {
  std::string text = ways.front();
  for (size_t i = 1; i < ways.size(); ++i)
    text += (i + 1 == ways.size() ? " or " : ", ") + ways[i];
  return text;
}

/// Proposes one change of each kind that needs less shared memory.
static std::string smallerInSmem(const Case &c) {
  const Schedule &s = c.schedule;
  const FamilyRules &rules = c.family.rules;
  std::vector<std::string> ways;
  auto offer = [&](bool possible, const char *way) {
    if (possible)
      ways.push_back(way);
  };
  offer(s.kvStages > leastStages(c.problem, s), "fewer KV stages");
  offer(s.vStages > 1, "fewer V stages");
  offer(s.ctasPerSm > 1, "fewer ctas_per_sm");
  offer(s.qTiles > 1, "fewer query tiles");
  bool chunks = rules.loadsChunks && !s.shareKv && s.qTiles == 1;
  unsigned keyColumns = s.keyChunk ? s.keyChunk : c.problem.headDim;
  unsigned keys = s.valueChunk ? s.valueChunk : s.kvBlock;
  offer(chunks && keyColumns > panelColumns, "a smaller key_chunk");
  offer(chunks && keys > 16, "a smaller value_chunk");
  offer((!rules.loadsChunks || ways.empty()) && s.kvBlock > leastKeys,
        "a smaller kv_block");
  offer(ways.empty(), "a narrower head");
  return anyOf(ways);
}

Violation fmha::schedule::checkSmem(const Case &c) {
  const Schedule &s = c.schedule;
  Footprint sizes(c.problem, s);
  uint64_t needed = sizes.smemBytes(s), there = smemOfCta(*c.gpu, s);
  if (needed <= there)
    return checkStages(c.problem, s);
  if (c.terse)
    return "";
  std::string text = tiles(s) + " of " +
                     str(std::max(sizes.qBytes, sizes.outBytes)) + " bytes, " +
                     counted(s.kvStages, "KV stage") + " of " +
                     str(sizes.kvStageBytes) + " bytes";
  if (s.vStages)
    text += ", " + counted(s.vStages, "V stage") + " of " +
            str(sizes.vStageBytes) + " bytes";
  if (s.pPlacement == PPlacement::Smem)
    text += ", P of " + str(sizes.pBytes) + " bytes per tile";
  if (sizes.outStages)
    text += ", " + counted(sizes.outStages, "staged output") + " of " +
            str(sizes.outBytes) + " bytes";
  return text + " and the small regions need " + str(needed) +
         " bytes of shared memory, " + str(there) + " are available" +
         (s.ctasPerSm > 1 ? " to each of " + str(s.ctasPerSm) + " CTAs" : "") +
         " (" + str(needed - there) + " too many); take " + smallerInSmem(c);
}

double fmha::schedule::mostGrowth(const Problem &problem) {
  constexpr double range = 15, ofScale = 8;
  if (problem.dtype != DataType::F16)
    return mostPOffset;
  return problem.scalePerPage ? range - ofScale : range;
}

/// Prints six significant digits, enough for every permitted threshold.
static std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Checks how far P grows without a rescale: to 2^(threshold + offset).
Violation fmha::schedule::checkThreshold(const Case &c) {
  double limit = mostGrowth(c.problem);
  double got = c.schedule.rescaleThreshold;
  if (c.problem.needsTrueMax() && got != 0)
    return "expected rescale_threshold = 0 with row_max, row_sum, an "
           "unnormalized output or splits, which depend on the true maximum, "
           "got " +
           digits(got) + "; write rescale_threshold = 0.0";
  if (!(std::isfinite(got) && got >= 0 && got <= limit))
    return "expected rescale_threshold from 0 to " + str(uint64_t(limit)) +
           " for " + std::string(stringify(c.problem.dtype)) + ", got " +
           digits(got) + ": P grows to 2^rescale_threshold";
  double most = limit - got;
  if (c.schedule.pOffset > most)
    return "expected p_offset of at most " + str(uint64_t(most)) + " for " +
           std::string(stringify(c.problem.dtype)) +
           " and this rescale_threshold, got " + str(c.schedule.pOffset) +
           ": P grows to 2^(rescale_threshold + p_offset)" +
           (got > 0 ? "; take a lower rescale_threshold" : "");
  return std::nullopt;
}

static std::string only(const char *field, const char *value,
                        const std::string &got) {
  return std::string("expected ") + field + " to be " + value +
         ", since no pass implements anything else; got " + got + "; leave " +
         field + " out";
}

/// Checks that messages are whole panels of K and whole K steps of V, and that
/// a head_dim_v tile is whole boxes of the store.
Violation fmha::schedule::checkChunks(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.keyChunk % panelColumns)
    return "expected key_chunk to be a multiple of 64, the columns of a panel, "
           "got " +
           str(s.keyChunk);
  uint64_t keyColumns = panelColumns * panelsOf(c.problem.headDim);
  if (s.keyChunk > keyColumns)
    return "expected key_chunk to be at most " + str(keyColumns) +
           ", head_dim in whole panels, got " + str(s.keyChunk) +
           "; 0 brings all columns";
  constexpr unsigned keysPerStep = 16;
  if (s.valueChunk && (s.valueChunk % keysPerStep || s.kvBlock % s.valueChunk))
    return "expected value_chunk to be a multiple of 16 that divides kv_block, "
           "got " +
           str(s.valueChunk) + " in " + str(s.kvBlock);
  if (outputPasses(c.problem, s) > 1 && s.oColumns % panelColumns)
    return "expected o_columns to be a multiple of 64, the columns of a panel, "
           "got " +
           str(s.oColumns);
  // The attribute holds the planner's choice, so schedule.S12 applies.
  if (s.oColumns % keysPerStep)
    return "expected o_columns to be a multiple of 16, got " + str(s.oColumns) +
           "; 0 computes all columns";
  if (unsigned all = paddedColumns(c.problem.headDimV); s.oColumns > all)
    return "expected o_columns to be at most " + str(all) +
           ", head_dim_v in whole steps of an MMA, got " + str(s.oColumns) +
           "; 0 computes all columns";
  return std::nullopt;
}

Violation fmha::schedule::checkSharing(const Case &c) {
  const Schedule &s = c.schedule;
  if (!s.shareKv)
    return std::nullopt;
  if (!c.problem.vInK)
    return "expected share_kv to be false, since V is no view of the first "
           "columns of K; got true";
  if (s.vStages || s.keyChunk || s.valueChunk)
    return "expected v_stages, key_chunk and value_chunk to be 0 with "
           "share_kv, since a block is one message of one ring; got " +
           str(s.vStages) + ", " + str(s.keyChunk) + " and " +
           str(s.valueChunk);
  if (outputPasses(c.problem, s) > 1)
    return "expected o_columns to be 0 or head_dim_v with share_kv, since no "
           "pass builds fewer; got " +
           str(s.oColumns);
  return std::nullopt;
}

/// Checks that the product of a slice has whole K steps.
Violation fmha::schedule::checkSlices(const Case &c) {
  constexpr unsigned keysPerStep = 16;
  unsigned keys = c.schedule.kvBlock, got = c.schedule.pSlices;
  auto cuts = [&](unsigned n) {
    return n && keys % n == 0 && keys / n % keysPerStep == 0;
  };
  if (cuts(got))
    return std::nullopt;
  std::string list = "1";
  for (unsigned n = 2; n <= keys / keysPerStep; ++n)
    if (cuts(n))
      list += ", " + str(n);
  return "expected p_slices to cut kv_block in equal slices of a multiple of "
         "16 keys, the K step of an MMA, got " +
         str(got) + " in " + str(keys) + "; take one of " + list;
}

/// Checks the inner extent of an instruction.
static Violation checkMmaK(const Case &c) {
  constexpr unsigned whole = 16, half = 8;
  bool hasHalf = c.family.rules.hasShortProducts;
  unsigned got = c.schedule.mmaK;
  if (got == whole || (got == half && hasHalf))
    return std::nullopt;
  return "expected mma_k to be " + std::string(hasHalf ? "16 or 8" : "16") +
         " on " + c.schedule.target + ", got " + str(got) + "; take 16";
}

Violation fmha::schedule::checkFeatures(const Case &c) {
  const Schedule &s = c.schedule;
  if (s.scheduler > Scheduler::Dynamic)
    return only("scheduler", "single, static or dynamic",
                str(unsigned(s.scheduler)));
  if (s.kvCopy > KvCopy::Gather4)
    return only("kv_copy", "tma, cp_async, convert or gather4",
                str(unsigned(s.kvCopy)));
  if (s.splitBy > SplitBy::Length)
    return only("split_by", "sequence or length", str(unsigned(s.splitBy)));
  if (s.mmaOrder > MmaOrder::Issue)
    return only("mma_order", "commit or issue", str(unsigned(s.mmaOrder)));
  if (Violation violation = checkMmaK(c))
    return violation;
  if (s.splits == 0 || s.splits > mostSplits)
    return "expected splits to be from 1 to " + str(mostSplits) +
           ", since the parts of a row have to be combined; got " +
           str(s.splits);
  return std::nullopt;
}

std::optional<RuleViolation>
fmha::schedule::firstViolation(const Problem &problem, const Schedule &schedule,
                               Rules rules, bool terse) {
  std::optional<Problem> parts;
  if (schedule.splits > 1)
    parts = kernelProblem(problem, schedule);
  const target::Target *gpu = target::findTarget(schedule.target);
  Case c{parts ? *parts : problem, schedule, gpu, familyOf(schedule), terse};
  unsigned place = 0;
  for (const auto &[number, violation] : c.family.rules.entries) {
    ++place;
    // Every rule needs the target.
    if (!(rules & rule(number)) && c.gpu)
      continue;
    if (Violation text = violation(c))
      return RuleViolation{"plan.C" + str(number) + ": " + *text, number,
                           place};
  }
  return std::nullopt;
}

std::optional<std::string> fmha::schedule::check(const Problem &problem,
                                                 const Schedule &schedule) {
  std::optional<RuleViolation> found = firstViolation(problem, schedule, ~0u);
  if (!found)
    return std::nullopt;
  return std::move(found->text);
}

//===- Explain.cpp - The report of a plan -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Report/Explain.h"

#include "fmha/Schedule/Model/Emulation.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Target/Target.h"

#include "Cost/FamilyCost.h"
#include "Model/Footprint.h"
#include "Model/Text.h"
#include "Plan/Axes.h"

#include <algorithm>
#include <charconv>
#include <iterator>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// One character row of a drawing: cells [begin, end) with a label each.
class Strip {
public:
  explicit Strip(unsigned width) : text(width, ' ') {}

  /// "|label     " between the two borders; the label is cut to fit.
  void box(unsigned begin, unsigned end, const std::string &label) {
    put(begin, '|');
    put(end - 1, '|');
    for (unsigned i = begin + 1; i + 1 < end; ++i)
      put(i, i - begin - 1 < label.size() ? label[i - begin - 1] : ' ');
  }
  void mark(unsigned at, const std::string &label) {
    for (unsigned i = 0; i < label.size(); ++i)
      put(at + i, label[i]);
  }
  std::string line(const std::string &title) const {
    size_t last = text.find_last_not_of(' ');
    return "  " + padRight(title, 8) +
           (last == std::string::npos ? "" : text.substr(0, last + 1)) + '\n';
  }

private:
  void put(unsigned at, char c) {
    if (at < text.size())
      text[at] = c;
  }
  std::string text;
};

} // namespace

std::string fmha::schedule::drawTmem(const MemoryMap &map) {
  // 8 columns per character: 512 columns take 64 characters, a narrow region of
  // 64 columns still shows its name.
  constexpr unsigned perCharacter = 8, all = 512;
  constexpr unsigned width = all / perCharacter + 1;
  Strip ruler(width + 4), own(width), otherLanes(width), aliases(width);
  for (unsigned column = 0; column <= all; column += 64)
    ruler.mark(column / perCharacter, str(column));
  for (const TmemRegion &region : map.tmem) {
    Strip &strip = !region.aliases.empty() ? aliases
                   : region.lane           ? otherLanes
                                           : own;
    for (unsigned stage = 0; stage < region.stages; ++stage) {
      unsigned begin = region.column + stage * region.pitch;
      std::string suffix = region.stages > 1 ? "." + str(stage) : "";
      strip.box(begin / perCharacter,
                (begin + region.columns) / perCharacter + 1,
                region.name + suffix);
    }
  }
  std::string text = "tensor memory: " + str(map.tmemColumns) +
                     " of 512 columns allocated, one character = 8 columns\n";
  text += ruler.line("column") + own.line("regions");
  if (std::any_of(map.tmem.begin(), map.tmem.end(),
                  [](const TmemRegion &r) { return r.lane != 0; }))
    text += otherLanes.line("lane 16");
  if (std::any_of(map.tmem.begin(), map.tmem.end(),
                  [](const TmemRegion &r) { return !r.aliases.empty(); }))
    text += aliases.line("over S");
  return text;
}

std::string fmha::schedule::drawSmem(const MemoryMap &map,
                                     unsigned capacityBytes) {
  constexpr unsigned barWidth = 40;
  auto bar = [&](uint64_t bytes) {
    uint64_t cells = (bytes * barWidth + capacityBytes / 2) / capacityBytes;
    return std::string(cells, '#');
  };
  std::string text = "shared memory: " + str(map.smemBytes) + " of " +
                     str(capacityBytes) + " bytes\n";
  text += "  " + padLeft("offset", 7) + padLeft("bytes", 9) + "  region\n";
  for (const SmemRegion &region : map.smem) {
    uint64_t bytes = uint64_t(region.bytes) * region.stages;
    std::string name = region.name;
    if (region.stages > 1)
      name += " (" + str(region.stages) + " x " + str(region.bytes) + ")";
    if (!region.aliases.empty())
      name += " (over " + region.aliases + ")";
    text += "  " + padLeft(str(region.offset), 7) + padLeft(str(bytes), 9) +
            "  " + padRight(name, 18);
    text += (region.aliases.empty() ? bar(bytes) : "") + '\n';
  }
  uint64_t unused = capacityBytes - std::min(map.smemBytes, capacityBytes);
  return text + "  " + padLeft(str(map.smemBytes), 7) +
         padLeft(str(unused), 9) + "  " + padRight("unused", 18) +
         std::string(bar(unused).size(), '.') + '\n';
}

std::string fmha::schedule::tabulateRoles(const Schedule &schedule) {
  std::string text = "roles: registers per thread, ";
  text += schedule.roles.size() > 1 ? "set by setmaxnreg\n" : "at most\n";
  text += "  role         warps   registers\n";
  unsigned total = 0;
  for (const Role &role : schedule.roles) {
    unsigned last = role.firstWarp + role.warps - 1;
    std::string warps = str(role.firstWarp);
    if (last != role.firstWarp)
      warps += "-" + str(last);
    text += "  " + padRight(role.name, 13) + padRight(warps, 8) +
            padLeft(str(role.registers), 9) + '\n';
    total += role.registers * role.warps * 32;
  }
  return text + "  sum over all threads: " + str(total) + " registers\n";
}

/// Returns how many CTAs share keys.
static std::string describeSplits(const Schedule &s) {
  return str(s.splits) +
         (splitsByLength(s)
              ? " slots per sequence, of which long sequences have more"
              : " CTAs share the KV blocks of a row block") +
         ", and a second kernel merges their outputs";
}

/// Returns ": a launch takes 812345 clk, 890123 with one tile per CTA
/// (modeled)", or nothing if no launch is known or CTAs do not run ahead.
static std::string savedByRunningAhead(const Problem &problem,
                                       const Schedule &s) {
  Schedule single = s;
  single.scheduler = Scheduler::Single;
  double clocks = modelCost(problem, s).launchClocks;
  if (familyOf(s).cost.measured || clocks == 0 || !runsAhead(problem, s))
    return "";
  return ": a launch takes " + rounded(clocks) + " clk, " +
         rounded(modelCost(problem, single).launchClocks) +
         " with one tile per CTA (modeled)";
}

/// Describes which output tiles a CTA computes. The difference has not been
/// measured on targets with tensor memory.
static std::string describeScheduler(const Problem &problem,
                                     const Schedule &s) {
  const target::Target *gpu = target::findTarget(s.target);
  std::string atMost =
      "at most " + str(gpu ? gpu->sms * s.ctasPerSm : 0) + " CTAs, " +
      (s.ctasPerSm == 1 ? "one" : str(s.ctasPerSm)) + " per SM";
  switch (s.scheduler) {
  case Scheduler::Single:
    return std::string("single: one tile per CTA") +
           (familyOf(s).cost.measured ? "" : " (others are only modeled)");
  case Scheduler::Static:
    return "static: " + atMost + ", compute every n-th tile" +
           savedByRunningAhead(problem, s);
  case Scheduler::Dynamic:
    return drawsTiles(s)
               ? "dynamic: " + atMost + ", draw tiles from a counter"
               : "dynamic: a CTA takes over tiles of CTAs not started yet";
  }
  return "unknown";
}

/// Lists the additional outputs, and an unusual form of the output.
static std::string outputsOf(const Problem &problem) {
  std::string text = problem.lse ? ", with LSE" : "";
  if (problem.rowMax)
    text += ", with row maxima";
  if (problem.rowSum)
    text += ", with row sums";
  if (problem.unnormalised)
    text += ", unnormalised";
  if (problem.outDtype() != problem.dtype || problem.outF32)
    text += ", output in " + std::string(stringify(problem.outDtype()));
  return text;
}

/// Returns how many queries of a tile exist, if known to be fewer.
static std::string liveQueries(const Problem &problem, const Schedule &s) {
  unsigned there = problem.qLenHint;
  bool fewer = there && there < queriesOfTile(s);
  return fewer ? ", " + str(there) + " of them used" : "";
}

/// Returns the heads of the group, if a chunk has room for more.
static std::string liveHeads(const Problem &problem, const Schedule &s) {
  unsigned group = groupHint(problem);
  return group && group < s.packHeads ? " (which has " + str(group) + ")" : "";
}

std::string_view fmha::schedule::familyName(const Schedule &schedule) {
  return familyOf(schedule).name;
}

/// Returns the type of Q, and that of K and V if it is another one.
static std::string typesOf(const Problem &problem) {
  std::string text(stringify(problem.dtype));
  if (problem.kvDtype() != problem.dtype)
    text += ", k and v of " + std::string(stringify(problem.kvDtype()));
  return text;
}

/// Returns ": 24 of 128 of a thread", of a KV block, since shares are rounded
/// to pairs of a slice; nothing where threads do not have whole rows.
static std::string emittedShare(const Schedule &s) {
  constexpr unsigned wholeRows = 128;
  if (!familyOf(s).kernel.accumulatesInTensorMemory)
    return "";
  unsigned slice = s.kvBlock * s.qTileRows / wholeRows / s.pSlices;
  unsigned pairs = emulatedPairs(slice, s.exp2EmulatedPercent);
  return ": " + str(2 * pairs * s.pSlices) + " of " + str(slice * s.pSlices) +
         " of a thread";
}

static std::string summarize(const Problem &problem, const Schedule &s) {
  auto line = [](const std::string &what, const std::string &value) {
    return "  " + padRight(what, 19) + value + '\n';
  };
  std::string text = "schedule for " + s.target + ": " + typesOf(problem) +
                     ", head_dim " + str(problem.headDim);
  if (problem.headDimV != problem.headDim)
    text += ", head_dim_v " + str(problem.headDimV);
  text += std::string(problem.vInK ? ", V in K" : "") + ", mask " +
          stringify(problem.mask) + outputsOf(problem);
  if (problem.source2)
    text += ", a second KV segment with mask " + stringify(problem.mask2);
  text += '\n';
  text += line("family", std::string(familyName(s)));
  if (s.ctaGroup > 1)
    text += line("cta_group", str(s.ctaGroup) + ", each loads half of K and V");
  text += line("q_tiles", str(s.qTiles) + " x " + str(s.qTileRows) + " rows");
  if (s.packHeads > 1)
    text += line("pack_heads",
                 str(s.packHeads) + " query heads of a group" +
                     liveHeads(problem, s) + " x " + str(queriesOfTile(s)) +
                     " queries fill a tile" + liveQueries(problem, s));
  std::string stages =
      !familyOf(s).candidates.ringBytes ? "which threads load to registers"
      : s.vStages
          ? str(s.kvStages) + " stages of K and " + str(s.vStages) + " of V"
          : str(s.kvStages) + " stages shared by K and V";
  text += line("kv_block", str(s.kvBlock) + " keys, " + stages);
  if (s.sStages > 1)
    text += line("s_stages", str(s.sStages) + " tiles of S in tensor memory");
  for (std::string_view name :
       {"key_chunk", "value_chunk", "share_kv", "o_columns"})
    for (const ScheduleField &field : scheduleFields())
      if (field.name == name && field.get(s))
        text += line(std::string(name), field.print(field.get(s)));
  if (s.splits > 1)
    text += line("splits", describeSplits(s));
  std::string slices =
      s.pSlices > 1 ? ", in " + str(s.pSlices) + " slices" : "";
  text += line("p_placement", std::string(stringify(s.pPlacement)) + slices);
  if (s.ctasPerSm > 1)
    text += line("ctas_per_sm", str(s.ctasPerSm) +
                                    " CTAs share an SM: each works while "
                                    "others wait");
  text += line("scheduler", describeScheduler(problem, s));
  // The shortest digits that parse to the same number.
  char threshold[32];
  *std::to_chars(threshold, std::end(threshold) - 1, s.rescaleThreshold).ptr =
      '\0';
  text += line("rescale_threshold",
               std::string("2^") + threshold + " growth of a row's maximum");
  if (s.exp2EmulatedPercent)
    text += line("exp2_emulated",
                 str(s.exp2EmulatedPercent) + " % of the exponentials" +
                     emittedShare(s) + std::string(familyOf(s).cost.emulation));
  if (s.pOffset)
    text += line("p_offset", "P and O are 2^" + str(s.pOffset) +
                                 " times as large, until O is written");
  return text;
}

std::string fmha::schedule::explain(const Problem &problem, const Plan &plan) {
  const target::Target *gpu = target::findTarget(plan.schedule.target);
  unsigned capacity =
      gpu ? unsigned(smemOfCta(*gpu, plan.schedule)) : plan.map.smemBytes;
  std::string text = summarize(problem, plan.schedule);
  text += wrap("why: " + plan.reason, 5);
  text += describeLaunch(problem, plan);
  text += listSplits(problem, plan) + '\n';
  text += tabulateLoads(problem, plan) + '\n';
  text += tabulateRoles(plan.schedule) + '\n';
  text += tabulateResources(problem, plan) + '\n';
  if (!plan.map.tmem.empty())
    text += drawTmem(plan.map) + '\n';
  text += drawSmem(plan.map, capacity);
  for (const std::string &list :
       {listRunnersUp(problem, plan), listByRequest(problem, plan),
        listRejected(problem, plan)})
    text += (list.empty() ? "" : "\n") + list;
  return text;
}

std::string fmha::schedule::explainRejection(const std::string &target,
                                             const std::string &reason) {
  return "schedule for " + target + ": none\n  " + padRight("family", 19) +
         "none\n" + wrap("why: " + reason, 5);
}

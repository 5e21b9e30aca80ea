//===- Candidates.cpp - Schedules that a planner can choose from *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "Model/Footprint.h"
#include "Rules/Check.h"

#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

namespace {

using Values = std::vector<unsigned>;

/// One level of the tree. `decides` are the rules of check() that depend only
/// on fields of this level and of those above it.
struct Axis {
  Values values;
  Rules decides;
  void (*set)(Schedule &, unsigned);
};

const ScheduleField *fieldOf(std::string_view name) {
  for (const ScheduleField &field : scheduleFields())
    if (field.name == name)
      return &field;
  return nullptr;
}

class Search {
public:
  Search(const Problem &problem, std::string_view target,
         const Overrides &overrides)
      : problem(problem), overrides(overrides),
        gpu(target::findTarget(target)) {
    start.target = target;
    start.kvStages = leastStages;
    if (gpu && gpu->hasWgmma) {
      start.qTileRows = 64;
      start.pPlacement = PPlacement::Registers;
    }
    // A requested value holds for a branch from its root on.
    for (const ScheduleField &field : scheduleFields())
      if (std::optional<unsigned> wanted = overrides[field.choice])
        field.set(start, *wanted);
    start.packHeads = std::max(start.packHeads, 1u);
    start.rescaleThreshold = usualThreshold(problem, start);
    buildAxes();
  }

  Candidates run() {
    descend(start, 0, 0);
    return std::move(result);
  }

private:
  void buildAxes();
  void buildWgmmaAxes();
  void packingAxis();
  /// Returns the numbers of heads to pack: 1 and, if lengths and group are
  /// known, those that divide the group, and the one that holds all of it.
  Values packings() const;
  /// Adds a level for the field of that name: the requested value, or `values`.
  void axis(std::string_view name, Values values, Rules decides);
  void descend(const Schedule &above, size_t level, Rules settledAbove);
  void consider(Schedule schedule);
  /// Deepens the rings of `schedule`. Returns the first schedule that the
  /// target cannot hold, or nothing if the rings reach their limit.
  std::optional<Schedule> chooseStages(Schedule &schedule) const;
  /// Removes one stage. Returns false if none is left to remove.
  bool shrinkRings(Schedule &schedule) const;
  /// Returns whether `rules` accept `schedule`, if needed with fewer stages.
  bool mend(Schedule &schedule, Rules rules) const;
  std::optional<Refusal> refusalOf(const Schedule &schedule,
                                   Rules rules = rulesWithoutRoles) const {
    return refusal(problem, schedule, rules, /*terse=*/true);
  }
  void reject(Schedule schedule, unsigned candidates = 1) {
    result.rejected.push_back({std::move(schedule), candidates});
  }

  const Problem &problem;
  const Overrides &overrides;
  const target::Target *gpu;
  Schedule start;
  std::vector<Axis> axes;
  /// The level below which the rows of a tile are known.
  size_t lastOfTiles = 0;
  /// Numbers of slices of P. They are not a level: rings do not depend on them.
  Values slices;
  Candidates result;
};

/// Returns 0 ("all") and the sizes of parts of `whole` to consider: powers of
/// two from `least` that are smaller, the large ones first.
Values parts(unsigned whole, unsigned least, unsigned most) {
  Values values = {0};
  for (unsigned part = most; part >= least; part /= 2)
    if (part < whole)
      values.push_back(part);
  return values;
}

} // namespace

void Search::axis(std::string_view name, Values values, Rules decides) {
  const ScheduleField *field = fieldOf(name);
  if (std::optional<unsigned> wanted = overrides[field->choice])
    values = {*wanted};
  axes.push_back({std::move(values), decides, field->set});
}

double fmha::schedule::usualThreshold(const Problem &problem,
                                      const Schedule &schedule) {
  if (kernelProblem(problem, schedule).needsTrueMax())
    return 0;
  // A factor on P leaves less range for its growth.
  return std::clamp(mostGrowth(problem.dtype) - double(schedule.pOffset), 0.0,
                    Schedule().rescaleThreshold);
}

Values Search::packings() const {
  constexpr unsigned most = 128, fullTile = 64;
  unsigned group = groupHint(problem),
           all = std::min(std::bit_ceil(group), most);
  if (overrides[Choice::PackHeads] == Overrides::wholeGroup)
    return {all};
  if (group <= 1 || !problem.qLenHint)
    return {1};
  // A tile takes as long with all heads of the group as with one. So packed
  // tiles are no slower if there are no more of them: if all rows fit one tile,
  // or the group divides a tile that one head does not fill.
  bool divides = std::has_single_bit(group) && problem.qLenHint < fullTile;
  if (!overrides[Choice::PackHeads] &&
      (divides || problem.qLenHint <= most / all))
    return {all};
  unsigned exact = group & (0 - group);
  if (exact >= fullTile)
    return {1, std::min(exact, most)};
  Values values = {1, all};
  if (exact > 1 && exact < all)
    values.push_back(exact);
  return values;
}

/// Builds the levels of the tree. Subtiles, separate rings and head_dim_v tiles
/// cost something, and are needed only if whole blocks are large.
void Search::buildAxes() {
  if (gpu && gpu->hasWgmma)
    return buildWgmmaAxes();
  constexpr unsigned wide = 128;
  bool wideKeys = problem.headDim > wide, wideValues = problem.headDimV > wide;
  bool uneven = problem.headDim != problem.headDimV;
  axes.push_back({{1, 2}, rule(1) | rule(4), [](Schedule &s, unsigned group) {
                    s.ctaGroup = group;
                  }});
  axis("q_tiles", {2, 1}, 0);
  axis("q_tile_rows", {128, 64}, 0);
  packingAxis();
  axis("kv_block", {128, 64, 256}, rule(3));
  axis("o_columns", wideValues ? parts(problem.headDimV, 64, 256) : Values{0},
       rule(2));
  Values placements = {unsigned(PPlacement::Tmem), unsigned(PPlacement::Smem),
                       unsigned(PPlacement::Registers)};
  if (overrides.pPlacement != PPlacement::Auto)
    placements = {unsigned(overrides.pPlacement)};
  axes.push_back({placements, rule(5), [](Schedule &s, unsigned placement) {
                    s.pPlacement = PPlacement(placement);
                  }});
  // plan.C8 requires subtiles or sharing for wide heads: decides key_chunk.
  axis("share_kv", problem.vInK ? Values{1, 0} : Values{0}, 0);
  axis("key_chunk", wideKeys ? parts(problem.headDim, 64, 256) : Values{0},
       rule(8));
  axis("value_chunk", wideValues ? parts(wide, 16, 64) : Values{0}, rule(8));
  bool ownRing = wideKeys || wideValues || uneven;
  axis("v_stages", ownRing ? Values{0, 1} : Values{0}, rule(8));
  // Eight would save an eighth of a product for four more hand-offs, and no
  // product of a tile takes that long.
  slices = {1, 2, 4};
  if (std::optional<unsigned> wanted = overrides[Choice::PSlices])
    slices = {*wanted};
}

void Search::packingAxis() {
  if (overrides[Choice::PackHeads].value_or(Overrides::wholeGroup) ==
      Overrides::wholeGroup)
    axes.push_back({packings(), 0, [](Schedule &s, unsigned heads) {
                      s.packHeads = std::min(heads, s.qTileRows);
                    }});
  lastOfTiles = axes.size() - 1;
}

bool fmha::schedule::hasTileWithoutRows(const Problem &problem,
                                        const Schedule &schedule) {
  return schedule.qTiles > 1 && problem.qLenHint != 0 &&
         problem.qLenHint <= queriesOfTile(schedule);
}

/// Builds the levels for wgmma. Query tiles are warpgroups; larger blocks have
/// fewer waits, up to the limit of registers or of rings of two stages each.
void Search::buildWgmmaAxes() {
  axis("q_tiles", {2, 3, 1}, rule(1));
  axis("q_tile_rows", {64}, rule(3));
  packingAxis();
  axis("o_columns",
       problem.headDimV > widestPass ? parts(problem.headDimV, 64, widestPass)
                                     : Values{0},
       0);
  axis("scheduler", wgmmaSchedulers(problem), 0);
  axis("ctas_per_sm", wgmmaCtasPerSm(problem, gpu->sms), rule(3));
  axis("kv_block", wgmmaKeyBlocks(problem), rule(3));
  Values placements = {unsigned(PPlacement::Registers),
                       unsigned(PPlacement::Smem)};
  if (overrides.pPlacement != PPlacement::Auto)
    placements = {unsigned(overrides.pPlacement)};
  axes.push_back(
      {placements, rule(5) | rule(2), [](Schedule &s, unsigned placement) {
         s.pPlacement = PPlacement(placement);
       }});
  for (std::string_view name :
       {"share_kv", "key_chunk", "value_chunk", "v_stages"})
    axis(name, {0}, rule(8));
  slices = {overrides[Choice::PSlices].value_or(1)};
}

void Search::descend(const Schedule &above, size_t level, Rules settledAbove) {
  if (level == axes.size())
    return consider(above);
  const Axis &axis = axes[level];
  Rules settled = settledAbove | axis.decides;
  unsigned below = unsigned(slices.size());
  for (size_t i = level + 1; i < axes.size(); ++i)
    below *= unsigned(axes[i].values.size());
  for (unsigned value : axis.values) {
    Schedule schedule = above;
    axis.set(schedule, value);
    std::optional<Refusal> found;
    if (axis.decides)
      found = refusalOf(schedule);
    bool empty = level == lastOfTiles && !overrides[Choice::QTiles] &&
                 hasTileWithoutRows(problem, schedule);
    if (empty || (found && settled & rule(found->rule)))
      reject(std::move(schedule), below);
    else
      descend(schedule, level + 1, settled);
  }
}

std::optional<Schedule> Search::chooseStages(Schedule &schedule) const {
  // With a separate ring of V one stage of K is in use while V's is filled.
  unsigned least = schedule.vStages ? 1 : leastStages;
  schedule.kvStages = overrides[Choice::KvStages].value_or(least);
  bool growsK = !overrides[Choice::KvStages];
  bool growsV = schedule.vStages && !overrides[Choice::VStages];
  if (!gpu)
    return std::nullopt;
  Rings rings = ringsOf(problem, schedule);
  uint64_t others = resourcesOf(problem, schedule).smemBytes - rings.bytes();
  uint64_t there = smemOfCta(*gpu, schedule);
  // In a share of an SM the margin would cost a stage.
  uint64_t margin = schedule.ctasPerSm > 1 ? 0 : smemMargin;
  while (growsK || growsV) {
    // The ring that holds the smaller share of a block's bytes grows first.
    bool value = growsV && (!growsK || schedule.vStages < schedule.kvStages);
    unsigned &stages = value ? schedule.vStages : schedule.kvStages;
    if (stages >= mostStages)
      return std::nullopt;
    ++stages;
    rings.stages = schedule.kvStages;
    rings.valueStages = schedule.vStages;
    uint64_t bytes = others + rings.bytes();
    if (bytes + margin <= there)
      continue;
    Schedule deeper = schedule;
    --stages;
    return bytes > there ? std::optional(deeper) : std::nullopt;
  }
  return std::nullopt;
}

bool Search::shrinkRings(Schedule &schedule) const {
  bool value = schedule.vStages > 1 && !overrides[Choice::VStages];
  bool key = schedule.kvStages > 1 && !overrides[Choice::KvStages];
  if (value && (!key || schedule.vStages > schedule.kvStages))
    return --schedule.vStages;
  return key && --schedule.kvStages;
}

bool Search::mend(Schedule &schedule, Rules rules) const {
  std::optional<Refusal> found = refusalOf(schedule, rules);
  if (!found)
    return true;
  // check() knows regions of a schedule that the resource model may not.
  for (Schedule smaller = schedule; found->rule == 6 && shrinkRings(smaller);)
    if (!refusalOf(smaller)) {
      schedule = smaller;
      return true;
    }
  return false;
}

void Search::consider(Schedule schedule) {
  std::optional<Schedule> deeper = chooseStages(schedule);
  size_t done = 0;
  for (; done < slices.size(); ++done) {
    Schedule sliced = schedule;
    sliced.pSlices = slices[done];
    // Only the ring and plan.C8 depend on the slices.
    if (!mend(sliced, done ? rule(6) | rule(8) : rulesWithoutRoles)) {
      // More slices do not help.
      reject(std::move(sliced), unsigned(slices.size() - done));
      break;
    }
    result.sound.push_back(std::move(sliced));
  }
  // A candidate that fails for another reason has its own message.
  if (done && deeper)
    reject(std::move(*deeper));
}

Candidates fmha::schedule::enumerate(const Problem &problem,
                                     std::string_view target,
                                     const Overrides &overrides) {
  Candidates found = Search(problem, target, overrides).run();
  auto packs = [](const Rejected &one) { return one.schedule.packHeads > 1; };
  if (!found.sound.empty() || overrides[Choice::PackHeads] ||
      std::none_of(found.rejected.begin(), found.rejected.end(), packs))
    return found;
  // Rules may reject all schedules with packed heads.
  Overrides unpacked = overrides;
  unpacked.fix(Choice::PackHeads, 1);
  Candidates more = Search(problem, target, unpacked).run();
  found.sound = std::move(more.sound);
  std::move(more.rejected.begin(), more.rejected.end(),
            std::back_inserter(found.rejected));
  return found;
}

std::string fmha::schedule::title(const Schedule &s) {
  static const Schedule usual;
  std::string text = "q_tiles = " + std::to_string(s.qTiles) +
                     ", p_placement = " + std::string(stringify(s.pPlacement)) +
                     ", kv_stages = " + std::to_string(s.kvStages);
  if (s.ctaGroup != usual.ctaGroup)
    text += ", cta_group = " + std::to_string(s.ctaGroup);
  for (const ScheduleField &field : scheduleFields()) {
    bool told = field.name == "q_tiles" || field.name == "kv_stages";
    if (!told && field.get(s) != field.get(usual))
      text +=
          ", " + std::string(field.name) + " = " + field.print(field.get(s));
  }
  return text;
}

std::string fmha::schedule::complaintOf(const Problem &problem,
                                        const Schedule &other) {
  if (hasTileWithoutRows(problem, other))
    return "with q_len " + std::to_string(problem.qLenHint) +
           " the second query tile has no rows";
  if (std::optional<std::string> text = check(problem, withRoles(other)))
    return *text;
  return "a deeper ring leaves the output no separate region in shared "
         "memory, and the next tile's queries wait until it is written";
}

std::string fmha::schedule::whyRejected(const Problem &problem,
                                        const Schedule &other) {
  return title(other) + ": " + complaintOf(problem, other);
}

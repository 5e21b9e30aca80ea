//===- Candidates.cpp - Schedules that a planner can choose from *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "Axes.h"
#include "Model/Footprint.h"

#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Model/TileOrder.h"
#include "fmha/Schedule/Plan/Families.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace fmha;
using namespace fmha::schedule;

/// Returns the p_offset if none is given. With a scale per page P in f16 is
/// multiplied by that of V: half of the range is for small ones, so that P
/// keeps its precision with scales of 2^-17 or more.
static unsigned usualOffset(const Problem &problem,
                            const FamilyCandidates &family) {
  constexpr unsigned ofSmallScales = 4;
  bool isScaled = problem.scalePerPage && problem.dtype == DataType::F16;
  return isScaled && family.roundsScaledP ? ofSmallScales : 0;
}

namespace {

class Search {
public:
  Search(const Problem &problem, std::string_view target,
         const Overrides &overrides)
      : problem(problem), overrides(overrides), gpu(target::findTarget(target)),
        tree(problem, overrides, gpu) {
    start.target = target;
    start.family = chooseFamily(problem, target, overrides);
    const FamilyCandidates &family = familyOf(start).candidates;
    start.kvStages = family.leastStages;
    start.qTileRows = family.qTileRows;
    start.pPlacement = family.pPlacement;
    // A requested value holds for a branch from its root on.
    for (const ScheduleField &field : scheduleFields())
      if (std::optional<unsigned> wanted = overrides[field.choice])
        field.set(start, *wanted);
    start.packHeads = std::max(start.packHeads, 1u);
    if (!overrides[Choice::POffset])
      start.pOffset = usualOffset(problem, family);
    start.rescaleThreshold = usualThreshold(problem, start);
    family.addAxes(tree);
  }

  Candidates run() {
    descend(start, 0, 0);
    return std::move(result);
  }

private:
  void descend(const Schedule &above, size_t level, Rules settledAbove);
  void consider(Schedule schedule);
  /// Deepens the rings of `schedule`. Returns the first schedule that the
  /// target cannot hold, or nothing if the rings reach their limit.
  std::optional<Schedule> chooseStages(Schedule &schedule) const;
  /// Removes one stage. Returns false if none is left to remove.
  bool shrinkRings(Schedule &schedule) const;
  /// Returns whether `rules` accept `schedule`, if needed with fewer stages.
  bool mend(Schedule &schedule, Rules rules) const;
  std::optional<RuleViolation>
  firstViolationOf(const Schedule &schedule,
                   Rules rules = rulesWithoutRoles) const {
    return firstViolation(problem, schedule, rules, /*terse=*/true);
  }
  void reject(Schedule schedule, unsigned candidates = 1) {
    result.rejected.push_back({std::move(schedule), candidates});
  }

  const Problem &problem;
  const Overrides &overrides;
  const target::Target *gpu;
  Schedule start;
  Axes tree;
  Candidates result;
};

} // namespace

double fmha::schedule::usualThreshold(const Problem &problem,
                                      const Schedule &schedule) {
  if (kernelProblem(problem, schedule).needsTrueMax() ||
      !familyOf(schedule).candidates.delaysRescales)
    return 0;
  // A factor on P leaves less range for its growth.
  return std::clamp(mostGrowth(problem) - double(schedule.pOffset), 0.0,
                    Schedule().rescaleThreshold);
}

bool fmha::schedule::hasTileWithoutRows(const Problem &problem,
                                        const Schedule &schedule) {
  unsigned rows = queriesOfTile(schedule), listed = problem.blockRows;
  unsigned ctas = ctasOfRows(schedule.packHeads, schedule.ctaGroup);
  // The rows of one tile may be neither a part of a listed block nor whole
  // ones.
  bool needsSeveral = listed && listed % rows != 0 && rows % listed != 0;
  return schedule.qTiles > 1 && !needsSeveral && problem.qLenHint != 0 &&
         problem.qLenHint <= rows * ctas;
}

void Search::descend(const Schedule &above, size_t level, Rules settledAbove) {
  if (level == tree.levels.size())
    return consider(above);
  const Axis &axis = tree.levels[level];
  Rules settled = settledAbove | axis.decides;
  unsigned below = unsigned(tree.slices.size());
  for (size_t i = level + 1; i < tree.levels.size(); ++i)
    below *= unsigned(tree.levels[i].values.size());
  for (unsigned value : axis.values) {
    Schedule schedule = above;
    axis.set(schedule, value);
    std::optional<RuleViolation> found;
    if (axis.decides)
      found = firstViolationOf(schedule);
    bool empty = level == tree.lastOfTiles && !overrides[Choice::QTiles] &&
                 hasTileWithoutRows(problem, schedule);
    if (empty || (found && settled & rule(found->rule)))
      reject(std::move(schedule), below);
    else
      descend(schedule, level + 1, settled);
  }
}

std::optional<Schedule> Search::chooseStages(Schedule &schedule) const {
  // With a separate ring of V one stage of K is in use while V's is filled.
  const FamilyCandidates &family = familyOf(schedule).candidates;
  unsigned least = schedule.vStages ? 1 : family.leastStages;
  schedule.kvStages = overrides[Choice::KvStages].value_or(least);
  bool growsK = !overrides[Choice::KvStages];
  bool growsV = schedule.vStages && !overrides[Choice::VStages];
  if (!gpu || !family.ringBytes)
    return std::nullopt;
  Rings rings = ringsOf(problem, schedule);
  uint64_t others = resourcesOf(problem, schedule).smemBytes - rings.bytes();
  uint64_t there = smemOfCta(*gpu, schedule);
  // In a share of an SM the margin would cost a stage.
  uint64_t margin = schedule.ctasPerSm > 1 ? 0 : smemMargin;
  uint64_t most = family.ringBytes(problem, schedule, *gpu);
  while (growsK || growsV) {
    // The ring that holds the smaller share of a block's bytes grows first.
    bool value = growsV && (!growsK || schedule.vStages < schedule.kvStages);
    unsigned &stages = value ? schedule.vStages : schedule.kvStages;
    // A ring may hold the messages of one block.
    unsigned ofBlock = value ? rings.valueMessages : rings.keyMessages;
    if (stages >= std::max(mostStages, ofBlock))
      return std::nullopt;
    ++stages;
    rings.stages = schedule.kvStages;
    rings.valueStages = schedule.vStages;
    uint64_t bytes = others + rings.bytes();
    if (most && rings.bytes() > most) {
      --stages;
      return std::nullopt;
    }
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
  std::optional<RuleViolation> found = firstViolationOf(schedule, rules);
  if (!found)
    return true;
  // check() knows regions of a schedule that the resource model may not.
  for (Schedule smaller = schedule; found->rule == 6 && shrinkRings(smaller);)
    if (!firstViolationOf(smaller)) {
      schedule = smaller;
      return true;
    }
  return false;
}

void Search::consider(Schedule schedule) {
  std::optional<Schedule> deeper = chooseStages(schedule);
  size_t done = 0;
  for (; done < tree.slices.size(); ++done) {
    Schedule sliced = schedule;
    sliced.pSlices = tree.slices[done];
    // Only the ring, pairs of CTAs and plan.C8 depend on the slices.
    if (!mend(sliced, done ? rule(4) | rule(6) | rule(8) : rulesWithoutRoles)) {
      // More slices do not help.
      reject(std::move(sliced), unsigned(tree.slices.size() - done));
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
  if (!found.sound.empty() || overrides[Choice::PackHeads] || problem.topk ||
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
  for (const ScheduleField &field : scheduleFields()) {
    bool printed = field.name == "q_tiles" || field.name == "kv_stages";
    if (!printed && field.get(s) != field.get(usual))
      text +=
          ", " + std::string(field.name) + " = " + field.print(field.get(s));
  }
  return text;
}

std::string fmha::schedule::violationOf(const Problem &problem,
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
  return title(other) + ": " + violationOf(problem, other);
}

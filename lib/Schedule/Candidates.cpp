//===- Candidates.cpp - Schedules that a planner can choose from *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "fmha/Schedule/Resources.h"
#include "fmha/Target/Target.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

namespace {

using Values = std::vector<unsigned>;

/// One level of the tree. `decides` lists the rules of check() that fields of
/// this level and of those above it settle, blank-separated.
struct Axis {
  Values values;
  std::string_view decides;
  void (*set)(Schedule &, unsigned);
};

const ScheduleField *fieldOf(std::string_view name) {
  for (const ScheduleField &field : scheduleFields())
    if (field.name == name)
      return &field;
  return nullptr;
}

bool contains(std::string_view list, std::string_view rule) {
  for (size_t at = 0; at < list.size();) {
    size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == rule)
      return true;
    at = end + 1;
  }
  return false;
}

/// "C6" of "C6: 2 query tiles need ...".
std::string_view ruleOf(std::string_view reason) {
  return reason.substr(0, reason.find(':'));
}

class Search {
public:
  Search(const Problem &problem, std::string_view target,
         const Overrides &overrides)
      : problem(problem), overrides(overrides),
        gpu(target::findTarget(target)) {
    start.target = target;
    // No level: neither regions nor rings depend on the parts in which P is
    // handed over. One, unless a person asks for more.
    start.pSlices = overrides.pSlices.value_or(1);
    buildAxes();
  }

  Candidates run() {
    descend(start, 0);
    return std::move(result);
  }

private:
  void buildAxes();
  /// A level for the field of that name: the value asked for, or `values`.
  void axis(std::string_view name, Values values, std::string_view decides);
  void descend(const Schedule &above, size_t level);
  void consider(Schedule schedule);
  /// Deepens the rings of `schedule`, and notes why they cannot be deeper.
  void chooseStages(Schedule &schedule);
  /// One stage less, if one is left to take.
  bool shrinkRings(Schedule &schedule) const;
  bool fits(const Schedule &schedule) const {
    return resourcesOf(problem, schedule).smemBytes + smemMargin <=
           gpu->smemBytesPerCta;
  }
  void reject(Schedule schedule, std::string reason, unsigned candidates = 1) {
    result.rejected.push_back(
        {std::move(schedule), std::move(reason), candidates});
  }
  std::optional<std::string> complaint(Schedule schedule) const {
    schedule.kvStages = overrides.kvStages.value_or(leastStages);
    return check(problem, withRoles(std::move(schedule)));
  }

  const Problem &problem;
  const Overrides &overrides;
  const target::Target *gpu;
  Schedule start;
  std::vector<Axis> axes;
  Candidates result;
};

/// 0 ("all") and the parts of `whole` that are worth a thought: powers of two
/// from `least` that are smaller, the large ones first.
Values parts(unsigned whole, unsigned least, unsigned most) {
  Values values = {0};
  for (unsigned part = most; part >= least; part /= 2)
    if (part < whole)
      values.push_back(part);
  return values;
}

} // namespace

void Search::axis(std::string_view name, Values values,
                  std::string_view decides) {
  const ScheduleField *field = fieldOf(name);
  if (std::optional<unsigned> wanted = overrides.*field->wanted)
    values = {*wanted};
  axes.push_back({std::move(values), decides, field->set});
}

/// Chunks, rings of their own and passes cost something, and are needed only
/// where whole blocks are large.
void Search::buildAxes() {
  constexpr unsigned wide = 128;
  bool wideKeys = problem.headDim > wide, wideValues = problem.headDimV > wide;
  bool uneven = problem.headDim != problem.headDimV;
  axes.push_back({{1, 2}, "C1 C4", [](Schedule &s, unsigned group) {
                    s.ctaGroup = group;
                  }});
  axis("q_tiles", {2, 1}, "");
  axis("q_tile_rows", {128, 64}, "");
  axis("kv_block", {128, 64, 256}, "C3");
  axis("o_columns", wideValues ? parts(problem.headDimV, 64, 256) : Values{0},
       "C2");
  Values placements = {unsigned(PPlacement::Tmem), unsigned(PPlacement::Smem),
                       unsigned(PPlacement::Registers)};
  if (overrides.pPlacement != PPlacement::Auto)
    placements = {unsigned(overrides.pPlacement)};
  axes.push_back({placements, "C5", [](Schedule &s, unsigned placement) {
                    s.pPlacement = PPlacement(placement);
                  }});
  axis("share_kv", problem.vInK ? Values{1, 0} : Values{0}, "C8");
  axis("key_chunk", wideKeys ? parts(problem.headDim, 64, 256) : Values{0},
       "C8");
  axis("value_chunk", wideValues ? parts(wide, 16, 64) : Values{0}, "C8");
  bool ownRing = wideKeys || wideValues || uneven;
  axis("v_stages", ownRing ? Values{0, 1} : Values{0}, "C8");
}

void Search::descend(const Schedule &above, size_t level) {
  if (level == axes.size())
    return consider(above);
  unsigned below = 1;
  for (size_t i = level + 1; i < axes.size(); ++i)
    below *= unsigned(axes[i].values.size());
  for (unsigned value : axes[level].values) {
    Schedule schedule = above;
    axes[level].set(schedule, value);
    std::optional<std::string> reason;
    if (level + 1 < axes.size() && !axes[level].decides.empty())
      reason = complaint(schedule);
    bool settled = false;
    for (size_t i = 0; reason && i <= level; ++i)
      settled |= contains(axes[i].decides, ruleOf(*reason));
    if (settled)
      reject(withRoles(schedule), title(schedule) + ": " + *reason, below);
    else
      descend(schedule, level + 1);
  }
}

void Search::chooseStages(Schedule &schedule) {
  // Beside a ring of V's own one stage of K is in use while V's is filled.
  unsigned least = schedule.vStages ? 1 : leastStages;
  schedule.kvStages = overrides.kvStages.value_or(least);
  bool growsK = !overrides.kvStages;
  bool growsV = schedule.vStages && !overrides.vStages;
  if (!gpu)
    return;
  Schedule deeper = schedule;
  bool full = false;
  while (!full) {
    // The ring that brings fewer bytes of what it must bring grows first.
    bool value = growsV && (!growsK || schedule.vStages < schedule.kvStages);
    deeper = schedule;
    unsigned &stages = value ? deeper.vStages : deeper.kvStages;
    if ((!growsK && !growsV) || stages >= mostStages)
      return;
    ++stages;
    full = !fits(deeper);
    if (!full)
      schedule = deeper;
  }
  // A candidate that fails for another reason says so by itself.
  if (check(problem, schedule))
    return;
  if (std::optional<std::string> reason = check(problem, deeper))
    reject(deeper, title(deeper) + ": " + *reason);
}

bool Search::shrinkRings(Schedule &schedule) const {
  bool value = schedule.vStages > 1 && !overrides.vStages;
  bool key = schedule.kvStages > 1 && !overrides.kvStages;
  if (value && (!key || schedule.vStages > schedule.kvStages))
    return --schedule.vStages;
  return key && --schedule.kvStages;
}

void Search::consider(Schedule schedule) {
  schedule.roles = defaultRoles(schedule.qTiles);
  chooseStages(schedule);
  std::optional<std::string> reason = check(problem, schedule);
  // check() knows regions of a schedule that the resource model may not.
  for (Schedule smaller = schedule;
       reason && ruleOf(*reason) == "C6" && shrinkRings(smaller);)
    if (!check(problem, smaller)) {
      schedule = smaller;
      reason.reset();
    }
  if (reason)
    return reject(schedule, title(schedule) + ": " + *reason);
  bool emptyTile = schedule.qTiles > 1 && problem.qLenHint != 0 &&
                   problem.qLenHint <= schedule.qTileRows;
  if (emptyTile && !overrides.qTiles)
    return reject(schedule, title(schedule) + ": with q_len " +
                                std::to_string(problem.qLenHint) +
                                " the second query tile has no rows");
  result.sound.push_back(std::move(schedule));
}

Candidates fmha::schedule::enumerate(const Problem &problem,
                                     std::string_view target,
                                     const Overrides &overrides) {
  return Search(problem, target, overrides).run();
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

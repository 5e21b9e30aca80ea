//===- Relax.cpp - The smallest change that makes a plan possible *- C++ *-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relax.h"
#include "Families/Family.h"

#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// The values that check() may accept, multiples of `step` up to `most`. Those
/// that can be planned are not an interval (a block of 100 keys cannot, 64 and
/// 128 can), so they are tried one by one, the nearest first.
struct Grid {
  std::string_view name;
  unsigned step, most;
  /// 0 means all, and so lies above `most`.
  bool zeroIsAll = false;
};
constexpr Grid grids[] = {
    {"scheduler", 1, 2},      // a choice of three
    {"ctas_per_sm", 1, 3},    // with wgmma
    {"mma_k", 8, 16},         // with mma.sync
    {"exp2_emulated", 1, 50}, // per cent
    {"p_offset", 1, 96},      // log2 of a finite P
    {"splits", 1, mostSplits},
    {"s_stages", 1, 2},   // two S of a tile
    {"p_slices", 1, 16},  // whole K steps of 16 keys of a block
    {"kv_stages", 1, 32}, // two mbarriers each of the 64 that are kept
    {"v_stages", 1, 32},  // likewise
    // Panels of a K whose Q fits shared memory.
    {"key_chunk", 64, 2048, /*zeroIsAll=*/true},
    {"value_chunk", 16, 256, /*zeroIsAll=*/true}, // K steps of a block
    {"share_kv", 1, 1},                           // a switch
    // Steps of an MMA, as tensor memory has columns.
    {"o_columns", 16, 512, /*zeroIsAll=*/true},
    {"pack_heads", 1, 128},   // rows of a query tile
    {"kv_block", 16, 256},    // columns of an MMA
    {"q_tile_rows", 16, 128}, // lanes of tensor memory
    {"q_tiles", 1, 4},        // 128 columns of S each
    {"family", 1, 1},         // a choice of two
    {"cta_group", 1, 2},      // with tensor memory
};
/// Q of a wider head does not fit shared memory: 64 rows, the fewest of a CTA,
/// of 1816 columns of 2 bytes are the 232448 available bytes. V may be wider.
constexpr unsigned dimStep = 8, mostHeadDim = 1816;
/// The default scale depends on the head dim.
constexpr const char *padding = ", padded with zeros, the scale kept";
/// The most proposals in a message.
constexpr size_t mostChanges = 3;

struct Request {
  Problem problem;
  std::string target;
  Overrides overrides;

  std::optional<Plan> plan() const {
    std::string error;
    return planStrictly(problem, target, overrides, error);
  }
};

using Changes = std::vector<std::string>;

const Grid *gridOf(std::string_view name) {
  const Grid *found = std::ranges::find(grids, name, &Grid::name);
  return found == std::end(grids) ? nullptr : found;
}

/// Returns the values of `grid` other than `wanted`, the nearest first; of two
/// equally near ones the smaller one.
std::vector<unsigned> around(unsigned wanted, const Grid &grid, bool zero) {
  std::vector<unsigned> values;
  for (unsigned value = zero ? 0 : grid.step; value <= grid.most;
       value += grid.step)
    if (value != wanted)
      values.push_back(value);
  auto place = [&](unsigned value) {
    return value == 0 && grid.zeroIsAll ? grid.most + grid.step : value;
  };
  auto distance = [&](unsigned value) {
    unsigned from = place(wanted), to = place(value);
    return to < from ? from - to : to - from;
  };
  std::stable_sort(values.begin(), values.end(), [&](unsigned a, unsigned b) {
    return distance(a) < distance(b);
  });
  return values;
}

std::optional<unsigned> closestValue(Request request,
                                     const ScheduleField &field) {
  unsigned wanted = *request.overrides[field.choice];
  const Grid *grid = gridOf(field.name);
  if (!grid)
    return std::nullopt;
  for (unsigned other : around(wanted, *grid, field.zeroChooses)) {
    request.overrides.fix(field.choice, other);
    if (request.plan())
      return other;
  }
  return std::nullopt;
}

Changes relaxOverrides(const Request &request) {
  Changes changes;
  for (const ScheduleField &field : scheduleFields())
    if (request.overrides[field.choice])
      if (std::optional<unsigned> value = closestValue(request, field))
        changes.push_back(std::string(field.name) + " = " +
                          field.print(*value));
  Request free = request;
  free.overrides.pPlacement = PPlacement::Auto;
  if (request.overrides.pPlacement != PPlacement::Auto)
    if (std::optional<Plan> plan = free.plan())
      changes.push_back("p_placement = " +
                        std::string(stringify(plan->schedule.pPlacement)));
  return changes;
}

/// Sets the head dims in `which` (1 head_dim, 2 head_dim_v, 3 both).
Request withDims(Request request, unsigned which, unsigned dim) {
  if (which & 1)
    request.problem.headDim = dim;
  if (which & 2)
    request.problem.headDimV = dim;
  return request;
}

bool plansWith(const Request &request, unsigned which, unsigned dim) {
  return withDims(request, which, dim).plan().has_value();
}

/// Returns the next dim from `dim` upwards that can be planned, if padding with
/// zeros does not change the result, otherwise the next one downwards.
std::optional<unsigned> closestDim(const Request &request, unsigned which,
                                   unsigned dim) {
  unsigned above = dim / dimStep * dimStep + dimStep;
  unsigned last = std::max(mostHeadDim, above);
  for (unsigned other = above; other <= last; other += dimStep)
    if (plansWith(request, which, other))
      return other;
  unsigned below = std::min((dim - 1) / dimStep * dimStep, mostHeadDim);
  for (unsigned other = below; other > 0; other -= dimStep)
    if (plansWith(request, which, other))
      return other;
  return std::nullopt;
}

/// Other head dims, and their description.
struct Dims {
  std::string text;
  Request request;
};

std::vector<Dims> otherHeadDims(const Request &request) {
  const Problem &p = request.problem;
  std::vector<Dims> changes;
  auto look = [&](unsigned which, const char *name, unsigned dim) {
    std::optional<unsigned> other = closestDim(request, which, dim);
    if (other)
      changes.push_back(
          {name + std::to_string(*other) + (*other > dim ? padding : ""),
           withDims(request, which, *other)});
  };
  if (p.headDim == p.headDimV) {
    look(3, "head_dim = head_dim_v = ", p.headDim);
    return changes;
  }
  if (p.headDim <= mostHeadDim)
    look(2, "head_dim_v = ", p.headDimV);
  look(1, "head_dim = ", p.headDim);
  if (!changes.empty())
    return changes;
  // Both may need padding.
  Request padded = request;
  for (unsigned *dim : {&padded.problem.headDim, &padded.problem.headDimV})
    *dim = (*dim + dimStep - 1) / dimStep * dimStep;
  if (padded.plan())
    changes.push_back({"head_dim = " + std::to_string(padded.problem.headDim) +
                           " and head_dim_v = " +
                           std::to_string(padded.problem.headDimV) + padding,
                       padded});
  return changes;
}

/// Returns 90 of "sm_90a", the compute capability without its point.
unsigned levelOf(std::string_view target) {
  unsigned level = 0;
  for (char c : target)
    if (c >= '0' && c <= '9')
      level = 10 * level + unsigned(c - '0');
  return level;
}

/// Returns the other supported targets: those with the same instructions, then
/// those after `wanted`, the nearest first, and then those before it, likewise.
std::vector<std::string> targetsAround(std::string_view wanted) {
  auto familyOn = [](std::string_view name) {
    return &familyServing(target::findTarget(name), FamilyKind::Mma);
  };
  std::vector<std::string> names = target::names(/*supported=*/true);
  std::erase(names, wanted);
  auto place = [&](const std::string &name) {
    int distance = int(levelOf(name)) - int(levelOf(wanted));
    return std::tuple(familyOn(name) != familyOn(wanted), distance < 0,
                      std::abs(distance));
  };
  std::ranges::sort(names, {}, place);
  return names;
}

/// Returns whether the heads of `dims` are wide enough for those of `request`,
/// padded with zeros.
bool areWider(const Request &request, const Dims &dims) {
  const Problem &p = request.problem, &other = dims.request.problem;
  return other.headDim >= p.headDim && other.headDimV >= p.headDimV;
}

Changes relaxTarget(Request request) {
  for (const std::string &name : targetsAround(request.target)) {
    request.target = name;
    if (request.plan())
      return {"target = " + name};
  }
  return {};
}

/// Returns other head dims. If all are narrower, so that they are of another
/// problem, a target that takes the requested ones comes first.
Changes relaxHeadDims(const Request &request) {
  std::vector<Dims> all = otherHeadDims(request);
  bool narrows = std::ranges::none_of(
      all, [&](const Dims &dims) { return areWider(request, dims); });
  Changes changes = narrows && !all.empty() ? relaxTarget(request) : Changes();
  for (const Dims &dims : all)
    changes.push_back(dims.text);
  return changes;
}

/// Fixes `changed` one by one, each at the value nearest to the requested one
/// among those that leave a plan with the others.
bool fixNearest(Request &freed, const Overrides &wanted,
                std::span<const ScheduleField *const> changed) {
  for (const ScheduleField *field : changed) {
    Request asked = freed;
    asked.overrides.fix(field->choice, wanted[field->choice]);
    std::optional<unsigned> value = closestValue(asked, *field);
    if (!value)
      return false;
    freed.overrides.fix(field->choice, value);
  }
  return true;
}

/// Returns fields that have to change together, for requests that no single
/// change can satisfy. It tries to keep each requested field, first those that
/// alter a kernel most, and returns the fields that it could not keep.
Changes relaxTogether(const Request &request) {
  Request freed = request;
  freed.overrides = {};
  std::vector<const ScheduleField *> changed;
  std::span<const ScheduleField> fields = scheduleFields();
  for (size_t i = fields.size(); i-- > 0;) {
    std::optional<unsigned> wanted = request.overrides[fields[i].choice];
    if (!wanted)
      continue;
    freed.overrides.fix(fields[i].choice, wanted);
    if (freed.plan())
      continue;
    freed.overrides.fix(fields[i].choice, std::nullopt);
    changed.push_back(&fields[i]);
  }
  freed.overrides.pPlacement = request.overrides.pPlacement;
  std::optional<Plan> plan = freed.plan();
  bool moved = !plan;
  if (moved) {
    freed.overrides.pPlacement = PPlacement::Auto;
    plan = freed.plan();
  }
  if (!plan || !fixNearest(freed, request.overrides, changed))
    return {};
  std::string text;
  for (const ScheduleField *field : changed)
    text += (text.empty() ? "" : " and ") + std::string(field->name) + " = " +
            field->print(*freed.overrides[field->choice]);
  plan = freed.plan();
  if (moved)
    text += (text.empty() ? "p_placement = " : " and p_placement = ") +
            std::string(stringify(plan->schedule.pPlacement));
  return text.empty() ? Changes() : Changes{text};
}

/// Returns padded head dims, and the fields that have to change with them.
Changes relaxFieldsOfPadded(const Request &request) {
  auto padded = [](unsigned dim) {
    return (dim + dimStep - 1) / dimStep * dimStep;
  };
  const Problem &p = request.problem;
  Request other = request;
  other.problem.headDim = padded(p.headDim);
  other.problem.headDimV = padded(p.headDimV);
  bool same = other.problem.headDim == p.headDim &&
              other.problem.headDimV == p.headDimV;
  if (same || other.plan())
    return {};
  Changes fields = relaxOverrides(other);
  if (fields.empty())
    fields = relaxTogether(other);
  if (fields.empty())
    return {};
  bool alike = p.headDim == p.headDimV;
  return {fields.front() + " and head_dim = " +
          (alike
               ? "head_dim_v = "
               : std::to_string(other.problem.headDim) + " and head_dim_v = ") +
          std::to_string(other.problem.headDimV) + padding};
}

/// Returns head dims to change together with fields: the head dims are searched
/// with all fields free, and the fields that still conflict then take the
/// planner's values.
Changes relaxFieldsAndHeadDims(const Request &request) {
  Request freed = request;
  freed.overrides = {};
  if (freed.plan())
    return {};
  for (Dims &dims : otherHeadDims(freed)) {
    dims.request.overrides = request.overrides;
    if (Changes fields = relaxTogether(dims.request); !fields.empty())
      return {fields.front() + " and " + dims.text};
  }
  return {};
}

/// Returns "a", "a, or b", or "a, or b, or c".
std::string listed(const Changes &changes) {
  std::string text;
  for (size_t i = 0; i < std::min(changes.size(), mostChanges); ++i)
    text += (i ? ", or " : "") + changes[i];
  return text;
}

} // namespace

std::optional<std::string>
fmha::schedule::closestChange(const Problem &problem, std::string_view target,
                              const Overrides &overrides) {
  Request request{problem, std::string(target), overrides};
  const target::Target *gpu = target::findTarget(target);
  // If the GPU is not supported, no other change helps.
  if (gpu && gpu->supported)
    for (auto relax : {relaxOverrides, relaxTogether, relaxFieldsOfPadded,
                       relaxHeadDims, relaxFieldsAndHeadDims})
      if (Changes changes = relax(request); !changes.empty())
        return listed(changes);
  Changes changes = relaxTarget(request);
  return changes.empty() ? std::nullopt : std::optional(listed(changes));
}

void fmha::schedule::propose(const std::string &change, std::string &error) {
  error.resize(std::min(error.rfind("; take "), error.size()));
  error += "; the nearest that works: " + change;
}

/// Returns `schedule` with all fields and roles of `sound`.
static Schedule withFieldsOf(const Schedule &sound, Schedule schedule) {
  for (const ScheduleField &field : scheduleFields())
    field.set(schedule, field.get(sound));
  schedule.pPlacement = sound.pPlacement;
  schedule.roles.clear();
  return withRoles(schedule);
}

std::optional<std::string>
fmha::schedule::closestChange(const Problem &problem,
                              const Schedule &schedule) {
  Overrides overrides;
  for (const ScheduleField &field : scheduleFields())
    overrides.fix(field.choice, field.get(schedule));
  overrides.pPlacement = schedule.pPlacement;
  std::string error;
  std::optional<Plan> any = planStrictly(problem, schedule.target, {}, error);
  // The cause may be no field but roles or a threshold.
  if (planStrictly(problem, schedule.target, overrides, error) ||
      (any && check(problem, withFieldsOf(any->schedule, schedule))))
    return std::nullopt;
  std::optional<std::string> change =
      closestChange(problem, schedule.target, overrides);
  // Roles belong to the fields that they came with.
  if (change && !schedule.roles.empty())
    *change += ", roles left out";
  return change;
}

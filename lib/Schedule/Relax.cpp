//===- Relax.cpp - The smallest change that makes a plan possible *- C++ *-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relax.h"

#include "fmha/Schedule/Overrides.h"
#include "fmha/Target/Target.h"

#include <algorithm>
#include <cstdint>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// Wider heads are not looked for.
constexpr unsigned mostHeadDim = 576;

struct Request {
  Problem problem;
  std::string target;
  Overrides overrides;

  std::optional<Plan> plan() const {
    std::string error;
    return planStrictly(problem, target, overrides, error);
  }
};

/// The value closest to the asked-for one that can be planned, everything else
/// as asked for (by bisection: a capacity is exceeded from some value on).
std::optional<unsigned> closestValue(Request request,
                                     const ScheduleField &field) {
  unsigned wanted = *(request.overrides.*field.wanted);
  (request.overrides.*field.wanted).reset();
  std::optional<Plan> free = request.plan();
  if (!free)
    return std::nullopt;
  // Between a value that will do and one that will not; where others in between
  // would do as well, one of them that will.
  int64_t good = field.get(free->schedule), bad = wanted;
  while (good - bad > 1 || bad - good > 1) {
    int64_t middle = (good + bad) / 2;
    request.overrides.*field.wanted = unsigned(middle);
    (request.plan() ? good : bad) = middle;
  }
  return unsigned(good);
}

std::optional<std::string> relaxOverrides(const Request &request) {
  for (const ScheduleField &field : scheduleFields()) {
    if (!(request.overrides.*field.wanted))
      continue;
    if (std::optional<unsigned> value = closestValue(request, field))
      return std::string(field.name) + " = " + field.print(*value);
  }
  Request free = request;
  free.overrides.pPlacement = PPlacement::Auto;
  if (request.overrides.pPlacement != PPlacement::Auto)
    if (std::optional<Plan> plan = free.plan())
      return "p_placement = " +
             std::string(stringify(plan->schedule.pPlacement));
  return std::nullopt;
}

/// Sets the head dims that `which` names (1 head_dim, 2 head_dim_v, 3 both).
bool plansWith(Request request, unsigned which, unsigned dim) {
  if (which & 1)
    request.problem.headDim = dim;
  if (which & 2)
    request.problem.headDimV = dim;
  return request.plan().has_value();
}

/// `dim` rounded to each unit that layouts like, the closest first.
std::vector<unsigned> dimsAround(unsigned dim, bool upwards) {
  std::vector<unsigned> dims;
  for (unsigned unit : {8u, 16u, 32u, 64u, 128u, 256u}) {
    unsigned down = std::min(dim / unit * unit, mostHeadDim);
    dims.push_back(upwards ? dim / unit * unit + unit : down);
    if (!upwards && down == dim && down > unit)
      dims.back() = down - unit;
  }
  auto useless = [&](unsigned other) {
    return other == 0 || other == dim || other > mostHeadDim;
  };
  dims.erase(std::remove_if(dims.begin(), dims.end(), useless), dims.end());
  return dims;
}

/// The next dim from `dim` upwards that can be planned, or else downwards.
std::optional<unsigned> closestDim(const Request &request, unsigned which,
                                   unsigned dim) {
  for (bool upwards : {true, false})
    for (unsigned other : dimsAround(dim, upwards))
      if (plansWith(request, which, other))
        return other;
  return std::nullopt;
}

std::optional<std::string> relaxHeadDims(const Request &request) {
  const Problem &p = request.problem;
  if (p.headDim == p.headDimV) {
    std::optional<unsigned> dim = closestDim(request, 3, p.headDim);
    if (!dim)
      return std::nullopt;
    return "head_dim = head_dim_v = " + std::to_string(*dim) +
           (*dim > p.headDim ? ", padded with zeros" : "");
  }
  if (std::optional<unsigned> dim = closestDim(request, 2, p.headDimV))
    return "head_dim_v = " + std::to_string(*dim);
  if (std::optional<unsigned> dim = closestDim(request, 1, p.headDim))
    return "head_dim = " + std::to_string(*dim);
  return std::nullopt;
}

std::optional<std::string> relaxTarget(Request request) {
  for (const std::string &name : target::names(/*supported=*/true)) {
    request.target = name;
    if (request.plan())
      return "target = " + name;
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string>
fmha::schedule::closestChange(const Problem &problem, std::string_view target,
                              const Overrides &overrides) {
  Request request{problem, std::string(target), overrides};
  const target::Target *gpu = target::findTarget(target);
  // For a GPU that nothing is compiled for no other change helps.
  if (gpu && gpu->supported)
    for (auto relax : {relaxOverrides, relaxHeadDims})
      if (std::optional<std::string> change = relax(request))
        return change;
  return relaxTarget(request);
}

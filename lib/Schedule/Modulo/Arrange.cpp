//===- Arrange.cpp - Roles, stages and orders of a modulo schedule --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

/// Stands for the number of an instance in the name of a role.
static constexpr char instance = '*';

/// Returns the role of each op. A warpgroup has the name of its first op.
static std::vector<std::string> rolesOf(const LoopGraph &graph,
                                        const ModuloSchedule &schedule) {
  std::map<unsigned, std::string> names;
  std::map<std::string, unsigned> instances;
  std::vector<std::string> roles;
  for (const LoopOp &op : graph.ops) {
    if (!op.cluster) {
      roles.push_back(op.role);
      continue;
    }
    auto [known, isNew] =
        names.try_emplace(schedule.warpgroups[*op.cluster], op.role);
    if (isNew && op.role.back() == instance)
      known->second = op.role.substr(0, op.role.size() - 1) +
                      std::to_string(instances[op.role]++);
    roles.push_back(known->second);
  }
  return roles;
}

namespace {

/// The order of the ops of a role, which repeats.
class Circle {
public:
  Circle(const LoopGraph &graph, const ModuloSchedule &schedule,
         const std::vector<unsigned> &kinds, std::vector<unsigned> ops)
      : graph(graph), schedule(schedule), kinds(kinds), ops(std::move(ops)) {}
  void arrange(std::vector<Place> &places);

private:
  /// The order with the least value is the best.
  using Cost = std::tuple<unsigned, unsigned, size_t, unsigned>;

  int64_t timeOf(unsigned op) const;
  void cutAt(unsigned first);
  unsigned scattered() const;
  Cost cost() const;

  const LoopGraph &graph;
  const ModuloSchedule &schedule;
  const std::vector<unsigned> &kinds;
  std::vector<unsigned> ops;
  std::map<unsigned, unsigned> stages;
};

} // namespace

/// Returns when the role issues `op`.
int64_t Circle::timeOf(unsigned op) const { return schedule.issues[op]; }

/// Orders the ops so that the role begins with `first`.
void Circle::cutAt(unsigned first) {
  int64_t interval = schedule.interval, begin = timeOf(first);
  std::map<unsigned, int64_t> turns, offsets;
  int64_t least = 0;
  for (unsigned op : ops) {
    int64_t after = timeOf(op) - begin;
    offsets[op] = (after % interval + interval) % interval;
    turns[op] = (after - offsets[op]) / interval;
    least = std::min(least, turns[op]);
  }
  std::sort(ops.begin(), ops.end(), [&](unsigned a, unsigned b) {
    return std::pair(offsets[a], a) < std::pair(offsets[b], b);
  });
  for (unsigned op : ops)
    stages[op] = unsigned(turns[op] - least);
}

/// Returns how often ops under a condition are separated by others.
unsigned Circle::scattered() const {
  std::set<unsigned> left;
  unsigned count = 0;
  for (size_t n = 0; n < ops.size(); ++n) {
    std::optional<unsigned> branch = graph.ops[ops[n]].branch;
    if (branch)
      count += left.count(*branch);
    bool ends = n + 1 == ops.size() || graph.ops[ops[n + 1]].branch != branch;
    if (branch && ends)
      left.insert(*branch);
  }
  return count;
}

Circle::Cost Circle::cost() const {
  std::set<std::pair<unsigned, unsigned>> stagesOfKinds;
  unsigned most = 0, all = 0;
  for (const auto &[op, stage] : stages) {
    stagesOfKinds.insert({kinds[op], stage});
    most = std::max(most, stage);
    all += stage;
  }
  return {most > 1 ? most : 0, scattered(), stagesOfKinds.size(), all};
}

void Circle::arrange(std::vector<Place> &places) {
  std::optional<std::pair<Cost, unsigned>> best;
  for (unsigned first : std::vector<unsigned>(ops)) {
    cutAt(first);
    if (!best || cost() < best->first)
      best = {cost(), first};
  }
  cutAt(best->second);
  for (unsigned order = 0; order < ops.size(); ++order) {
    places[ops[order]].stage = stages[ops[order]];
    places[ops[order]].order = order;
  }
}

std::vector<Place>
fmha::schedule::modulo::arrange(const LoopGraph &graph,
                                const ModuloSchedule &schedule) {
  std::vector<std::string> roles = rolesOf(graph, schedule);
  std::vector<unsigned> kinds = kindsOf(graph);
  std::vector<Place> places(graph.ops.size());
  std::map<std::string, std::vector<unsigned>> opsOf;
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    places[op].role = roles[op];
    opsOf[roles[op]].push_back(op);
  }
  for (const auto &[role, ops] : opsOf)
    Circle(graph, schedule, kinds, ops).arrange(places);
  return places;
}

//===- Bounds.cpp - Lower bounds of the interval --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

#include <algorithm>
#include <array>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

static void addUnits(const LoopGraph &graph, std::vector<Bound> &bounds) {
  std::array<unsigned, unitCount> busy{};
  for (const LoopOp &op : graph.ops)
    for (const Use &use : op.uses)
      busy[unsigned(use.unit)] += use.clocks;
  for (unsigned unit = 0; unit < unitCount; ++unit)
    if (busy[unit])
      bounds.push_back(
          {busy[unit], "unit " + std::string(stringify(Unit(unit)))});
}

static void addWarpgroups(const LoopGraph &graph, std::vector<Bound> &bounds) {
  std::vector<unsigned> busy(graph.clusters.size());
  for (const LoopOp &op : graph.ops)
    if (op.executor == Executor::Threads)
      busy[*op.cluster] += op.clocks;
  unsigned all = 0;
  for (unsigned n = 0; n < busy.size(); ++n) {
    all += busy[n];
    bounds.push_back({busy[n], "warpgroup of " + graph.clusters[n].name});
  }
  unsigned each = (all + graph.warpgroups - 1) / graph.warpgroups;
  bounds.push_back({each, std::to_string(graph.warpgroups) + " warpgroups"});
}

namespace {

/// Looks for a cycle of dependences that an interval is too short for.
class CycleSearch {
public:
  CycleSearch(const LoopGraph &graph, unsigned interval)
      : graph(graph), interval(interval), starts(graph.ops.size()),
        last(graph.ops.size()) {}
  /// Returns the ops of such a cycle, or nothing.
  std::vector<unsigned> run();

private:
  bool relax();
  std::vector<unsigned> cycleFrom(unsigned op) const;

  const LoopGraph &graph;
  int64_t interval;
  std::vector<int64_t> starts;
  /// The op that determines the start of each op.
  std::vector<unsigned> last;
  unsigned changed = 0;
};

} // namespace

bool CycleSearch::relax() {
  bool any = false;
  for (const Dependence &edge : graph.dependences) {
    int64_t start = starts[edge.from] + graph.ops[edge.from].clocks +
                    edge.latency - interval * edge.distance;
    if (start <= starts[edge.to])
      continue;
    starts[edge.to] = start;
    last[edge.to] = edge.from;
    changed = edge.to;
    any = true;
  }
  return any;
}

std::vector<unsigned> CycleSearch::cycleFrom(unsigned op) const {
  for (size_t n = 0; n < graph.ops.size(); ++n)
    op = last[op];
  std::vector<unsigned> cycle;
  unsigned at = op;
  do {
    cycle.push_back(at);
    at = last[at];
  } while (at != op);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()),
              cycle.end());
  return cycle;
}

std::vector<unsigned> CycleSearch::run() {
  for (size_t round = 0; round < graph.ops.size(); ++round)
    if (!relax())
      return {};
  return relax() ? cycleFrom(changed) : std::vector<unsigned>();
}

/// Adds the bound of the longest cycle of dependences: with any shorter
/// interval some cycle does not fit.
static void addCycle(const LoopGraph &graph, std::vector<Bound> &bounds) {
  unsigned low = 0, high = 1;
  std::vector<unsigned> longest;
  for (const LoopOp &op : graph.ops)
    high += op.clocks;
  for (const Dependence &edge : graph.dependences)
    high += edge.latency;
  while (low + 1 < high) {
    unsigned middle = low + (high - low) / 2;
    std::vector<unsigned> cycle = CycleSearch(graph, middle).run();
    (cycle.empty() ? high : low) = middle;
    if (!cycle.empty())
      longest = std::move(cycle);
  }
  if (longest.empty())
    return;
  std::string what = "cycle";
  for (unsigned op : longest)
    what += (what == "cycle" ? " " : " -> ") + graph.ops[op].name;
  bounds.push_back({high, what});
}

std::vector<Bound> fmha::schedule::modulo::boundsOf(const LoopGraph &graph) {
  std::vector<Bound> bounds;
  addUnits(graph, bounds);
  if (!graph.clusters.empty() && graph.warpgroups)
    addWarpgroups(graph, bounds);
  addCycle(graph, bounds);
  std::sort(bounds.begin(), bounds.end(), [](const Bound &a, const Bound &b) {
    return std::pair(b.clocks, a.what) < std::pair(a.clocks, b.what);
  });
  return bounds;
}

bool fmha::schedule::modulo::handsOver(const LoopGraph &graph,
                                       const Dependence &edge) {
  Executor from = graph.ops[edge.from].executor,
           to = graph.ops[edge.to].executor;
  return !edge.reuses && from != to && from != Executor::Tma &&
         to != Executor::Tma;
}

namespace {

/// The least clocks from the start of each op to that of each other one.
class LongestPaths {
public:
  LongestPaths(const LoopGraph &graph, unsigned interval, unsigned slack);
  /// Whether each cycle of dependences fits.
  bool exist() const;
  /// Returns the least clocks from the start of `from` to the end of `to`.
  int64_t toEnd(unsigned from, unsigned to) const {
    return clocks[from][to] + graph.ops[to].clocks;
  }

private:
  /// Of two ops without a path.
  static constexpr int64_t none = -(int64_t(1) << 40);

  const LoopGraph &graph;
  std::vector<std::vector<int64_t>> clocks;
};

} // namespace

LongestPaths::LongestPaths(const LoopGraph &graph, unsigned interval,
                           unsigned slack)
    : graph(graph),
      clocks(graph.ops.size(), std::vector<int64_t>(graph.ops.size(), none)) {
  for (const Dependence &edge : graph.dependences) {
    int64_t least = int64_t(graph.ops[edge.from].clocks) + edge.latency -
                    int64_t(interval) * edge.distance +
                    (handsOver(graph, edge) ? slack : 0);
    int64_t &path = clocks[edge.from][edge.to];
    path = std::max(path, least);
  }
  size_t count = graph.ops.size();
  for (size_t via = 0; via < count; ++via)
    for (size_t from = 0; from < count; ++from)
      for (size_t to = 0; to < count; ++to)
        if (clocks[from][via] != none && clocks[via][to] != none)
          clocks[from][to] =
              std::max(clocks[from][to], clocks[from][via] + clocks[via][to]);
}

bool LongestPaths::exist() const {
  for (size_t op = 0; op < clocks.size(); ++op)
    if (clocks[op][op] > 0)
      return false;
  return true;
}

std::optional<int64_t>
fmha::schedule::modulo::leastLength(const LoopGraph &graph, unsigned interval,
                                    unsigned slack) {
  LongestPaths paths(graph, interval, slack);
  if (!paths.exist())
    return std::nullopt;
  auto isLoad = [&](unsigned op) {
    return graph.ops[op].executor == Executor::Tma;
  };
  int64_t least = 0;
  for (unsigned a = 0; a < graph.ops.size(); ++a)
    for (unsigned b = 0; b < graph.ops.size(); ++b)
      if (a != b && !isLoad(a) && !isLoad(b))
        least = std::max(least, paths.toEnd(a, b));
  return least;
}

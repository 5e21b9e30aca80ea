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

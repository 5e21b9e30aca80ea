//===- SolverTest.cpp - Modulo schedules of least interval ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Solver/Solver.h"
#include "../Modulo/Graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

namespace {

/// Finds the least interval by trying all offsets of all ops: which of them
/// collide is read from tables of the clocks of an interval, and whether stages
/// exist from the cycles of dependences.
class Oracle {
public:
  explicit Oracle(const LoopGraph &graph) : graph(graph) {}
  unsigned leastInterval();

private:
  bool fits(unsigned op);
  bool hasStages() const;
  bool placeFrom(unsigned op);
  bool isBusy(unsigned resource, unsigned op) const;
  void mark(unsigned resource, unsigned op, int by);
  std::vector<unsigned> resourcesOf(unsigned op) const;

  const LoopGraph &graph;
  unsigned interval = 0;
  std::vector<unsigned> offsets, groups;
  /// By resource (units, then warpgroups) and clock.
  std::vector<std::vector<int>> busy;
};

} // namespace

std::vector<unsigned> Oracle::resourcesOf(unsigned op) const {
  const LoopOp &what = graph.ops[op];
  std::vector<unsigned> resources;
  if (what.clocks)
    resources.push_back(unsigned(what.uses.front().unit));
  if (what.executor == Executor::Threads)
    resources.push_back(unitCount + groups[*what.cluster]);
  return resources;
}

bool Oracle::isBusy(unsigned resource, unsigned op) const {
  if (graph.ops[op].clocks > interval)
    return true;
  for (unsigned n = 0; n < graph.ops[op].clocks; ++n)
    if (busy[resource][(offsets[op] + n) % interval])
      return true;
  return false;
}

void Oracle::mark(unsigned resource, unsigned op, int by) {
  for (unsigned n = 0; n < graph.ops[op].clocks; ++n)
    busy[resource][(offsets[op] + n) % interval] += by;
}

/// Whether integers exist for the stages: no cycle of dependences needs more
/// intervals than it has.
bool Oracle::hasStages() const {
  std::vector<int> stages(graph.ops.size());
  for (size_t round = 0; round <= graph.ops.size(); ++round) {
    bool changed = false;
    for (const Dependence &edge : graph.dependences) {
      int after = int(graph.ops[edge.from].clocks + edge.latency) +
                  int(offsets[edge.from]) - int(offsets[edge.to]);
      int rounded = after > 0 ? (after + int(interval) - 1) / int(interval)
                              : -(-after / int(interval));
      int least = stages[edge.from] + rounded - int(edge.distance);
      if (least > stages[edge.to]) {
        stages[edge.to] = least;
        changed = true;
      }
    }
    if (!changed)
      return true;
  }
  return false;
}

bool Oracle::placeFrom(unsigned op) {
  if (op == graph.ops.size())
    return hasStages();
  for (offsets[op] = 0; offsets[op] < interval; ++offsets[op]) {
    std::vector<unsigned> resources = resourcesOf(op);
    bool free = true;
    for (unsigned resource : resources)
      free &= !isBusy(resource, op);
    if (!free)
      continue;
    for (unsigned resource : resources)
      mark(resource, op, 1);
    bool placed = placeFrom(op + 1);
    for (unsigned resource : resources)
      mark(resource, op, -1);
    if (placed)
      return true;
  }
  return false;
}

unsigned Oracle::leastInterval() {
  offsets.resize(graph.ops.size());
  unsigned count = unsigned(graph.clusters.size()), ways = 1;
  for (unsigned n = 0; n < count; ++n)
    ways *= graph.warpgroups;
  for (interval = 1;; ++interval)
    for (unsigned way = 0; way < ways; ++way) {
      groups.clear();
      for (unsigned n = 0, rest = way; n < count; ++n, rest /= graph.warpgroups)
        groups.push_back(rest % graph.warpgroups);
      busy.assign(unitCount + graph.warpgroups, std::vector<int>(interval));
      if (placeFrom(0))
        return interval;
    }
}

/// The oracle knows no roles.
static SolverOptions anyStages() {
  SolverOptions options;
  options.roleStages = options.stages;
  return options;
}

TEST(Solver, IsExactOnRandomGraphs) {
  unsigned seed = std::random_device()();
  RecordProperty("seed", int(seed));
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 60; ++n) {
    LoopGraph graph = randomGraph(random);
    Solution solution = solve(graph, anyStages());
    ASSERT_TRUE(solution.schedule) << "seed " << seed << "\n" << print(graph);
    EXPECT_EQ(verify(graph, *solution.schedule, anyStages().roleStages),
              std::nullopt)
        << "seed " << seed << "\n"
        << print(graph);
    EXPECT_EQ(solution.schedule->interval, Oracle(graph).leastInterval())
        << "seed " << seed << "\n"
        << print(graph);
    EXPECT_EQ(solution.bound, solution.schedule->interval) << "seed " << seed;
  }
}

/// The clocks of a hand-over between warpgroups count exactly if the clusters
/// are in two.
TEST(Solver, CountsCrossingsOfTheWarpgroupsItTakes) {
  unsigned seed = std::random_device()();
  RecordProperty("seed", int(seed));
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 60; ++n) {
    LoopGraph graph = randomGraph(random);
    for (Dependence &edge : graph.dependences)
      edge.crossing = unsigned(random() % 8);
    Solution solution = solve(graph);
    ASSERT_TRUE(solution.schedule) << "seed " << seed << "\n" << print(graph);
    EXPECT_EQ(verify(graph, *solution.schedule), std::nullopt)
        << "seed " << seed << "\n"
        << print(graph);
  }
}

TEST(Solver, AnIntervalTakesAClock) {
  LoopGraph graph = chains(1);
  for (LoopOp &op : graph.ops)
    op.clocks = op.mostClocks = op.uses[0].clocks = 0;
  Solution solution = solve(graph);
  ASSERT_TRUE(solution.schedule);
  EXPECT_EQ(solution.schedule->interval, 1u);
  EXPECT_EQ(verify(graph, *solution.schedule), std::nullopt);
}

/// The solver and verify() have the same rules for ops that take no time, too,
/// and for products that keep no unit busy: their order is that of their
/// issues.
TEST(Solver, OpsOfNoClocksKeepAllRules) {
  unsigned seed = std::random_device()();
  RecordProperty("seed", int(seed));
  std::mt19937 random(seed);
  unsigned found = 0;
  for (unsigned n = 0; n < 60; ++n) {
    LoopGraph graph = randomGraph(random);
    for (LoopOp &op : graph.ops) {
      if (op.executor == Executor::Mma && random() % 2)
        op.cluster = unsigned(random() % graph.clusters.size());
      if (random() % 2)
        op.clocks = op.mostClocks = op.uses[0].clocks = 0;
      if (random() % 2)
        op.uses.clear();
    }
    ASSERT_EQ(check(graph), std::nullopt);
    Solution solution = solve(graph);
    EXPECT_EQ(solution.wrong, "") << "seed " << seed << "\n" << print(graph);
    found += solution.schedule.has_value();
  }
  // A product that a run of threads waits for within itself has no schedule.
  EXPECT_GT(found, 30u) << "seed " << seed;
}

TEST(Solver, TwoTilesTakeTurns) {
  LoopGraph graph = chains(2);
  Solution solution = solve(graph);
  ASSERT_TRUE(solution.schedule);
  EXPECT_EQ(solution.schedule->interval, 40u);
  EXPECT_EQ(solution.bound, 40u);
  EXPECT_EQ(solution.binding, "unit MMA");
  EXPECT_NE(solution.schedule->warpgroups[0], solution.schedule->warpgroups[1]);
}

/// One tile whose second product must end before its first one begins again.
TEST(Solver, ACycleIsTheBoundOfOneTile) {
  LoopGraph graph = chains(1);
  graph.dependences.push_back({2, 0, 1, 3});
  Solution solution = solve(graph);
  ASSERT_TRUE(solution.schedule);
  EXPECT_EQ(solution.schedule->interval, 43u);
  EXPECT_EQ(solution.binding, "cycle first0 -> exp0 -> second0");
}

/// Three ops of 2, 2 and 3 clocks in a cycle of 7 clocks over one iteration,
/// and another one that only fits when the unit is free for 2 clocks in a row.
TEST(Solver, RulesTogetherCanBindMoreThanEachAlone) {
  LoopGraph graph;
  graph.ops = {product("a", 2), product("b", 2), product("c", 3)};
  // b begins 3 clocks after a: one clock of the unit is lost on each side.
  graph.dependences = {{0, 1, 0, 1}, {1, 0, 1, 2}};
  Solution solution = solve(graph);
  ASSERT_TRUE(solution.schedule);
  EXPECT_EQ(solution.schedule->interval, Oracle(graph).leastInterval());
  EXPECT_EQ(boundsOf(graph).front().clocks, 7u);
  EXPECT_EQ(solution.schedule->interval, 8u);
  EXPECT_NE(solution.binding.find("unit MMA"), std::string::npos);
  EXPECT_NE(solution.binding.find("dependences"), std::string::npos);
}

TEST(Solver, ReportsTheRegistersThatExcludeASchedule) {
  LoopGraph graph = chains(2);
  for (Cluster &cluster : graph.clusters)
    cluster.held = 200;
  graph.registers = 300;
  Solution solution = solve(graph);
  EXPECT_FALSE(solution.schedule);
  EXPECT_EQ(solution.binding, "registers");
}

/// An op that needs two intervals to end does not fit one.
TEST(Solver, ReportsWhatExcludesAScheduleOfTooFewStages) {
  LoopGraph graph = chains(1);
  graph.dependences[0].latency = 10000;
  SolverOptions options;
  options.stages = 1;
  graph.dependences.push_back({2, 1, 1});
  EXPECT_GE(solve(graph, options).schedule->interval, 10000u);
  options.stages = 0;
  Solution none = solve(graph, options);
  EXPECT_FALSE(none.schedule);
  EXPECT_NE(none.binding.find("dependences"), std::string::npos);
}

/// Both products are in one role, and the second one can start 130 clocks after
/// the first one and end after 140: that is two intervals of 70.
TEST(Solver, ARoleHasTwoStages) {
  LoopGraph graph = chains(1);
  graph.dependences[0].latency = 100;
  Solution solution = solve(graph);
  ASSERT_TRUE(solution.schedule);
  EXPECT_EQ(verify(graph, *solution.schedule), std::nullopt);
  EXPECT_EQ(solution.schedule->interval, 70u);
  EXPECT_EQ(solution.bound, 70u);
  EXPECT_NE(solution.binding.find("stages"), std::string::npos);
  SolverOptions options;
  options.stages = options.roleStages = 10;
  EXPECT_EQ(solve(graph, options).schedule->interval, 20u);
}

TEST(Solver, StopsInTimeWithTheGap) {
  SolverOptions options;
  options.milliseconds = 0;
  Solution solution = solve(chains(2), options);
  EXPECT_FALSE(solution.schedule);
  EXPECT_EQ(solution.bound, 40u);
}

/// A limit at any place of the search ends it at the same place each time: the
/// solver counts steps and reads no clock.
TEST(Solver, StopsAtTheSamePlaceEachTime) {
  LoopGraph graph = chains(3);
  graph.warpgroups = 3;
  for (Dependence &edge : graph.dependences)
    edge.latency = 7;
  std::set<unsigned> slacks;
  for (unsigned milliseconds = 1; milliseconds <= 256; milliseconds *= 2) {
    SolverOptions options;
    options.milliseconds = milliseconds;
    Solution one = solve(graph, options), other = solve(graph, options);
    EXPECT_EQ(one.bound, other.bound);
    EXPECT_EQ(one.slack, other.slack);
    EXPECT_EQ(one.wrong, "");
    ASSERT_EQ(one.schedule.has_value(), other.schedule.has_value());
    if (!one.schedule)
      continue;
    EXPECT_EQ(verify(graph, *one.schedule), std::nullopt);
    EXPECT_EQ(one.schedule->interval, other.schedule->interval);
    EXPECT_EQ(one.schedule->starts, other.schedule->starts);
    EXPECT_EQ(one.schedule->issues, other.schedule->issues);
    EXPECT_EQ(one.schedule->warpgroups, other.schedule->warpgroups);
    slacks.insert(one.slack);
  }
  // Some of the limits did end the search.
  EXPECT_GT(slacks.size(), 1u);
}

/// Two products of one tile under a condition stay together, although the
/// products of the other tile would fit between them.
TEST(Solver, OpsUnderOneConditionStayTogether) {
  LoopGraph graph = chains(2);
  // A third product, of the first tile.
  graph.ops.push_back(product("third0", 10));
  for (unsigned op : {3u, 4u, 5u})
    graph.ops[op].branch = 0;
  Solution solution = solve(graph);
  ASSERT_TRUE(solution.schedule);
  std::vector<unsigned> products = {0, 2, 3, 5, 6};
  std::sort(products.begin(), products.end(), [&](unsigned a, unsigned b) {
    return solution.schedule->starts[a] % solution.schedule->interval <
           solution.schedule->starts[b] % solution.schedule->interval;
  });
  size_t first = size_t(std::find(products.begin(), products.end(), 3u) -
                        products.begin());
  size_t second = size_t(std::find(products.begin(), products.end(), 5u) -
                         products.begin());
  size_t apart = std::max(first, second) - std::min(first, second);
  EXPECT_TRUE(apart == 1 || apart == products.size() - 1) << apart;
}

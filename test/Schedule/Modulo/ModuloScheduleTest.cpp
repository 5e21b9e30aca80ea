//===- ModuloScheduleTest.cpp - Rules, bounds and places ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"
#include "fmha/Schedule/Modulo/DerivedPipelines.h"

#include <gtest/gtest.h>

#include <set>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

/// Two tiles in turn: the unit of one works for the other.
static ModuloSchedule inTurn() {
  return {40, {0, 10, 30, 20, 30, 50}, {0, 10, 30, 20, 30, 50}, {0, 1}};
}

TEST(ModuloSchedule, VerifyNamesTheRule) {
  LoopGraph graph = chains(2);
  EXPECT_EQ(verify(graph, inTurn()), std::nullopt);
  auto ruleOf = [&](const ModuloSchedule &schedule) {
    return verify(graph, schedule).value_or("none").substr(0, 9);
  };
  ModuloSchedule early = inTurn();
  early.starts[1] = early.issues[1] = 9;
  EXPECT_EQ(ruleOf(early), "modulo.M1");
  ModuloSchedule twice = inTurn();
  twice.starts[3] = twice.issues[3] = 15;
  twice.starts[0] = twice.issues[0] = -15;
  EXPECT_EQ(ruleOf(twice), "modulo.M2");
  ModuloSchedule one = inTurn();
  one.warpgroups = {0, 0};
  EXPECT_EQ(verify(graph, one), std::nullopt) << "they do not overlap";
  one.starts[1] = one.issues[1] = 25;
  one.starts[2] = one.issues[2] = 50;
  EXPECT_EQ(ruleOf(one), "modulo.M2");
  graph.clusters[0].transient = 300;
  EXPECT_EQ(ruleOf(inTurn()), "modulo.M5");
}

TEST(ModuloSchedule, ARoleHasAsManyStagesAsPassesOverlap) {
  LoopGraph graph = chains(1);
  ModuloSchedule two{40, {0, 10, 70}, {0, 10, 70}, {0}};
  EXPECT_EQ(verify(graph, two), std::nullopt);
  ModuloSchedule three{40, {0, 10, 110}, {0, 10, 110}, {0}};
  EXPECT_EQ(verify(graph, three), "modulo.M6: expected at most 2 stages in a "
                                  "role, got more from first0 to second0");
  EXPECT_EQ(verify(graph, three, 3), std::nullopt);
  // One warpgroup is one role.
  for (LoopOp &op : graph.ops)
    op.cluster = 0;
  EXPECT_EQ(verify(graph, three).value_or("").substr(0, 9), "modulo.M6");
}

TEST(ModuloSchedule, OpsUnderOneConditionFollowEachOther) {
  LoopGraph graph = chains(2);
  for (unsigned op : {3u, 5u})
    graph.ops[op].branch = 0;
  EXPECT_EQ(verify(graph, inTurn()), std::nullopt);
  // In an interval: first0, first1, second0, second1.
  ModuloSchedule apart = inTurn();
  apart.starts = apart.issues = {0, 10, 60, 10, 30, 70};
  EXPECT_EQ(verify(graph, apart),
            "modulo.M7: expected first1 and second1 to follow each other, "
            "since they run under one condition");
  graph.ops[5].branch = 1;
  EXPECT_EQ(verify(graph, apart), std::nullopt);
}

TEST(ModuloSchedule, ProductsOfAWarpgroupAreIssuedBetweenItsOps) {
  LoopGraph graph = chains(1);
  for (LoopOp &op : graph.ops)
    op.cluster = 0;
  ModuloSchedule schedule{50, {0, 10, 30}, {0, 10, 30}, {0}};
  EXPECT_EQ(verify(graph, schedule), std::nullopt);
  // The first product of the next iteration is issued while exp runs.
  schedule.issues[0] = -35;
  EXPECT_EQ(verify(graph, schedule).value_or("").substr(0, 9), "modulo.M3");
  // Issued after the second product, it cannot run before it.
  schedule.issues[0] = -15;
  schedule.starts[2] = 42;
  EXPECT_EQ(verify(graph, schedule).value_or("").substr(0, 9), "modulo.M2");
}

TEST(ModuloSchedule, BoundsAreOfUnitsWarpgroupsAndCycles) {
  LoopGraph graph = chains(2);
  std::vector<Bound> bounds = boundsOf(graph);
  EXPECT_EQ(bounds.front().clocks, 40u);
  EXPECT_EQ(bounds.front().what, "unit MMA");
  // A cycle of 10 + 20 + 10 + 5 clocks over one iteration.
  graph.dependences.push_back({2, 0, 1, 5});
  bounds = boundsOf(graph);
  EXPECT_EQ(bounds.front().clocks, 45u);
  EXPECT_EQ(bounds.front().what, "cycle first0 -> exp0 -> second0");
  // Over two iterations it takes half of that.
  graph.dependences.back().distance = 2;
  EXPECT_EQ(boundsOf(graph).front().what, "unit MMA");
}

TEST(ModuloSchedule, DependencesBoundTheLengthOfAnIteration) {
  LoopGraph graph = chains(2);
  EXPECT_EQ(leastLength(graph, 40, 0), 40);
  // A product hands over to arithmetic, and that to a product.
  EXPECT_EQ(leastLength(graph, 40, 5), 50);
  // A cycle of 10 + 20 + 10 + 5 clocks over one iteration.
  graph.dependences.push_back({2, 0, 1, 5});
  EXPECT_EQ(leastLength(graph, 44, 0), std::nullopt);
  EXPECT_EQ(leastLength(graph, 45, 0), 40);
  EXPECT_EQ(leastLength(graph, 45, 1), std::nullopt);
  EXPECT_EQ(leastLength(graph, 47, 1), 42);
  // A load may begin long before, and a reuse hands nothing over.
  graph.ops[0].executor = Executor::Tma;
  EXPECT_EQ(leastLength(graph, 100, 5), 50) << "of the other tile";
  graph.dependences[3].reuses = true;
  EXPECT_EQ(leastLength(graph, 100, 5), 45);
}

TEST(ModuloSchedule, RegistersSeparateWarpgroups) {
  LoopGraph graph = chains(2);
  EXPECT_EQ(warpgroupsOf(graph).size(), 2u);
  for (Cluster &cluster : graph.clusters)
    cluster.held = 120;
  EXPECT_EQ(warpgroupsOf(graph), (std::vector<std::vector<unsigned>>{{0, 1}}));
  graph.registers = 300;
  EXPECT_TRUE(warpgroupsOf(graph).empty());
}

TEST(ModuloSchedule, AWarpgroupHasOneRoleOfTheFamily) {
  LoopGraph graph = chains(2);
  graph.ops[4].role = "correction";
  EXPECT_EQ(warpgroupsOf(graph), (std::vector<std::vector<unsigned>>{{0, 1}}));
  ModuloSchedule shared = inTurn();
  shared.warpgroups = {0, 0};
  EXPECT_EQ(verify(graph, shared).value_or("").substr(0, 9), "modulo.M5");
}

TEST(ModuloSchedule, TheBusiestWarpgroupIsTheLeastFirst) {
  LoopGraph graph = chains(3);
  graph.ops[1].mostClocks = 60;
  graph.warpgroups = 2;
  EXPECT_EQ(warpgroupsOf(graph).front(), (std::vector<unsigned>{0, 1, 1}));
}

TEST(Arrange, EqualOpsHaveEqualStages) {
  std::vector<Place> places = arrange(chains(2), inTurn());
  EXPECT_EQ(places[1], (Place{"compute0", 0, 0}));
  EXPECT_EQ(places[4], (Place{"compute1", 0, 0}));
  EXPECT_EQ(places[0].stage, places[3].stage);
  EXPECT_EQ(places[2].stage, places[5].stage);
  std::set<unsigned> orders;
  for (unsigned op : {0u, 2u, 3u, 5u})
    orders.insert(places[op].order);
  EXPECT_EQ(orders, (std::set<unsigned>{0, 1, 2, 3}));
}

TEST(Arrange, OpsUnderOneConditionStayTogether) {
  LoopGraph graph = chains(2);
  for (unsigned op : {3u, 4u, 5u})
    graph.ops[op].branch = 0;
  std::vector<Place> places = arrange(graph, inTurn());
  unsigned a = places[3].order, b = places[5].order;
  EXPECT_EQ(std::max(a, b) - std::min(a, b), 1u);
}

TEST(Gantt, ALineHasAColumnForEachPartOfTwoIntervals) {
  std::string text = gantt(chains(2), inTurn(), 8);
  EXPECT_EQ(text.substr(0, text.find('\n')), "MMA      |0532|0532|");
  EXPECT_NE(ganttSvg(chains(2), inTurn()).find("second1"), std::string::npos);
}

TEST(DerivedPipelines, PlacesArePrintedAndRead) {
  std::vector<NamedPlace> places = {{"dot0", {"mma", 1, 12}},
                                    {"exp20", {"softmax0", 0, 0}}};
  EXPECT_EQ(printPlaces(places), "dot0=mma/1/12 exp20=softmax0/0/0");
  EXPECT_EQ(readPlaces(printPlaces(places)), places);
  for (const char *wrong : {"dot0", "dot0=mma/1", "dot0=mma/x/1", "=mma/1/1"})
    EXPECT_FALSE(readPlaces(wrong)) << wrong;
}

TEST(DerivedPipelines, RowsAreUniqueAndReadable) {
  std::set<std::tuple<std::string_view, unsigned, uint64_t>> keys;
  for (const DerivedPipeline &row : derivedPipelines()) {
    EXPECT_TRUE(keys.insert({row.target, row.headDim, row.structure}).second)
        << row.title;
    auto places = readPlaces(row.places);
    ASSERT_TRUE(places) << row.title;
    for (const NamedPlace &named : *places)
      EXPECT_LE(named.place.stage, 1u) << row.title << ": " << named.op;
    EXPECT_GE(row.interval, row.bound);
    EXPECT_EQ(findPipeline(row.target, row.headDim, row.structure), &row);
  }
  EXPECT_EQ(findPipeline("sm_100a", 128, 1), nullptr);
}

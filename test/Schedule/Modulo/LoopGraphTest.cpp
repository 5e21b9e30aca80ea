//===- LoopGraphTest.cpp - Graphs of loops --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"

#include <gtest/gtest.h>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

TEST(LoopGraph, JsonKeepsRandomGraphs) {
  unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 100; ++n) {
    LoopGraph graph = randomGraph(random);
    graph.ops.front().branch = 1;
    graph.ops.back().reduces = true;
    std::string error;
    std::optional<LoopGraph> read = readJson(printJson(graph), error);
    ASSERT_TRUE(read) << error << ", seed " << seed;
    EXPECT_EQ(*read, graph) << "seed " << seed;
    EXPECT_EQ(structureOf(*read), structureOf(graph));
  }
}

TEST(LoopGraph, AnErrorOfJsonSaysWhatIsExpected) {
  std::string error;
  EXPECT_FALSE(readJson("{", error));
  EXPECT_NE(error.find("expected a loop graph"), std::string::npos) << error;
  LoopGraph graph = chains(1);
  graph.dependences.push_back({7, 0});
  EXPECT_FALSE(readJson(printJson(graph), error));
  EXPECT_EQ(error, "a dependence of ops 7 and 0: expected numbers below 3");
}

/// Numbers that JSON could convert to others are none of a graph.
TEST(LoopGraph, NumbersOfJsonAreWholeAndOf32Bits) {
  for (const char *number :
       {"-1", "1.5", "true", "4294967296", "\"8\"", "[]"}) {
    std::string text = printJson(chains(1)), error;
    text.replace(text.find("\"warpgroups\": 3"), 15,
                 std::string("\"warpgroups\": ") + number);
    EXPECT_FALSE(readJson(text, error)) << number;
    EXPECT_NE(error.find("warpgroups: expected a whole number of 32 bits"),
              std::string::npos)
        << error;
  }
}

TEST(LoopGraph, CheckRefusesWhatSolverAndChartsDoNotTake) {
  using Change = void (*)(LoopGraph &);
  const std::pair<Change, const char *> cases[] = {
      {[](LoopGraph &g) { g.ops.clear(), g.dependences.clear(); },
       "the graph: expected ops from 1 to 256, got 0"},
      {[](LoopGraph &g) { g.warpgroups = 0; },
       "the graph: expected warpgroups from 1 to 8, got 0"},
      {[](LoopGraph &g) { g.warpgroups = 4000000000; },
       "the graph: expected warpgroups from 1 to 8, got 4000000000"},
      {[](LoopGraph &g) { g.clusters.resize(16, g.clusters[0]); },
       "the graph: expected clusters from 0 to 8, got 16"},
      {[](LoopGraph &g) { g.ops[1].role = ""; },
       "exp0: expected the role of an op of letters, digits and underscores, "
       "got \"\""},
      {[](LoopGraph &g) { g.ops[1].name = "a\"b"; },
       "expected the name of an op of letters, digits and underscores, got "
       "\"a\"b\""},
      {[](LoopGraph &g) { g.ops[1].mostClocks = 1; },
       "exp0: expected most clocks from 20 to 262144, got 1"},
      {[](LoopGraph &g) { g.ops[0].clocks = g.ops[0].mostClocks = -1; },
       "first0: expected clocks from 0 to 262144, got 4294967295"},
      {[](LoopGraph &g) { g.dependences[0].distance = -1; },
       "a dependence of ops 0 and 1: expected a distance from 0 to 16, got "
       "4294967295"},
      {[](LoopGraph &g) { g.clusters[0].held = -1; },
       "cluster exp0: expected held registers from 0 to 65536, got "
       "4294967295"}};
  for (const auto &[change, expected] : cases) {
    LoopGraph graph = chains(1);
    change(graph);
    EXPECT_EQ(check(graph).value_or("nothing"), expected);
  }
}

TEST(LoopGraph, CheckFindsACycleWithoutADistance) {
  LoopGraph graph = chains(1);
  EXPECT_FALSE(check(graph));
  graph.dependences.push_back({2, 0, 1});
  EXPECT_FALSE(check(graph));
  graph.dependences.push_back({2, 0, 0});
  std::optional<std::string> wrong = check(graph);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(*wrong, "first0 waits for itself in one iteration: expected a "
                    "dependence with a distance in each cycle");
}

TEST(LoopGraph, StructureIgnoresClocksAndNothingElse) {
  LoopGraph graph = chains(2), other = graph;
  other.ops[0].clocks = 11;
  other.title = "another";
  EXPECT_EQ(structureOf(other), structureOf(graph));
  other.dependences[1].distance = 1;
  EXPECT_NE(structureOf(other), structureOf(graph));
  other = graph;
  other.ops[1].cluster = 1;
  EXPECT_NE(structureOf(other), structureOf(graph));
}

TEST(LoopGraph, EqualOpsOfTwoTilesAreOfOneKind) {
  std::vector<unsigned> kinds = kindsOf(chains(2));
  EXPECT_EQ(kinds[0], kinds[3]);
  EXPECT_EQ(kinds[2], kinds[5]);
  EXPECT_NE(kinds[0], kinds[2]);
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

/// A maximum, two ops that use it, and a product of the second one.
static LoopGraph rowProgram() {
  LoopGraph graph;
  graph.clusters = {{"row", 0, 16}};
  graph.ops = {arithmetic("max", 4, Unit::Alu, 0),
               arithmetic("exp", 10, Unit::Mufu, 0),
               arithmetic("cast", 3, Unit::Alu, 0), product("dot", 8)};
  graph.ops[0].reduces = true;
  graph.dependences = {{0, 1}, {1, 2}, {2, 3}};
  return graph;
}

TEST(Fuse, UnitsOfOnePieceOverlap) {
  FusedGraph fused = fuse(rowProgram());
  EXPECT_EQ(fused.opOf, (std::vector<unsigned>{0, 1, 1, 2}));
  ASSERT_EQ(fused.graph.ops.size(), 3u);
  EXPECT_EQ(fused.graph.ops[1].clocks, 10u);
  EXPECT_EQ(fused.graph.ops[1].exclusiveUnit(), Unit::Mufu);
}

TEST(Fuse, AWaitBeginsAPiece) {
  LoopGraph graph = rowProgram();
  // The product of the previous iteration still reads what cast overwrites.
  graph.dependences.push_back({3, 2, 1, 0, 0, true});
  EXPECT_EQ(fuse(graph).opOf, (std::vector<unsigned>{0, 1, 2, 3}));
  // The maximum waits for it already.
  graph.dependences.push_back({3, 0, 1});
  EXPECT_EQ(fuse(graph).opOf, (std::vector<unsigned>{0, 1, 1, 2}));
}

TEST(Fuse, AHandOverEndsAPiece) {
  LoopGraph graph = rowProgram();
  graph.dependences.push_back({1, 3});
  EXPECT_EQ(fuse(graph).opOf, (std::vector<unsigned>{0, 1, 2, 3}));
}

TEST(Fuse, LatencyInsideAPieceIsPartOfIt) {
  LoopGraph graph = rowProgram();
  graph.dependences[1].latency = 5;
  EXPECT_EQ(fuse(graph).graph.ops[1].clocks, 15u);
}

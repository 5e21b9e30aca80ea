//===- Graphs.h - Small loop graphs for tests -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_SCHEDULE_MODULO_GRAPHS_H
#define FMHA_TEST_SCHEDULE_MODULO_GRAPHS_H

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

#include <random>

namespace fmha::schedule::modulo {

inline LoopOp product(const std::string &name, unsigned clocks) {
  LoopOp op{name, "mma", Executor::Mma, clocks, clocks};
  op.uses = {{Unit::Mma, clocks}};
  return op;
}

inline LoopOp arithmetic(const std::string &name, unsigned clocks, Unit unit,
                         unsigned cluster) {
  LoopOp op{name, "compute*", Executor::Threads, clocks, clocks};
  op.uses = {{unit, clocks}};
  op.cluster = cluster;
  return op;
}

/// A product, arithmetic on its result, and a product of that, for each of
/// `tiles`: 10, 20 and 10 clocks, without latencies.
inline LoopGraph chains(unsigned tiles) {
  LoopGraph graph;
  for (unsigned tile = 0; tile < tiles; ++tile) {
    std::string number = std::to_string(tile);
    unsigned first = unsigned(graph.ops.size());
    graph.ops.push_back(product("first" + number, 10));
    graph.ops.push_back(arithmetic("exp" + number, 20, Unit::Mufu, tile));
    graph.ops.push_back(product("second" + number, 10));
    graph.dependences.push_back({first, first + 1});
    graph.dependences.push_back({first + 1, first + 2});
    graph.clusters.push_back({"exp" + number, 0, 16});
  }
  return graph;
}

/// Returns a random graph of up to five ops that take up to three clocks, on
/// two units and in up to two clusters. Ops depend on earlier ones of the same
/// iteration, or on any of an earlier one.
inline LoopGraph randomGraph(std::mt19937 &random) {
  auto below = [&](unsigned count) { return unsigned(random() % count); };
  LoopGraph graph;
  graph.warpgroups = 1 + below(2);
  unsigned clusters = 1 + below(2);
  for (unsigned n = 0; n < clusters; ++n)
    graph.clusters.push_back({"c" + std::to_string(n), 0, 16});
  unsigned count = 2 + below(4);
  for (unsigned n = 0; n < count; ++n) {
    std::string name = "op" + std::string(1, char('a' + n));
    unsigned clocks = 1 + below(3);
    graph.ops.push_back(
        below(2) ? product(name, clocks)
                 : arithmetic(name, clocks, Unit::Mufu, below(clusters)));
  }
  for (unsigned n = 0; n < count + 1; ++n) {
    unsigned from = below(count), to = below(count);
    unsigned distance = from < to ? below(2) : 1 + below(2);
    graph.dependences.push_back({from, to, distance, below(3)});
  }
  return graph;
}

} // namespace fmha::schedule::modulo

#endif // FMHA_TEST_SCHEDULE_MODULO_GRAPHS_H

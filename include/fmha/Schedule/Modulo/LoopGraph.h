//===- LoopGraph.h - The ops of a tiled loop as a graph ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One iteration of a loop on tiles: what each op keeps busy and for how long,
// and which ops of this or an earlier iteration it waits for. The graph has no
// op of attention: tile-print-loop-graph makes it from ops and SSA values.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODULO_LOOPGRAPH_H
#define FMHA_SCHEDULE_MODULO_LOOPGRAPH_H

#include "fmha/Schedule/Cost/CostModel.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fmha::schedule::modulo {

/// Who executes an op: threads, which wait until it ends, or a unit to which a
/// thread hands it over.
enum class Executor { Threads, Mma, Tma };
inline constexpr std::string_view executorNames[] = {"threads", "mma", "tma"};

/// Clocks that an op keeps a unit busy.
struct Use {
  Unit unit;
  unsigned clocks;
  bool operator==(const Use &) const = default;
};

struct LoopOp {
  /// The op's name and its number among ops of that name: "dot0".
  std::string name;
  /// The role that the kernel family gives it, without an instance: names the
  /// role of a warpgroup.
  std::string role;
  Executor executor = Executor::Threads;
  /// Clocks from start to end: expected, and if each condition holds.
  unsigned clocks = 0, mostClocks = 0;
  std::vector<Use> uses;
  /// The set of ops that share registers, by number; none if the op has none.
  std::optional<unsigned> cluster;
  /// The condition that the loop does not change and under which the op runs,
  /// by number. Ops of one role under one condition stay together.
  std::optional<unsigned> branch;
  /// Its result needs all of its input, such as the maximum of a row.
  bool reduces = false;

  /// Returns the unit that the op keeps busy from start to end.
  std::optional<Unit> exclusiveUnit() const;
  bool operator==(const LoopOp &) const = default;
};

/// Op `to` of iteration i + `distance` starts `latency` clocks or more after
/// the end of op `from` of iteration i.
struct Dependence {
  unsigned from, to, distance = 0, latency = 0;
  /// Clocks more if the two ops run in different warpgroups.
  unsigned crossing = 0;
  /// `to` overwrites what `from` reads; otherwise `to` reads what `from`
  /// writes.
  bool reuses = false;
  bool operator==(const Dependence &) const = default;
};

/// Ops that share registers run in one warpgroup.
struct Cluster {
  std::string name;
  /// Registers of a thread: those that stay from one iteration to the next or
  /// belong to a product in flight, and the most of all others at once.
  unsigned held = 0, transient = 0;
  bool operator==(const Cluster &) const = default;
};

struct LoopGraph {
  /// The kernel of the loop: "sm_100a head_dim=128 q_tiles=2 ...".
  std::string title;
  std::vector<LoopOp> ops;
  std::vector<Dependence> dependences;
  std::vector<Cluster> clusters;
  /// Warpgroups that may have clusters; the sum of the registers per thread of
  /// these warpgroups; the most registers of one thread; and the registers that
  /// a thread needs in addition to those of tiles.
  unsigned warpgroups = 3, registers = 512, threadRegisters = 255,
           otherRegisters = 40;
  /// Query rows and keys of an iteration.
  unsigned rows = 0, keys = 0;

  bool operator==(const LoopGraph &) const = default;
};

/// Returns a number that is the same for graphs with the same ops, dependences,
/// clusters and branches, even if clocks and registers differ.
uint64_t structureOf(const LoopGraph &graph);

/// Returns the kind of each op, a number. Two ops have the same kind if their
/// names differ only in the number at the end, and the ops of this iteration
/// that they wait for have the same kinds.
std::vector<unsigned> kindsOf(const LoopGraph &graph);

/// Returns the graph as text, one line per op and dependence.
std::string print(const LoopGraph &graph);
/// Returns the graph for Graphviz, or in JSON.
std::string printDot(const LoopGraph &graph);
std::string printJson(const LoopGraph &graph);
/// Reads what printJson() writes. On failure sets `error`, a message.
std::optional<LoopGraph> readJson(std::string_view text, std::string &error);

/// Returns why the graph is invalid, such as an op that waits for itself in
/// one iteration, or nothing.
std::optional<std::string> check(const LoopGraph &graph);

/// A graph with fewer ops, and the op there for each op of the original graph.
struct FusedGraph {
  LoopGraph graph;
  std::vector<unsigned> opOf;
};
/// Merges ops of a cluster that follow each other in the order of the program
/// if between them the thread waits for no other executor and hands nothing
/// over: they are one piece of code, in which units work at the same time. An
/// op that uses the result of a reduction begins a new piece. The pieces of a
/// cluster keep the order of the program, as passes do.
FusedGraph fuse(const LoopGraph &graph);

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_MODULO_LOOPGRAPH_H

//===- LoopGraph.cpp - The ops of a tiled loop as a graph -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/LoopGraph.h"

#include "Model/Text.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <tuple>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

std::optional<Unit> LoopOp::exclusiveUnit() const {
  for (const Use &use : uses)
    if (use.clocks == clocks && clocks)
      return use.unit;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Returns `name` without the number at its end.
static std::string baseOf(const std::string &name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

namespace {

/// FNV-1a, which has the same result on every machine.
class Hash {
public:
  void add(uint64_t number) {
    for (unsigned byte = 0; byte < 8; ++byte)
      addByte(uint8_t(number >> 8 * byte));
  }
  void add(const std::string &text) {
    for (char letter : text)
      addByte(uint8_t(letter));
    addByte(0);
  }
  uint64_t value() const { return state; }

private:
  void addByte(uint8_t byte) { state = (state ^ byte) * 0x100000001b3; }
  uint64_t state = 0xcbf29ce484222325;
};

} // namespace

uint64_t fmha::schedule::modulo::structureOf(const LoopGraph &graph) {
  Hash hash;
  auto addOptional = [&](std::optional<unsigned> number) {
    hash.add(number ? *number + 1 : 0);
  };
  for (const LoopOp &op : graph.ops) {
    hash.add(op.name);
    hash.add(uint64_t(op.executor));
    addOptional(op.cluster);
    addOptional(op.branch);
  }
  for (const Dependence &edge : graph.dependences) {
    hash.add(edge.from);
    hash.add(edge.to);
    hash.add(edge.distance);
    hash.add(edge.reuses);
  }
  return hash.value();
}

std::vector<unsigned> fmha::schedule::modulo::kindsOf(const LoopGraph &graph) {
  using Key = std::pair<std::string, std::vector<unsigned>>;
  std::map<Key, unsigned> numbers;
  std::vector<unsigned> kinds(graph.ops.size());
  // Ops are in program order, so those of this iteration come before.
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    Key key{baseOf(graph.ops[op].name), {}};
    for (const Dependence &edge : graph.dependences)
      if (edge.to == op && !edge.distance && !edge.reuses && edge.from < op)
        key.second.push_back(kinds[edge.from]);
    std::sort(key.second.begin(), key.second.end());
    kinds[op] = numbers.try_emplace(std::move(key), unsigned(numbers.size()))
                    .first->second;
  }
  return kinds;
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

/// Returns an op that waits for itself in one iteration.
static std::optional<unsigned> findLoop(const LoopGraph &graph) {
  std::vector<unsigned> open(graph.ops.size());
  for (const Dependence &edge : graph.dependences)
    open[edge.to] += !edge.distance;
  std::vector<unsigned> ready;
  for (unsigned op = 0; op < open.size(); ++op)
    if (!open[op])
      ready.push_back(op);
  for (size_t n = 0; n < ready.size(); ++n)
    for (const Dependence &edge : graph.dependences)
      if (!edge.distance && edge.from == ready[n] && !--open[edge.to])
        ready.push_back(edge.to);
  if (ready.size() == open.size())
    return std::nullopt;
  return std::find_if(open.begin(), open.end(),
                      [](unsigned count) { return count != 0; }) -
         open.begin();
}

namespace {

/// A number of a graph, and the least and the most that it may be.
struct Number {
  const char *what;
  uint64_t value, least, most;
};

} // namespace

/// Limits so that sums of clocks and of registers fit 32 bits. The solver has
/// rules for each pair of ops and for each partition of clusters, so that more
/// of them would take too long.
static constexpr uint64_t mostOps = 256, mostDependences = 4096,
                          mostClusters = 8, mostWarpgroups = 8,
                          mostClocks = 1 << 18, mostRegisters = 1 << 16,
                          mostDistance = 16;

static std::optional<std::string>
findOutside(const std::string &of, std::initializer_list<Number> numbers) {
  for (const Number &number : numbers)
    if (number.value < number.least || number.value > number.most)
      return of + ": expected " + number.what + " from " + str(number.least) +
             " to " + str(number.most) + ", got " + str(number.value);
  return std::nullopt;
}

/// Names of ops and roles are words in text, charts and rows.
static std::optional<std::string>
checkName(const char *what, const std::string &name, bool hasInstances) {
  std::string_view word = name;
  if (hasInstances && word.ends_with('*'))
    word.remove_suffix(1);
  bool isWord =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) ||
               letter == '_';
      });
  if (isWord)
    return std::nullopt;
  return std::string("expected ") + what +
         " of letters, digits and underscores, got \"" + name + "\"";
}

static std::optional<std::string> checkOp(const LoopOp &op) {
  if (auto wrong = checkName("the name of an op", op.name, false))
    return wrong;
  if (auto wrong = checkName("the role of an op", op.role, true))
    return op.name + ": " + *wrong;
  return findOutside(op.name,
                     {{"clocks", op.clocks, 0, mostClocks},
                      {"most clocks", op.mostClocks, op.clocks, mostClocks}});
}

/// Checks the extents of the graph and the sizes of its numbers.
static std::optional<std::string> checkNumbers(const LoopGraph &graph) {
  if (auto wrong = findOutside(
          "the graph",
          {{"ops", graph.ops.size(), 1, mostOps},
           {"dependences", graph.dependences.size(), 0, mostDependences},
           {"clusters", graph.clusters.size(), 0, mostClusters},
           {"warpgroups", graph.warpgroups, 1, mostWarpgroups},
           {"registers", graph.registers, 0, mostRegisters},
           {"thread registers", graph.threadRegisters, 0, mostRegisters},
           {"other registers", graph.otherRegisters, 0, mostRegisters}}))
    return wrong;
  for (const LoopOp &op : graph.ops)
    if (auto wrong = checkOp(op))
      return wrong;
  for (const Dependence &edge : graph.dependences)
    if (auto wrong = findOutside(
            "a dependence of ops " + str(edge.from) + " and " + str(edge.to),
            {{"a distance", edge.distance, 0, mostDistance},
             {"a latency", edge.latency, 0, mostClocks},
             {"clocks of crossing", edge.crossing, 0, mostClocks}}))
      return wrong;
  for (const Cluster &cluster : graph.clusters)
    if (auto wrong = findOutside(
            "cluster " + cluster.name,
            {{"held registers", cluster.held, 0, mostRegisters},
             {"transient registers", cluster.transient, 0, mostRegisters}}))
      return wrong;
  return std::nullopt;
}

std::optional<std::string>
fmha::schedule::modulo::check(const LoopGraph &graph) {
  if (std::optional<std::string> wrong = checkNumbers(graph))
    return wrong;
  for (const Dependence &edge : graph.dependences)
    if (std::max(edge.from, edge.to) >= graph.ops.size())
      return "a dependence of ops " + str(edge.from) + " and " + str(edge.to) +
             ": expected numbers below " + str(graph.ops.size());
  for (const LoopOp &op : graph.ops) {
    if (op.cluster && *op.cluster >= graph.clusters.size())
      return op.name + " is of cluster " + str(*op.cluster) +
             ": expected a number below " + str(graph.clusters.size());
    if (op.executor == Executor::Threads && !op.cluster)
      return op.name + " is an op of threads: expected a cluster, got none";
    for (const Use &use : op.uses)
      if (use.clocks > op.clocks)
        return op.name + " keeps " + std::string(stringify(use.unit)) +
               " busy for " + str(use.clocks) + " of its " + str(op.clocks) +
               " clocks: expected no more";
  }
  if (std::optional<unsigned> op = findLoop(graph))
    return graph.ops[*op].name +
           " waits for itself in one iteration: expected a dependence with a "
           "distance in each cycle";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string usesOf(const LoopOp &op) {
  std::string text;
  for (const Use &use : op.uses)
    text += (text.empty() ? "" : ", ") + std::string(stringify(use.unit)) +
            " " + str(use.clocks);
  return text;
}

std::string fmha::schedule::modulo::print(const LoopGraph &graph) {
  std::string text = graph.title + ": " + str(graph.rows) + " rows, " +
                     str(graph.keys) + " keys\n";
  for (const LoopOp &op : graph.ops) {
    text += op.name + ": " + op.role + ", " + str(op.clocks) + " clk";
    if (op.mostClocks != op.clocks)
      text += " (" + str(op.mostClocks) + " at most)";
    if (!op.uses.empty())
      text += ", " + usesOf(op);
    if (op.cluster)
      text += ", registers of " + graph.clusters[*op.cluster].name;
    if (op.branch)
      text += ", under condition " + str(*op.branch);
    text += "\n";
  }
  for (const Dependence &edge : graph.dependences)
    text += graph.ops[edge.from].name + (edge.reuses ? " ~> " : " -> ") +
            graph.ops[edge.to].name + ": distance " + str(edge.distance) +
            ", latency " + str(edge.latency) +
            (edge.crossing ? " + " + str(edge.crossing) : "") + "\n";
  for (const Cluster &cluster : graph.clusters)
    text += cluster.name + ": " + str(cluster.held) + " + " +
            str(cluster.transient) + " registers\n";
  return text;
}

std::string fmha::schedule::modulo::printDot(const LoopGraph &graph) {
  std::string text = "digraph loop {\n  node [shape=box];\n";
  for (const LoopOp &op : graph.ops)
    text += "  " + op.name + " [label=\"" + op.name + "\\n" + op.role + "\\n" +
            str(op.clocks) + " clk\"];\n";
  for (const Dependence &edge : graph.dependences)
    text += "  " + graph.ops[edge.from].name + " -> " +
            graph.ops[edge.to].name + " [label=\"" + str(edge.distance) + "\"" +
            (edge.reuses ? ", style=dashed" : "") + "];\n";
  return text + "}\n";
}

//===- Fuse.cpp - One op for each piece of code without waits -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/LoopGraph.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

namespace {

/// A run of ops of one cluster in program order.
struct Piece {
  std::vector<unsigned> ops;
  /// Whether another executor or cluster waits for its last op.
  bool handsOver = false;
};

class Fusion {
public:
  explicit Fusion(const LoopGraph &graph) : graph(graph) {}
  FusedGraph run();

private:
  using Clocks = std::vector<std::vector<int64_t>>;

  bool isInside(unsigned a, unsigned b) const;
  void relax(Clocks &most, const Dependence &edge) const;
  bool isImplied(const Dependence &edge) const;
  bool waits(unsigned op, const Piece &piece) const;
  bool handsOver(unsigned op) const;
  void assign();
  unsigned latencyIn(const Piece &piece) const;
  LoopOp merge(const Piece &piece) const;
  void addDependences();
  void keepOrder();

  const LoopGraph &graph;
  std::vector<Piece> pieces;
  FusedGraph made;
};

} // namespace

/// Whether both are ops of threads with common registers.
bool Fusion::isInside(unsigned a, unsigned b) const {
  const LoopOp &from = graph.ops[a], &to = graph.ops[b];
  return from.executor == Executor::Threads &&
         to.executor == Executor::Threads && from.cluster == to.cluster &&
         from.branch == to.branch;
}

/// most[op][d] is the longest path to `op` with a distance of d.
void Fusion::relax(Clocks &most, const Dependence &edge) const {
  int64_t weight = graph.ops[edge.from].clocks + edge.latency;
  for (unsigned d = edge.distance; d < most[edge.to].size(); ++d) {
    int64_t before = most[edge.from][d - edge.distance];
    if (before >= 0)
      most[edge.to][d] = std::max(most[edge.to][d], before + weight);
  }
}

/// Whether other dependences imply `edge`.
bool Fusion::isImplied(const Dependence &edge) const {
  Clocks most(graph.ops.size(), std::vector<int64_t>(edge.distance + 1, -1));
  most[edge.from][0] = 0;
  for (size_t round = 0; round < graph.ops.size(); ++round)
    for (const Dependence &other : graph.dependences)
      if (!(other == edge) && other.to != edge.from)
        relax(most, other);
  int64_t weight = graph.ops[edge.from].clocks + edge.latency;
  return *std::max_element(most[edge.to].begin(), most[edge.to].end()) >=
         weight;
}

/// Whether `op` waits for something that `piece` does not.
bool Fusion::waits(unsigned op, const Piece &piece) const {
  auto isOwn = [&](unsigned from) {
    return std::find(piece.ops.begin(), piece.ops.end(), from) !=
           piece.ops.end();
  };
  for (const Dependence &edge : graph.dependences) {
    if (edge.to != op)
      continue;
    if (isOwn(edge.from) && !edge.distance) {
      if (graph.ops[edge.from].reduces && !edge.reuses)
        return true;
    } else if (!isInside(edge.from, op) && !isImplied(edge)) {
      return true;
    }
  }
  return false;
}

bool Fusion::handsOver(unsigned op) const {
  return std::any_of(graph.dependences.begin(), graph.dependences.end(),
                     [&](const Dependence &edge) {
                       return edge.from == op && !edge.reuses &&
                              !edge.distance && !isInside(op, edge.to);
                     });
}

void Fusion::assign() {
  made.opOf.resize(graph.ops.size());
  std::map<unsigned, unsigned> last;
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    std::optional<unsigned> cluster = graph.ops[op].cluster;
    bool ofThreads = graph.ops[op].executor == Executor::Threads;
    auto before = ofThreads ? last.find(*cluster) : last.end();
    if (before != last.end()) {
      Piece &piece = pieces[before->second];
      if (!piece.handsOver && isInside(piece.ops.back(), op) &&
          !waits(op, piece)) {
        piece.ops.push_back(op);
        piece.handsOver = handsOver(op);
        made.opOf[op] = before->second;
        continue;
      }
    }
    made.opOf[op] = unsigned(pieces.size());
    pieces.push_back({{op}, ofThreads && handsOver(op)});
    if (ofThreads)
      last[*cluster] = made.opOf[op];
  }
}

/// Returns the latency on the longest path inside of a piece.
unsigned Fusion::latencyIn(const Piece &piece) const {
  std::map<unsigned, unsigned> until;
  unsigned most = 0;
  for (unsigned op : piece.ops)
    for (const Dependence &edge : graph.dependences)
      if (edge.to == op && !edge.distance &&
          until.count(edge.from) +
              std::count(piece.ops.begin(), piece.ops.end(), edge.from)) {
        until[op] = std::max(until[op], until[edge.from] + edge.latency);
        most = std::max(most, until[op]);
      }
  return most;
}

LoopOp Fusion::merge(const Piece &piece) const {
  LoopOp op = graph.ops[piece.ops.front()];
  if (piece.ops.size() == 1)
    return op;
  std::map<Unit, unsigned> uses;
  unsigned busiest = 0, more = 0, longest = 0;
  for (unsigned member : piece.ops) {
    const LoopOp &part = graph.ops[member];
    for (const Use &use : part.uses)
      busiest = std::max(busiest, uses[use.unit] += use.clocks);
    more += part.mostClocks - part.clocks;
    longest = std::max(longest, part.clocks);
    op.reduces |= part.reduces;
  }
  op.clocks = std::max(busiest, longest) + latencyIn(piece);
  op.mostClocks = op.clocks + more;
  op.uses.clear();
  for (const auto &[unit, clocks] : uses)
    op.uses.push_back({unit, clocks});
  return op;
}

/// Adds the dependences between pieces. The first op of a piece waits for
/// everything that its later ops wait for; otherwise those would begin a new
/// one.
void Fusion::addDependences() {
  for (Dependence edge : graph.dependences) {
    bool begins = pieces[made.opOf[edge.to]].ops.front() == edge.to;
    edge.from = made.opOf[edge.from];
    edge.to = made.opOf[edge.to];
    bool known =
        std::find(made.graph.dependences.begin(), made.graph.dependences.end(),
                  edge) != made.graph.dependences.end();
    if (begins && !known && !(edge.from == edge.to && !edge.distance))
      made.graph.dependences.push_back(edge);
  }
}

void Fusion::keepOrder() {
  std::map<unsigned, unsigned> last;
  for (unsigned n = 0; n < pieces.size(); ++n) {
    const LoopOp &op = made.graph.ops[n];
    if (op.executor != Executor::Threads)
      continue;
    auto before = last.find(*op.cluster);
    if (before != last.end())
      made.graph.dependences.push_back({before->second, n});
    last[*op.cluster] = n;
  }
}

FusedGraph Fusion::run() {
  assign();
  made.graph = graph;
  made.graph.ops.clear();
  made.graph.dependences.clear();
  for (const Piece &piece : pieces)
    made.graph.ops.push_back(merge(piece));
  addDependences();
  keepOrder();
  return std::move(made);
}

FusedGraph fmha::schedule::modulo::fuse(const LoopGraph &graph) {
  return Fusion(graph).run();
}

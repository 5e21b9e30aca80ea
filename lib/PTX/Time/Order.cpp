//===- Order.cpp - The order that a compiler gives instructions -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hardware issues the instructions of a warp in the order of SASS, and ptxas
// finds that order for one warp that has all pipes to itself. The model does
// the same: a list scheduler goes through the clocks, and of the instructions
// that can issue it takes the one with the longest path to the end. The result
// has the pattern of the SASS of attention loops: an exponential every eighth
// instruction while there are FMAs, then sums between exponentials. ptxas does
// not keep uses of an exponential away from it: it lets hardware wait for the
// scoreboard. So the scheduler has a latency for exponentials that is shorter
// than theirs, and a warp that is alone waits.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include <numeric>

namespace ptxsim::timing {
namespace {

/// A step of straight-line code with the ones that have to come after it.
struct Node {
  const Code *code = nullptr;
  bool isFree = false, isOrdered = false;
  double latency = 0, interval = 0, height = 0, ready = 0;
  unsigned open = 0;
  struct After {
    uint32_t node;
    double latency;
  };
  std::vector<After> after;
};

/// Which nodes touched a row last.
struct Touched {
  std::optional<uint32_t> writer;
  std::vector<uint32_t> readers;
};

/// Straight-line code, as a compiler looks at it: nothing comes from before or
/// after.
class Block {
public:
  Block(const Recording &recording, const WarpRecord &warp,
        const Figures &figures, const std::vector<Order> &orders,
        uint32_t first, uint32_t last);
  std::vector<uint32_t> order();

private:
  void follow(uint32_t before, uint32_t after, double latency);
  void followRows(uint32_t at, uint32_t rowBase);
  void raise();
  std::optional<uint32_t> best(const std::vector<uint32_t> &left,
                               double now) const;

  std::vector<Node> nodes;
  /// Number of instructions not yet issued that the scheduler considers.
  size_t reach = 0;
  std::map<size_t, Touched> rows;
  std::array<double, kPipes> freeAt = {};
};

Block::Block(const Recording &recording, const WarpRecord &warp,
             const Figures &figures, const std::vector<Order> &orders,
             uint32_t first, uint32_t last)
    : nodes(last - first), reach(size_t(figures[Figure::CompilerReach])) {
  std::optional<uint32_t> ordered;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const Step &step = warp.steps[first + i];
    Node &node = nodes[i];
    node.code = &recording.codes[step.code];
    const CostClass &of = *node.code->of;
    node.isFree = step.isHelper || !of.slots;
    node.latency = step.isHelper ? 0 : figures[of.latency];
    if (of.latency == Figure::MufuLatency && !step.isHelper)
      node.latency = figures[Figure::CompilerMufuLatency];
    node.interval = figures[of.interval] * of.slots;
    followRows(i, step.rowBase);
    if (orders[first + i] == Order::Any)
      continue;
    if (ordered)
      follow(*ordered, i, 0);
    ordered = i;
  }
  raise();
}

void Block::follow(uint32_t before, uint32_t after, double latency) {
  if (before == after)
    return;
  nodes[before].after.push_back({after, latency});
  ++nodes[after].open;
}

/// Keeps the order of what writes a row and of what reads or writes it.
void Block::followRows(uint32_t at, uint32_t rowBase) {
  const Code &code = *nodes[at].code;
  for (uint32_t row : code.reads) {
    Touched &touched = rows[size_t(rowBase) + row];
    if (touched.writer)
      follow(*touched.writer, at, nodes[*touched.writer].latency);
    touched.readers.push_back(at);
  }
  for (uint32_t row : code.writes) {
    Touched &touched = rows[size_t(rowBase) + row];
    for (uint32_t reader : touched.readers)
      follow(reader, at, 0);
    if (touched.writer)
      follow(*touched.writer, at, 0);
    touched = {at, {}};
  }
}

/// Sets how long the way from each node to the end is.
void Block::raise() {
  for (Node &node : std::views::reverse(nodes)) {
    node.height = node.latency;
    for (const Node::After &after : node.after)
      node.height =
          std::max(node.height, after.latency + nodes[after.node].height);
  }
}

/// Returns the node that issues at the moment: one that takes no slot, or the
/// one with the longest way.
std::optional<uint32_t> Block::best(const std::vector<uint32_t> &left,
                                    double now) const {
  std::optional<uint32_t> chosen;
  for (uint32_t i : left | std::views::take(reach)) {
    const Node &node = nodes[i];
    if (node.open || node.ready > now)
      continue;
    if (node.isFree)
      return i;
    bool isBusy = node.code->of->pipe != Pipe::None &&
                  freeAt[size_t(node.code->of->pipe)] > now;
    if (!isBusy && (!chosen || node.height > nodes[*chosen].height))
      chosen = i;
  }
  return chosen;
}

std::vector<uint32_t> Block::order() {
  std::vector<uint32_t> left(nodes.size()), result;
  std::iota(left.begin(), left.end(), 0);
  for (double now = 0; !left.empty();) {
    std::optional<uint32_t> chosen = best(left, now);
    if (!chosen) {
      ++now;
      continue;
    }
    const Node &node = nodes[*chosen];
    for (const Node::After &after : node.after) {
      Node &next = nodes[after.node];
      next.ready = std::max(next.ready, now + after.latency);
      --next.open;
    }
    if (!node.isFree) {
      freeAt[size_t(node.code->of->pipe)] = now + node.interval;
      now += node.code->of->slots;
    }
    result.push_back(*chosen);
    std::erase(left, *chosen);
  }
  return result;
}

} // namespace

std::vector<Order> ordersOf(const Recording &recording,
                            const WarpRecord &warp) {
  std::vector<Order> orders;
  orders.reserve(warp.steps.size());
  for (const Step &step : warp.steps) {
    const Code &code = recording.codes[step.code];
    orders.push_back(code.control    ? Order::Last
                     : step.isHelper ? Order::Any
                                     : code.of->order);
  }
  for (const Fact &fact : warp.facts) {
    Order &order = orders[fact.step];
    if (order != Order::Last)
      order = fact.kind == Fact::Kind::Wait ? Order::Last : Order::Ordered;
  }
  return orders;
}

std::vector<uint32_t> CompiledOrder::of(const WarpRecord &warp,
                                        const std::vector<Order> &orders) {
  std::vector<uint32_t> result;
  result.reserve(warp.steps.size());
  uint32_t size = uint32_t(warp.steps.size());
  for (uint32_t first = 0, last = 0; first < size; first = last) {
    while (last < size && orders[last] != Order::Last)
      ++last;
    for (uint32_t at : block(warp, orders, first, last))
      result.push_back(first + at);
    if (last < size)
      result.push_back(last++);
  }
  return result;
}

const std::vector<uint32_t> &
CompiledOrder::block(const WarpRecord &warp, const std::vector<Order> &orders,
                     uint32_t first, uint32_t last) {
  std::vector<uint32_t> key;
  for (uint32_t i = first; i < last; ++i) {
    const Step &step = warp.steps[i];
    key.push_back(step.code * 4 + uint32_t(orders[i]) * 2 + step.isHelper);
    key.push_back(step.rowBase - warp.steps[first].rowBase);
  }
  auto [found, isNew] = known.try_emplace(std::move(key));
  if (isNew)
    found->second =
        Block(recording, warp, figures, orders, first, last).order();
  return found->second;
}

} // namespace ptxsim::timing

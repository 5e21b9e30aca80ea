//===- ControlFlow.cpp - Reachability and immediate post-dominators -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Post-dominators by Cooper, Harvey and Kennedy's iteration ("A Simple, Fast
// Dominance Algorithm") on the reversed graph of basic blocks. A loop without
// an exit gets an edge to the virtual exit, so that its blocks are included.
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include <algorithm>

using namespace ptxsim;

namespace {

class FlowGraph {
public:
  explicit FlowGraph(const std::vector<Flow> &flow) : flow(flow) {}
  void build();
  void findPostDominators();
  std::vector<bool> reachable() const;
  uint32_t reconvergenceOf(uint32_t inst) const;

private:
  void addReverseEdges();
  void visit(uint32_t root);
  uint32_t intersect(uint32_t a, uint32_t b) const;

  const std::vector<Flow> &flow;
  std::vector<uint32_t> blockOf, first, last;
  std::vector<std::vector<uint32_t>> next, previous;
  // Reverse postorder of the reversed graph; number[] is its inverse.
  std::vector<uint32_t> order, number, dominator;
  uint32_t exit = 0;
};

constexpr uint32_t kNone = UINT32_MAX;

void FlowGraph::build() {
  std::vector<bool> leader(flow.size() + 1, false);
  leader[0] = true;
  for (uint32_t i = 0; i < flow.size(); ++i) {
    if (flow[i].fallsThrough && flow[i].targets.empty())
      continue;
    leader[i + 1] = true;
    for (uint32_t target : flow[i].targets)
      leader[target] = true;
  }
  blockOf.resize(flow.size());
  for (uint32_t i = 0; i < flow.size(); ++i) {
    if (leader[i]) {
      first.push_back(i);
      last.push_back(i);
    }
    last.back() = i;
    blockOf[i] = uint32_t(first.size() - 1);
  }
  exit = uint32_t(first.size());
  next.resize(exit + 1);
  previous.resize(exit + 1);
  for (uint32_t block = 0; block < exit; ++block) {
    const Flow &end = flow[last[block]];
    if (end.fallsThrough && last[block] + 1 < flow.size())
      next[block].push_back(block + 1);
    for (uint32_t target : end.targets)
      next[block].push_back(blockOf[target]);
    if (next[block].empty())
      next[block].push_back(exit);
  }
}

void FlowGraph::visit(uint32_t root) {
  std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
  number[root] = 0;
  while (!stack.empty()) {
    auto &[node, edge] = stack.back();
    if (edge < previous[node].size()) {
      uint32_t child = previous[node][edge++];
      if (number[child] == kNone) {
        number[child] = 0;
        stack.push_back({child, 0});
      }
      continue;
    }
    order.push_back(node);
    stack.pop_back();
  }
}

void FlowGraph::addReverseEdges() {
  for (uint32_t block = 0; block < exit; ++block)
    for (uint32_t target : next[block])
      previous[target].push_back(block);
  // Give endless loops an edge to the exit until everything reaches it.
  number.assign(exit + 1, kNone);
  order.clear();
  visit(exit);
  for (uint32_t block = exit; block-- > 0;) {
    if (number[block] != kNone)
      continue;
    next[block].push_back(exit);
    previous[exit].push_back(block);
    visit(block);
  }
  number.assign(exit + 1, kNone);
  order.clear();
  visit(exit);
  std::reverse(order.begin(), order.end());
  for (uint32_t i = 0; i < order.size(); ++i)
    number[order[i]] = i;
}

uint32_t FlowGraph::intersect(uint32_t a, uint32_t b) const {
  while (a != b) {
    while (number[a] > number[b])
      a = dominator[a];
    while (number[b] > number[a])
      b = dominator[b];
  }
  return a;
}

void FlowGraph::findPostDominators() {
  addReverseEdges();
  dominator.assign(exit + 1, kNone);
  dominator[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block : order) {
      if (block == exit)
        continue;
      uint32_t best = kNone;
      for (uint32_t target : next[block])
        if (dominator[target] != kNone)
          best = best == kNone ? target : intersect(best, target);
      changed |= dominator[block] != best;
      dominator[block] = best;
    }
  }
}

std::vector<bool> FlowGraph::reachable() const {
  std::vector<bool> seen(exit + 1, false);
  std::vector<uint32_t> work{0};
  seen[0] = true;
  while (!work.empty()) {
    uint32_t block = work.back();
    work.pop_back();
    for (uint32_t target : next[block])
      if (!seen[target]) {
        seen[target] = true;
        work.push_back(target);
      }
  }
  std::vector<bool> result(flow.size());
  for (uint32_t i = 0; i < flow.size(); ++i)
    result[i] = seen[blockOf[i]];
  return result;
}

uint32_t FlowGraph::reconvergenceOf(uint32_t inst) const {
  uint32_t block = dominator[blockOf[inst]];
  return block == exit || block == kNone ? kNone : first[block];
}

} // namespace

std::vector<bool> ptxsim::analyzeFlow(const std::vector<Flow> &flow,
                                      std::vector<Instruction> &instructions) {
  FlowGraph graph(flow);
  graph.build();
  graph.findPostDominators();
  for (uint32_t i = 0; i < flow.size(); ++i)
    if (!flow[i].targets.empty())
      instructions[i].reconvergeAt = graph.reconvergenceOf(i);
  return graph.reachable();
}

//===- Exploration.cpp - Every schedule of a small launch -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Exploration.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>
#include <charconv>

using namespace ptxsim;

void AccessSet::touch(uint64_t begin, uint64_t end, bool writes) {
  if (!touches.empty()) {
    // The lanes of a warp access consecutive elements.
    Touch &last = touches.back();
    if (last.writes == writes && begin >= last.begin && begin <= last.end) {
      last.end = std::max(last.end, end);
      return;
    }
  }
  touches.push_back({begin, end, writes});
}

bool AccessSet::conflictsWith(const AccessSet &other) const {
  if (empty() || other.empty())
    return false;
  if (everything || other.everything)
    return true;
  for (const Touch &a : touches)
    for (const Touch &b : other.touches)
      if ((a.writes || b.writes) && a.begin < b.end && b.begin < a.end)
        return true;
  return false;
}

[[noreturn]] static void reject(std::string_view path) {
  throw Error(Error::Kind::Launch,
              "schedule '" + std::string(path) +
                  "': expected '-', or step:choice pairs with commas between "
                  "them, as a report gives them");
}

static size_t takeNumber(std::string_view path, std::string_view &rest) {
  size_t value = 0;
  auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc())
    reject(path);
  rest.remove_prefix(size_t(end - rest.data()));
  return value;
}

Exploration::Exploration(std::string_view path)
    : maxSchedules(1), replays(true) {
  std::string_view rest = path == "-" ? std::string_view() : path;
  if (path.empty())
    reject(path);
  while (!rest.empty()) {
    size_t step = takeNumber(path, rest);
    if (!rest.starts_with(':'))
      reject(path);
    rest.remove_prefix(1);
    wanted[step] = takeNumber(path, rest);
    if (rest.starts_with(',') && rest.size() > 1)
      rest.remove_prefix(1);
    else if (!rest.empty())
      reject(path);
  }
}

size_t Exploration::Node::index() const {
  return size_t(std::find(enabled.begin(), enabled.end(), chosen) -
                enabled.begin());
}

std::string Exploration::path() const {
  std::string text;
  for (size_t step = 0; step < depth; ++step)
    if (size_t index = stack[step].index())
      text += (text.empty() ? "" : ",") + std::to_string(step) + ":" +
              std::to_string(index);
  return text.empty() ? "-" : text;
}

bool Exploration::next() {
  if (runs > 0) {
    mostSteps = std::max(mostSteps, depth);
    finished += !cutOff && !tooLong;
    if (!replays)
      findRaces();
    if (replays || !backtrack()) {
      complete = !replays && !tooLong;
      return false;
    }
  }
  if (runs == maxSchedules)
    return false;
  ++runs;
  depth = 0;
  cutOff = false;
  return true;
}

std::optional<size_t> Exploration::giveUp(bool isRedundant) {
  cutOff = isRedundant;
  tooLong |= !isRedundant;
  return std::nullopt;
}

/// Returns the node after the steps taken so far. A process that slept before,
/// or was tried at the last step before its choice, keeps sleeping unless it
/// conflicts with that choice.
Exploration::Node
Exploration::makeNode(const std::vector<Process> &enabled) const {
  Node node;
  node.enabled = enabled;
  if (depth == 0)
    return node;
  const Node &last = stack[depth - 1];
  for (const auto &[process, accesses] : last.sleep)
    if (process != last.chosen && !accesses.conflictsWith(last.accesses))
      node.sleep.emplace(process, accesses);
  return node;
}

std::optional<size_t> Exploration::choose(const std::vector<Process> &enabled) {
  if (depth == kMaxSteps)
    return giveUp(false);
  if (depth == stack.size()) {
    Node node = makeNode(enabled);
    auto awake =
        std::find_if(enabled.begin(), enabled.end(), [&](Process process) {
          return !node.sleep.count(process);
        });
    if (replays)
      awake = enabled.begin() +
              ptrdiff_t(wanted.count(depth) ? wanted.at(depth) : 0);
    if (replays && awake >= enabled.end())
      throw Error(Error::Kind::Launch,
                  "the schedule does not fit the launch: step " +
                      std::to_string(depth) + " has " +
                      std::to_string(enabled.size()) + " choices");
    if (awake == enabled.end())
      return giveUp(true);
    node.chosen = *awake;
    node.backtrack.insert(*awake);
    stack.push_back(std::move(node));
  }
  Node &node = stack[depth++];
  node.accesses = AccessSet();
  size_t index = node.index();
  if (node.enabled != enabled || index == enabled.size())
    throw Error(Error::Kind::Launch,
                "policy exhaustive: the launch does not repeat itself");
  return index;
}

/// Proceeds to the deepest step with an untried alternative; returns false if
/// there is none.
bool Exploration::backtrack() {
  stack.resize(depth);
  while (!stack.empty()) {
    Node &node = stack.back();
    node.done.insert(node.chosen);
    node.sleep.insert_or_assign(node.chosen, node.accesses);
    for (Process process : node.backtrack)
      if (!node.done.count(process) && !node.sleep.count(process)) {
        node.chosen = process;
        return true;
      }
    stack.pop_back();
  }
  return false;
}

void Exploration::addBacktrack(size_t at, Process process) {
  Node &node = stack[at];
  auto found = std::find(node.enabled.begin(), node.enabled.end(), process);
  if (found != node.enabled.end())
    node.backtrack.insert(process);
  else
    node.backtrack.insert(node.enabled.begin(), node.enabled.end());
}

/// Returns true if `step` enabled `process`, which takes the step `next`: the
/// process could not run before `step`, and always could since.
bool Exploration::enables(size_t step, Process process, size_t next) const {
  auto has = [&](size_t at) {
    const std::vector<Process> &enabled = stack[at].enabled;
    return std::binary_search(enabled.begin(), enabled.end(), process);
  };
  return step + 1 <= next && !has(step) && has(step + 1);
}

/// Schedules the reverse order of every two conflicting steps that no step
/// between them orders.
void Exploration::findRaces() {
  size_t steps = depth;
  std::vector<std::vector<bool>> past(steps);
  std::map<Process, size_t> latest;
  for (size_t i = 0; i < steps; ++i) {
    Process process = stack[i].chosen;
    std::vector<bool> &before = past[i];
    before.assign(i, false);
    auto include = [&](size_t j) {
      before[j] = true;
      for (size_t k = 0; k < j; ++k)
        if (past[j][k])
          before[k] = true;
    };
    if (auto own = latest.find(process); own != latest.end())
      include(own->second);
    for (size_t j = 0; j < i; ++j)
      if (!before[j] && enables(j, process, i))
        include(j);
    for (size_t j = i; j-- > 0;) {
      if (before[j] || !stack[j].accesses.conflictsWith(stack[i].accesses))
        continue;
      addBacktrack(j, process);
      include(j);
    }
    latest[process] = i;
  }
}

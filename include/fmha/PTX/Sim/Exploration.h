//===- Exploration.h - Every schedule of a small launch ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stateless model checking of one cluster. A schedule is a sequence of steps; a
// step is what a warp does up to and including its next instruction that
// changes something others can see, or the completion of one asynchronous
// agent. Two steps conflict if one writes what the other touches; schedules
// that differ only in the order of steps that do not conflict are equivalent,
// and one of each class is enough. Dynamic partial-order reduction (Flanagan
// and Godefroid, POPL 2005) with sleep sets (Godefroid, LNCS 1032) finds them:
//
//   Exploration all(10000);
//   while (all.next()) {
//     options.exploration = &all;
//     LaunchResult result = launch(...);   // fresh memory for each
//     if (!all.redundant()) ...
//   }
//   all.exhausted()   // whether there was nothing left to try
//
// What one step does before its last instruction is not interleaved with other
// steps, so an exhausted space says nothing about data races inside steps.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_EXPLORATION_H
#define FMHA_PTX_SIM_EXPLORATION_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

/// What a step touched: ranges of keys, each read or written.
class Footprint {
public:
  void touch(uint64_t begin, uint64_t end, bool writes);
  /// Conflicts with every step that touches anything.
  void touchEverything() { everything = true; }
  bool conflictsWith(const Footprint &other) const;

private:
  struct Touch {
    uint64_t begin, end;
    bool writes;
  };
  bool empty() const { return touches.empty() && !everything; }
  std::vector<Touch> touches;
  bool everything = false;
};

class Exploration {
public:
  /// A warp or an agent, by a number that is the same in every schedule.
  using Process = uint64_t;
  /// Steps after which a schedule is given up: this is for small kernels.
  static constexpr size_t kMaxSteps = 20000;

  explicit Exploration(uint64_t maxSchedules) : maxSchedules(maxSchedules) {}
  /// The one schedule that `path` names. Throws Error::Kind::Launch for text
  /// that path() cannot have written.
  explicit Exploration(std::string_view path);

  // --- for who launches ---
  /// Prepares the next schedule; false if there is none, or the bound is met.
  bool next();
  /// Whether the last schedule was cut off because an equivalent one has run.
  bool redundant() const { return cutOff; }
  /// Whether every class of schedules has run to its end.
  bool exhausted() const { return complete; }
  /// Schedules that ran to their end, and steps of the longest one.
  uint64_t schedules() const { return finished; }
  size_t longest() const { return mostSteps; }
  /// The choices of the last schedule that were not the first possible one:
  /// "step:choice,...", "-" if there are none.
  std::string path() const;

  // --- for the scheduler ---
  /// Which of `enabled` (not empty, sorted) goes next; nothing if whatever
  /// could go leads to a schedule that has run, or the schedule is too long.
  std::optional<size_t> choose(const std::vector<Process> &enabled);
  /// The footprint of the step that runs.
  Footprint &footprint() { return stack[depth - 1].footprint; }

private:
  struct Node {
    std::vector<Process> enabled;
    std::set<Process> backtrack, done;
    /// Steps that need not be tried here, by who would take them.
    std::map<Process, Footprint> sleep;
    Process chosen = 0;
    Footprint footprint;
    size_t index() const;
  };
  Node makeNode(const std::vector<Process> &enabled) const;
  std::optional<size_t> giveUp(bool isRedundant);
  bool backtrack();
  void findRaces();
  void addBacktrack(size_t at, Process process);
  bool enables(size_t step, Process process, size_t next) const;

  std::vector<Node> stack;
  size_t depth = 0, mostSteps = 0;
  uint64_t maxSchedules, runs = 0, finished = 0;
  bool cutOff = false, tooLong = false, complete = false, replays = false;
  std::map<size_t, size_t> wanted;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_EXPLORATION_H

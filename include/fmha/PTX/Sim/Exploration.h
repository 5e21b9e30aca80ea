//===- Exploration.h - Every schedule of a small launch ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stateless model checking of one cluster. A schedule is a sequence of steps. A
// step is the execution of a warp up to and including its next instruction that
// changes state observable by others, or the completion of one asynchronous
// operation. Two steps conflict if one writes what the other accesses.
// Schedules that differ only in the order of non-conflicting steps are
// equivalent, and one of each class is enough. Dynamic partial-order reduction
// (Flanagan and Godefroid, POPL 2005) with sleep sets (Godefroid, LNCS 1032)
// finds them:
//
//   Exploration all(10000);
//   while (all.next()) {
//     options.exploration = &all;
//     LaunchResult result = launch(...);   // fresh memory for each
//     if (!all.redundant()) ...
//   }
//   all.exhausted()   // true if nothing was left to try
//
// What a step does before its last instruction is not interleaved with other
// steps, so an exhausted space proves nothing about data races inside steps.
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

/// The accesses of a step: ranges of keys, each read or written.
class AccessSet {
public:
  void touch(uint64_t begin, uint64_t end, bool writes);
  /// Makes the step conflict with every step that accesses anything.
  void touchEverything() { everything = true; }
  bool conflictsWith(const AccessSet &other) const;

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
  /// A warp or an operation, by a number that is the same in every schedule.
  using Process = uint64_t;
  /// Maximum number of steps of a schedule: explorations are for small kernels.
  static constexpr size_t kMaxSteps = 20000;

  explicit Exploration(uint64_t maxSchedules) : maxSchedules(maxSchedules) {}
  /// Runs only the schedule of `path`. Throws Error::Kind::Launch for text that
  /// path() cannot have written.
  explicit Exploration(std::string_view path);

  // --- for the launching code ---
  /// Prepares the next schedule. Returns false if there is none, or the bound
  /// is reached.
  bool next();
  /// Returns true if the last schedule was cut off because an equivalent one
  /// has run.
  bool redundant() const { return cutOff; }
  /// Returns true if a schedule of every class has run to its end.
  bool exhausted() const { return complete; }
  /// Returns the number of schedules that ran to their end, and the steps of
  /// the longest one.
  uint64_t schedules() const { return finished; }
  size_t longest() const { return mostSteps; }
  /// Returns the choices of the last schedule that were not the first possible
  /// one: "step:choice,...", or "-" if there are none.
  std::string path() const;

  // --- for the scheduler ---
  /// Returns which of `enabled` (not empty, sorted) runs next. Returns nullopt
  /// if every choice leads to a schedule that has already run, or if the
  /// schedule is too long.
  std::optional<size_t> choose(const std::vector<Process> &enabled);
  /// Returns the accesses of the running step.
  AccessSet &accesses() { return stack[depth - 1].accesses; }

private:
  struct Node {
    std::vector<Process> enabled;
    std::set<Process> backtrack, done;
    /// Steps that need not be tried here, by their process.
    std::map<Process, AccessSet> sleep;
    Process chosen = 0;
    AccessSet accesses;
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

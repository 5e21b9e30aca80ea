//===- Trips.h - Recordings by given trip counts ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// SASS without PTX is replayed without being executed: a file says how often
// each role of warps goes through its loops, which arms other branches take,
// and what SASS does not say about its asynchronous instructions.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_TRIPS_H
#define FMHA_PTX_TIME_TRIPS_H

#include "fmha/PTX/Time/Recording.h"

#include <map>
#include <set>

namespace ptxsim::timing {

/// Where a branch goes: to its target, on to the next instruction, or to an
/// address, which BRX needs.
struct Arm {
  enum class Kind : uint8_t { Taken, Falls, Address };
  Kind kind = Kind::Taken;
  uint32_t address = 0;
  /// How many times in succession the branch takes this arm.
  uint64_t times = 1;
};

/// How a role passes a branch: it leaves its loop when it reaches the branch
/// for the `trips`-th time since it entered the loop, or it takes the arms, one
/// each time, and the last one from then on. Neither is given if the file has
/// null.
struct BranchRule {
  std::optional<uint64_t> trips;
  std::vector<Arm> arms;
};

/// What SASS does not say about an instruction.
struct StepRule {
  /// The barrier that it waits for or signals; of several, one each time, in
  /// turns.
  std::vector<std::string> barriers;
  /// The phase of the first time, if it is not the next one of the warp.
  std::optional<uint64_t> phase;
  /// Whether it waits for the same phase as the wait before it.
  bool isAgain = false;
  /// Of a copy: its bytes, its rows if they are not whole lines of global
  /// memory, and the lines that these touch beyond the fewest that can hold
  /// each. The threads of a barrier. Rows of banks or sectors of an access.
  std::optional<uint32_t> bytes, partialRows, extraLines, threads, amount;
  std::optional<Reached> reached;
  std::optional<CopyDirection> direction;
  std::optional<ProductShape> shape;
  /// The warps in which its guard holds; all if it is not given.
  std::optional<std::set<uint32_t>> warps;
};

struct BarrierRule {
  /// Phases that waits find complete before anything has been signaled.
  uint32_t free = 0;
  /// Arrivals of a warp that one phase has.
  uint32_t arrivals = 1;
  /// Bytes of copies that one phase has. Without them, copies belong to the
  /// phase of the last arrival of their warp.
  uint32_t bytes = 0;
};

/// Rules by address.
struct Rules {
  std::map<uint32_t, BranchRule> branches;
  std::map<uint32_t, StepRule> steps;
};

/// Warps that go the same way. Their rules have priority over those of all.
struct TripsRole {
  std::string name;
  std::vector<uint32_t> warps;
  Rules rules;
};

struct Trips {
  /// The function of the cubin, and its target; empty if the file has none.
  std::string kernel, target;
  uint32_t ctasPerSm = 1;
  std::map<std::string, BarrierRule> barriers;
  std::vector<TripsRole> roles;
  Rules rules;
};

/// Reads a trips file. Numbers may be expressions of its parameters, of which
/// `given` replaces some. Throws Error::Launch with the place in the file.
Trips readTrips(std::string_view json,
                const std::map<std::string, int64_t> &given = {});

/// Returns the recording of the CTAs of one SM. With `isL2Warm`, copies and
/// loads find what they read in L2. Throws Error::Launch, naming the
/// instruction and the role, if the trips lack something or contradict the
/// function or each other.
Recording recordingOf(const Trips &trips, sass::Function function,
                      bool isL2Warm = false);

/// Returns a first trips file: the loops, branches and asynchronous
/// instructions of a function, with what can be guessed and null for the rest.
std::string firstTrips(sass::Function function, const std::string &target,
                       unsigned warps);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_TRIPS_H

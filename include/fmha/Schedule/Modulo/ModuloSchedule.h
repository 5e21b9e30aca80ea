//===- ModuloSchedule.h - When each op of a loop starts ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A modulo schedule starts an iteration every `interval` clocks, whatever the
// earlier ones still do. What bounds the interval from below, whether a
// schedule keeps all rules, and the roles, stages and orders that it implies.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODULO_MODULOSCHEDULE_H
#define FMHA_SCHEDULE_MODULO_MODULOSCHEDULE_H

#include "fmha/Schedule/Modulo/LoopGraph.h"

#include <cstdint>

namespace fmha::schedule::modulo {

/// A number below which no interval is possible, and what says so: "unit MMA",
/// "warpgroup of softmax0", "cycle dot1 -> move0 -> ...".
struct Bound {
  unsigned clocks;
  std::string what;
};

/// Returns the bounds of single resources and of the longest cycle of
/// dependences, the largest first.
std::vector<Bound> boundsOf(const LoopGraph &graph);

struct ModuloSchedule {
  unsigned interval = 0;
  /// By op: when it starts in iteration 0, and when the thread of its cluster
  /// hands it over (of an op of threads, and of one without a cluster, when it
  /// starts).
  std::vector<int64_t> starts, issues;
  /// By cluster: its warpgroup.
  std::vector<unsigned> warpgroups;
};

/// Whether a warpgroup with these clusters has enough registers.
bool fitsWarpgroup(const LoopGraph &graph,
                   const std::vector<unsigned> &clusters);
/// Returns the ways to give clusters to warpgroups that registers permit, by
/// cluster, those whose busiest warpgroup has the least to do first. Warpgroups
/// are numbered in the order of their first clusters.
std::vector<std::vector<unsigned>> warpgroupsOf(const LoopGraph &graph);

/// The first and the last op of threads of a cluster. Passes issue no product
/// in between, so that all of them have one stage.
struct ThreadRun {
  unsigned first, last;
};
/// Returns those of the cluster of `op`.
ThreadRun runOf(const LoopGraph &graph, unsigned op);

/// Returns a message that names the rule that the schedule violates, or
/// nothing:
///
///   modulo.M1  an op starts only when those that it depends on have ended
///   modulo.M2  a unit does one op at a time
///   modulo.M3  a warpgroup does one op at a time, and issues products before
///              or after all ops of an iteration of a cluster
///   modulo.M4  products of a unit run in the order in which they are issued
///   modulo.M5  warpgroups have enough registers
std::optional<std::string> verify(const LoopGraph &graph,
                                  const ModuloSchedule &schedule);

/// The place of an op in the loop of its role.
struct Place {
  std::string role;
  /// Iterations by which the op follows those of stage 0.
  unsigned stage = 0, order = 0;
  bool operator==(const Place &) const = default;
};

/// Returns the place of each op. A role begins with the op for which equal ops
/// have equal stages and stages are few.
std::vector<Place> arrange(const LoopGraph &graph,
                           const ModuloSchedule &schedule);

/// Returns the units and roles over two intervals in the steady state, a line
/// for each, a column for `clocks / columns`.
std::string gantt(const LoopGraph &graph, const ModuloSchedule &schedule,
                  unsigned columns = 96);
/// Returns the same as SVG.
std::string ganttSvg(const LoopGraph &graph, const ModuloSchedule &schedule);

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_MODULO_MODULOSCHEDULE_H

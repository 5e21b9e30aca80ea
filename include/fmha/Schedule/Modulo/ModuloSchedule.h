//===- ModuloSchedule.h - When each op of a loop starts ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A modulo schedule starts an iteration every `interval` clocks, even if
// earlier iterations have not ended. These functions compute lower bounds of
// the interval, check that a schedule keeps all rules, and derive roles, stages
// and orders from it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODULO_MODULOSCHEDULE_H
#define FMHA_SCHEDULE_MODULO_MODULOSCHEDULE_H

#include "fmha/Schedule/Modulo/LoopGraph.h"

#include <cstdint>

namespace fmha::schedule::modulo {

/// A lower bound of the interval and its reason: "unit MMA", "warpgroup of
/// softmax0", "cycle dot1 -> move0 -> ...".
struct Bound {
  unsigned clocks;
  std::string what;
};

/// Returns the bounds of single resources and of the longest cycle of
/// dependences, the largest first.
std::vector<Bound> boundsOf(const LoopGraph &graph);

/// Returns whether the two ops of `edge` hand a result over between threads and
/// products.
bool handsOver(const LoopGraph &graph, const Dependence &edge);

/// Returns a lower bound of the clocks from the first start of an iteration to
/// its last end, loads not counted, or nothing if a cycle of dependences does
/// not fit into `interval`. Every hand-over takes `slack` clocks more.
std::optional<int64_t> leastLength(const LoopGraph &graph, unsigned interval,
                                   unsigned slack);

struct ModuloSchedule {
  unsigned interval = 0;
  /// By op: when it starts in iteration 0, and when a thread issues it. Ops of
  /// threads and ops without a cluster start when they are issued.
  std::vector<int64_t> starts, issues;
  /// By cluster: its warpgroup.
  std::vector<unsigned> warpgroups;
};

/// Returns whether a warpgroup with these clusters has enough registers.
bool fitsWarpgroup(const LoopGraph &graph,
                   const std::vector<unsigned> &clusters);
/// Returns all assignments of clusters to warpgroups that have one role of the
/// family's table and enough registers, by cluster. Those whose busiest
/// warpgroup has the least work come first. Warpgroups are numbered in the
/// order of their first clusters.
std::vector<std::vector<unsigned>> warpgroupsOf(const LoopGraph &graph);

/// The stages of a role that passes can overlap: tile-rotate-loops moves ops by
/// one iteration.
inline constexpr unsigned mostRoleStages = 2;

/// Returns whether one role has both ops if clusters have these warpgroups. A
/// role then has at most `stages` stages if its first and its last issue of an
/// iteration are less than `stages` intervals apart.
bool haveOneRole(const LoopGraph &graph,
                 const std::vector<unsigned> &warpgroups, unsigned a,
                 unsigned b);

/// Returns the ops of the role of `op` that have no cluster and run under
/// another condition than it or under none. None of them may be between two ops
/// under its condition, because passes keep these in one branch.
std::vector<unsigned> outsideBranch(const LoopGraph &graph, unsigned op);

/// The first and the last op of threads of a cluster. Passes issue no product
/// between them, so that all of these ops have the same stage.
struct ThreadRun {
  unsigned first, last;
};
/// Returns the run of the cluster of `op`.
ThreadRun runOf(const LoopGraph &graph, unsigned op);

/// Returns a message that names the rule that the schedule violates, or
/// nothing:
///
///   modulo.M1  an op starts only when those that it depends on have ended
///   modulo.M2  a unit does one op at a time
///   modulo.M3  a warpgroup does one op at a time, and issues products before
///              or after all ops of an iteration of a cluster
///   modulo.M4  products of a unit run in the order in which they are issued
///   modulo.M5  warpgroups have one role of the family's table and enough
///              registers
///   modulo.M6  a role has `roleStages` stages or fewer
///   modulo.M7  ops of a role under one condition follow each other
std::optional<std::string> verify(const LoopGraph &graph,
                                  const ModuloSchedule &schedule,
                                  unsigned roleStages = mostRoleStages);

/// The place of an op in the loop of its role.
struct Place {
  std::string role;
  /// Iterations by which the op follows those of stage 0.
  unsigned stage = 0, order = 0;
  bool operator==(const Place &) const = default;
};

/// Returns the place of each op. Of the ops that a role may begin with, it
/// takes the one with which equal ops have equal stages and there are the
/// fewest stages.
std::vector<Place> arrange(const LoopGraph &graph,
                           const ModuloSchedule &schedule);

/// Returns a chart of two intervals in the steady state, with a line for each
/// unit and role and `columns` columns.
std::string gantt(const LoopGraph &graph, const ModuloSchedule &schedule,
                  unsigned columns = 96);
/// Returns the same as SVG.
std::string ganttSvg(const LoopGraph &graph, const ModuloSchedule &schedule);

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_MODULO_MODULOSCHEDULE_H

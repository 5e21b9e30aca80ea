//===- ModuloSchedule.cpp - Rules of modulo schedules ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

#include "Model/Text.h"

#include <algorithm>
#include <cstdlib>
#include <set>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

//===----------------------------------------------------------------------===//
// Warpgroups
//===----------------------------------------------------------------------===//

/// Returns the registers of a thread of a warpgroup with `clusters`.
static unsigned registersOf(const LoopGraph &graph,
                            const std::vector<unsigned> &clusters) {
  unsigned held = 0, transient = 0;
  for (unsigned number : clusters) {
    held += graph.clusters[number].held;
    transient = std::max(transient, graph.clusters[number].transient);
  }
  return held + transient + graph.otherRegisters;
}

bool fmha::schedule::modulo::fitsWarpgroup(
    const LoopGraph &graph, const std::vector<unsigned> &clusters) {
  return registersOf(graph, clusters) <= graph.threadRegisters;
}

/// Returns the clusters of each warpgroup.
static std::vector<std::vector<unsigned>>
membersOf(const std::vector<unsigned> &warpgroups) {
  std::vector<std::vector<unsigned>> members;
  for (unsigned cluster = 0; cluster < warpgroups.size(); ++cluster) {
    members.resize(std::max<size_t>(members.size(), warpgroups[cluster] + 1));
    members[warpgroups[cluster]].push_back(cluster);
  }
  return members;
}

/// Whether the threads of clusters have one role in the family's table. Ops
/// after the loop keep that role, and they use the registers of the loop.
static bool haveRoleOfFamily(const LoopGraph &graph,
                             const std::vector<unsigned> &clusters) {
  std::set<std::string_view> roles;
  for (const LoopOp &op : graph.ops)
    if (op.executor == Executor::Threads &&
        std::find(clusters.begin(), clusters.end(), *op.cluster) !=
            clusters.end())
      roles.insert(op.role);
  return roles.size() <= 1;
}

/// Whether roles and registers permit `warpgroups`.
static bool fits(const LoopGraph &graph,
                 const std::vector<unsigned> &warpgroups) {
  auto members = membersOf(warpgroups);
  unsigned all = 0;
  for (const std::vector<unsigned> &clusters : members) {
    if (!fitsWarpgroup(graph, clusters) || !haveRoleOfFamily(graph, clusters))
      return false;
    all += registersOf(graph, clusters);
  }
  return members.size() <= graph.warpgroups && all <= graph.registers;
}

/// Appends the ways to complete `warpgroups`.
static void partition(const LoopGraph &graph, std::vector<unsigned> &warpgroups,
                      unsigned used,
                      std::vector<std::vector<unsigned>> &found) {
  if (warpgroups.size() == graph.clusters.size()) {
    if (fits(graph, warpgroups))
      found.push_back(warpgroups);
    return;
  }
  for (unsigned group = 0; group <= used && group < graph.warpgroups; ++group) {
    warpgroups.push_back(group);
    partition(graph, warpgroups, std::max(used, group + 1), found);
    warpgroups.pop_back();
  }
}

/// Returns the clocks of the busiest warpgroup if all conditions hold.
static unsigned busiestOf(const LoopGraph &graph,
                          const std::vector<unsigned> &warpgroups) {
  std::vector<unsigned> busy(graph.warpgroups);
  for (const LoopOp &op : graph.ops)
    if (op.executor == Executor::Threads)
      busy[warpgroups[*op.cluster]] += op.mostClocks;
  return *std::max_element(busy.begin(), busy.end());
}

std::vector<std::vector<unsigned>>
fmha::schedule::modulo::warpgroupsOf(const LoopGraph &graph) {
  std::vector<std::vector<unsigned>> found;
  std::vector<unsigned> warpgroups;
  partition(graph, warpgroups, 0, found);
  std::vector<std::pair<unsigned, std::vector<unsigned>>> loads;
  for (std::vector<unsigned> &groups : found) {
    unsigned load = busiestOf(graph, groups);
    loads.emplace_back(load, std::move(groups));
  }
  std::sort(loads.begin(), loads.end());
  found.clear();
  for (auto &[load, groups] : loads)
    found.push_back(std::move(groups));
  return found;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

ThreadRun fmha::schedule::modulo::runOf(const LoopGraph &graph, unsigned op) {
  ThreadRun run{op, op};
  for (unsigned n = 0; n < graph.ops.size(); ++n)
    if (graph.ops[n].executor == Executor::Threads &&
        graph.ops[n].cluster == graph.ops[op].cluster) {
      run.first = std::min(run.first, n);
      run.last = std::max(run.last, n);
    }
  return run;
}

bool fmha::schedule::modulo::haveOneRole(
    const LoopGraph &graph, const std::vector<unsigned> &warpgroups, unsigned a,
    unsigned b) {
  std::optional<unsigned> one = graph.ops[a].cluster,
                          other = graph.ops[b].cluster;
  if (one && other)
    return warpgroups[*one] == warpgroups[*other];
  return !one && !other && graph.ops[a].role == graph.ops[b].role;
}

std::vector<unsigned>
fmha::schedule::modulo::outsideBranch(const LoopGraph &graph, unsigned op) {
  std::vector<unsigned> others;
  for (unsigned n = 0; n < graph.ops.size(); ++n)
    if (!graph.ops[n].cluster && graph.ops[n].role == graph.ops[op].role &&
        graph.ops[n].branch != graph.ops[op].branch)
      others.push_back(n);
  return others;
}

namespace {

class Verifier {
public:
  Verifier(const LoopGraph &graph, const ModuloSchedule &schedule,
           unsigned roleStages)
      : graph(graph), schedule(schedule), interval(schedule.interval),
        roleStages(roleStages) {}
  std::optional<std::string> run() const;

private:
  using Message = std::optional<std::string>;

  int64_t modulo(int64_t clocks) const {
    return (clocks % interval + interval) % interval;
  }
  bool areApart(unsigned a, unsigned b) const;
  bool areTogether(unsigned a, unsigned b) const;
  bool isInOneRun(unsigned a, unsigned b,
                  const std::vector<unsigned> &others) const;
  Message checkSize() const;
  Message checkDependence(const Dependence &edge) const;
  Message checkUnit(unsigned a, unsigned b) const;
  Message checkWarpgroup(unsigned a, unsigned b) const;
  Message checkIssue(unsigned a, unsigned b) const;
  Message checkStages(unsigned a, unsigned b) const;
  Message checkBranch(unsigned a, unsigned b) const;
  Message checkPair(unsigned a, unsigned b) const;

  const LoopGraph &graph;
  const ModuloSchedule &schedule;
  int64_t interval;
  unsigned roleStages;
};

} // namespace

/// Whether ops never run at the same time. One of no clocks may start when the
/// other does.
bool Verifier::areApart(unsigned a, unsigned b) const {
  int64_t after = modulo(schedule.starts[b] - schedule.starts[a]);
  if (!after && !graph.ops[b].clocks)
    return true;
  return after >= graph.ops[a].clocks &&
         after <= interval - int64_t(graph.ops[b].clocks);
}

bool Verifier::areTogether(unsigned a, unsigned b) const {
  std::optional<unsigned> one = graph.ops[a].cluster,
                          other = graph.ops[b].cluster;
  return one && other &&
         schedule.warpgroups[*one] == schedule.warpgroups[*other];
}

Verifier::Message Verifier::checkSize() const {
  size_t ops = graph.ops.size();
  if (schedule.starts.size() == ops && schedule.issues.size() == ops &&
      schedule.warpgroups.size() == graph.clusters.size() && interval > 0)
    return std::nullopt;
  return "modulo: expected a positive interval and times for " + str(ops) +
         " ops and " + str(graph.clusters.size()) + " clusters, got " +
         str(schedule.starts.size()) + " and " +
         str(schedule.warpgroups.size());
}

/// Results of threads and loads must be complete before a product is issued;
/// other products must have ended before it starts.
Verifier::Message Verifier::checkDependence(const Dependence &edge) const {
  const LoopOp &from = graph.ops[edge.from], &to = graph.ops[edge.to];
  bool atIssue =
      to.executor != Executor::Threads && from.executor != Executor::Mma;
  int64_t start = (atIssue ? schedule.issues : schedule.starts)[edge.to] +
                  interval * edge.distance;
  bool crosses = from.cluster && to.cluster && !areTogether(edge.from, edge.to);
  int64_t ready = schedule.starts[edge.from] + from.clocks + edge.latency +
                  (crosses ? edge.crossing : 0);
  if (start >= ready)
    return std::nullopt;
  return "modulo.M1: " + to.name + " starts " + str(ready - start) +
         " clocks before " + from.name + " has ended";
}

Verifier::Message Verifier::checkUnit(unsigned a, unsigned b) const {
  std::optional<Unit> unit = graph.ops[a].exclusiveUnit();
  if (!unit || unit != graph.ops[b].exclusiveUnit() || areApart(a, b))
    return std::nullopt;
  return "modulo.M2: " + graph.ops[a].name + " and " + graph.ops[b].name +
         " keep " + std::string(stringify(*unit)) + " busy at the same time";
}

Verifier::Message Verifier::checkWarpgroup(unsigned a, unsigned b) const {
  if (!areTogether(a, b))
    return std::nullopt;
  bool ofThreads = graph.ops[a].executor == Executor::Threads,
       both = ofThreads && graph.ops[b].executor == Executor::Threads;
  if (!ofThreads && graph.ops[b].executor == Executor::Threads)
    return checkWarpgroup(b, a);
  if (!ofThreads || (both && areApart(a, b)))
    return std::nullopt;
  auto [first, last] = runOf(graph, a);
  int64_t after = modulo(schedule.starts[first] - schedule.issues[b]);
  int64_t length =
      schedule.starts[last] - schedule.starts[first] + graph.ops[last].clocks;
  if (!both && after <= interval - length)
    return std::nullopt;
  return "modulo.M3: the warpgroup of " + graph.ops[a].name + " runs " +
         graph.ops[b].name + " at the same time";
}

Verifier::Message Verifier::checkIssue(unsigned a, unsigned b) const {
  if (graph.ops[a].executor != Executor::Mma ||
      graph.ops[b].executor != Executor::Mma)
    return std::nullopt;
  int64_t after = schedule.starts[b] - schedule.starts[a];
  int64_t lift = modulo(after) - after;
  int64_t issued = schedule.issues[b] - schedule.issues[a] + lift;
  if (issued >= 0 && issued <= interval)
    return std::nullopt;
  return "modulo.M4: " + graph.ops[a].name + " and " + graph.ops[b].name +
         " run in another order than they are issued";
}

Verifier::Message Verifier::checkStages(unsigned a, unsigned b) const {
  if (!haveOneRole(graph, schedule.warpgroups, a, b) ||
      std::abs(schedule.issues[b] - schedule.issues[a]) < roleStages * interval)
    return std::nullopt;
  return "modulo.M6: expected at most " + str(roleStages) +
         " stages in a role, got more from " + graph.ops[a].name + " to " +
         graph.ops[b].name;
}

/// Whether `b` follows `a` within an interval, with none of `others` in
/// between.
bool Verifier::isInOneRun(unsigned a, unsigned b,
                          const std::vector<unsigned> &others) const {
  int64_t length = modulo(schedule.starts[b] - schedule.starts[a]);
  return std::none_of(others.begin(), others.end(), [&](unsigned other) {
    int64_t after = modulo(schedule.starts[other] - schedule.starts[a]);
    return after > 0 && after < length;
  });
}

Verifier::Message Verifier::checkBranch(unsigned a, unsigned b) const {
  const LoopOp &one = graph.ops[a], &other = graph.ops[b];
  if (one.cluster || other.cluster || !one.branch ||
      one.branch != other.branch || one.role != other.role)
    return std::nullopt;
  std::vector<unsigned> others = outsideBranch(graph, a);
  if (isInOneRun(a, b, others) || isInOneRun(b, a, others))
    return std::nullopt;
  return "modulo.M7: expected " + one.name + " and " + other.name +
         " to follow each other, since they run under one condition";
}

Verifier::Message Verifier::checkPair(unsigned a, unsigned b) const {
  for (auto check :
       {&Verifier::checkUnit, &Verifier::checkWarpgroup, &Verifier::checkIssue,
        &Verifier::checkStages, &Verifier::checkBranch})
    if (Message wrong = (this->*check)(a, b))
      return wrong;
  return std::nullopt;
}

std::optional<std::string> Verifier::run() const {
  if (Message wrong = checkSize())
    return wrong;
  if (!fits(graph, schedule.warpgroups))
    return "modulo.M5: expected warpgroups of one role with enough registers";
  for (const Dependence &edge : graph.dependences)
    if (Message wrong = checkDependence(edge))
      return wrong;
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (schedule.issues[op] > schedule.starts[op])
      return "modulo.M1: " + graph.ops[op].name + " starts before its issue";
  for (unsigned b = 0; b < graph.ops.size(); ++b)
    for (unsigned a = 0; a < b; ++a)
      if (Message wrong = checkPair(a, b))
        return wrong;
  for (const Bound &bound : boundsOf(graph))
    if (bound.clocks > schedule.interval)
      return "modulo.M2: " + bound.what + " needs " + str(bound.clocks) +
             " clocks";
  return std::nullopt;
}

std::optional<std::string>
fmha::schedule::modulo::verify(const LoopGraph &graph,
                               const ModuloSchedule &schedule,
                               unsigned roleStages) {
  return Verifier(graph, schedule, roleStages).run();
}

//===- Solver.cpp - Modulo schedules of least interval --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a given interval T every rule limits the difference of two times. Since
// an op of a later iteration starts a multiple k T later, "a and b never
// overlap" is a disjunction over k of
//
//   clocks(a) <= start(b) - start(a) + k T <= T - clocks(b)
//
// The least T is found by bisection: with a longer interval every schedule
// remains valid if each op is moved by its stage times the difference.
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Solver/Solver.h"

#include <z3++.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

namespace {

enum class Answer { Yes, No, Unknown };

/// Limits that a schedule must keep.
struct Wanted {
  unsigned interval;
  /// Clocks by which every hand-over between threads and products may be late.
  unsigned slack = 0;
  /// The partition of clusters that is permitted, or any.
  std::optional<size_t> partition = std::nullopt;
  /// An iteration lasts at most that long, loads not counted.
  int64_t length = int64_t(1) << 40;
};

/// Returns b - a >= least.
z3::expr difference(const z3::expr &a, const z3::expr &b, int64_t least) {
  return b - a >= a.ctx().int_val(least);
}

/// The rules of one interval.
class Rules {
public:
  Rules(const LoopGraph &graph, const SolverOptions &options,
        const Wanted &wanted);

  /// Returns the answer, or Unknown after `left` steps of Z3, from which it
  /// takes its steps. It may be called once: a solver of Z3 that has stopped at
  /// a limit is no longer reliable.
  Answer solve(uint64_t &left);
  ModuloSchedule schedule() const { return found; }
  /// Returns the rules that exclude a schedule, after the answer No.
  std::string core() const { return reasons; }

private:
  z3::expr label(const std::string &what);
  void addTimes();
  void addWarpgroups();
  void addDependence(const Dependence &edge);
  void addLength();
  z3::expr together(unsigned a, unsigned b);
  z3::expr turns(unsigned a, unsigned b, int64_t one, int64_t other);
  z3::expr outside(const ThreadRun &run, unsigned product);
  void addUnit(unsigned a, unsigned b);
  void addWarpgroup(unsigned a, unsigned b);
  void addStages(unsigned a, unsigned b);
  void addBranches();
  z3::expr inOneRun(unsigned a, unsigned b,
                    const std::vector<unsigned> &others);
  void addSymmetry();
  void read(const z3::model &model);
  void readReasons();

  const LoopGraph &graph;
  const SolverOptions &options;
  const Wanted wanted;
  int64_t interval;
  z3::context context;
  z3::solver solver;
  std::vector<z3::expr> starts, issues;
  std::vector<std::vector<unsigned>> partitions;
  std::vector<z3::expr> chosen;
  std::map<std::pair<unsigned, unsigned>, z3::expr> sameWarpgroup;
  std::map<std::string, z3::expr> labels;
  ModuloSchedule found;
  std::string reasons;
};

} // namespace

Rules::Rules(const LoopGraph &graph, const SolverOptions &options,
             const Wanted &wanted)
    : graph(graph), options(options), wanted(wanted), interval(wanted.interval),
      solver(context, "QF_IDL") {
  addTimes();
  addWarpgroups();
  for (const Dependence &edge : graph.dependences)
    addDependence(edge);
  for (unsigned b = 0; b < graph.ops.size(); ++b)
    for (unsigned a = 0; a < b; ++a) {
      addUnit(a, b);
      addWarpgroup(a, b);
      addStages(a, b);
    }
  addBranches();
  addSymmetry();
  addLength();
}

/// Returns the literal of the rules that `what` stands for.
z3::expr Rules::label(const std::string &what) {
  return labels.try_emplace(what, context.bool_const(what.c_str()))
      .first->second;
}

void Rules::addTimes() {
  z3::expr zero = context.int_const("zero");
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    const LoopOp &what = graph.ops[op];
    starts.push_back(
        context.int_const(("start " + std::to_string(op)).c_str()));
    bool isHandedOver = what.executor != Executor::Threads && what.cluster;
    issues.push_back(isHandedOver ? context.int_const(
                                        ("issue " + std::to_string(op)).c_str())
                                  : starts.back());
    solver.add(difference(zero, issues.back(), 0));
    solver.add(difference(starts.back(), zero, -interval * options.stages));
    if (isHandedOver)
      solver.add(difference(issues.back(), starts.back(), 0));
  }
  starts.push_back(zero);
}

/// One of the partitions of clusters into warpgroups is chosen: it says of each
/// pair of clusters whether they are together.
void Rules::addWarpgroups() {
  partitions = warpgroupsOf(graph);
  z3::expr_vector any(context);
  for (size_t n = 0; n < partitions.size(); ++n) {
    chosen.push_back(
        context.bool_const(("partition " + std::to_string(n)).c_str()));
    any.push_back(chosen.back());
    if (n != wanted.partition.value_or(n))
      solver.add(!chosen.back());
    for (unsigned b = 0; b < graph.clusters.size(); ++b)
      for (unsigned a = 0; a < b; ++a)
        solver.add(
            z3::implies(chosen.back(), partitions[n][a] == partitions[n][b]
                                           ? together(a, b)
                                           : !together(a, b)));
  }
  solver.add(z3::implies(label("registers"), z3::mk_or(any)));
}

z3::expr Rules::together(unsigned a, unsigned b) {
  if (a == b)
    return context.bool_val(true);
  std::string name = "together " + std::to_string(std::min(a, b)) + " " +
                     std::to_string(std::max(a, b));
  return sameWarpgroup
      .try_emplace(std::minmax(a, b), context.bool_const(name.c_str()))
      .first->second;
}

void Rules::addDependence(const Dependence &edge) {
  const LoopOp &from = graph.ops[edge.from], &to = graph.ops[edge.to];
  bool atIssue =
      to.executor != Executor::Threads && from.executor != Executor::Mma;
  z3::expr end = atIssue ? issues[edge.to] : starts[edge.to];
  int64_t least =
      int64_t(from.clocks) + edge.latency - interval * int64_t(edge.distance);
  z3::expr rule = label(edge.reuses ? "reuse of memory" : "dependences");
  least += handsOver(graph, edge) ? wanted.slack : 0;
  const z3::expr &begin = starts[edge.from];
  solver.add(z3::implies(rule, difference(begin, end, least)));
  if (edge.crossing && from.cluster && to.cluster)
    solver.add(
        z3::implies(rule, together(*from.cluster, *to.cluster) ||
                              difference(begin, end, least + edge.crossing)));
}

/// Whether the order in which the ops start must be that of their issues.
static bool areIssuedInOrder(const LoopOp &one, const LoopOp &other) {
  return one.executor == Executor::Mma && other.executor == Executor::Mma &&
         (one.cluster || other.cluster);
}

/// Returns that in an interval from a start of `a` on, `b` starts after `one`
/// clocks or more and `other` clocks or more before the end, and that, of
/// products, the order of issue is the same.
z3::expr Rules::turns(unsigned a, unsigned b, int64_t one, int64_t other) {
  bool inOrder = areIssuedInOrder(graph.ops[a], graph.ops[b]);
  z3::expr_vector any(context);
  for (int64_t k = -int64_t(options.stages); k <= int64_t(options.stages);
       ++k) {
    z3::expr_vector all(context);
    all.push_back(difference(starts[a], starts[b], one - k * interval));
    all.push_back(
        difference(starts[b], starts[a], other - interval + k * interval));
    if (inOrder) {
      all.push_back(difference(issues[a], issues[b], -k * interval));
      all.push_back(difference(issues[b], issues[a], -interval + k * interval));
    }
    any.push_back(z3::mk_and(all));
  }
  return z3::mk_or(any);
}

/// Returns that a product is not issued from the start of the first op of `run`
/// to the end of its last one.
z3::expr Rules::outside(const ThreadRun &run, unsigned product) {
  z3::expr_vector any(context);
  int64_t clocks = graph.ops[run.last].clocks;
  for (int64_t k = -int64_t(options.stages); k <= int64_t(options.stages); ++k)
    any.push_back(
        difference(issues[product], starts[run.first], -k * interval) &&
        difference(starts[run.last], issues[product],
                   clocks - interval + k * interval));
  return z3::mk_or(any);
}

void Rules::addUnit(unsigned a, unsigned b) {
  const LoopOp &one = graph.ops[a], &other = graph.ops[b];
  std::optional<Unit> unit = one.exclusiveUnit();
  if (unit && unit == other.exclusiveUnit())
    solver.add(z3::implies(label("unit " + std::string(stringify(*unit))),
                           turns(a, b, one.clocks, other.clocks)));
  else if (areIssuedInOrder(one, other))
    solver.add(z3::implies(label("order of issue"), turns(a, b, 0, 1)));
}

void Rules::addWarpgroup(unsigned a, unsigned b) {
  const LoopOp &one = graph.ops[a], &other = graph.ops[b];
  if (!one.cluster || !other.cluster)
    return;
  bool first = one.executor == Executor::Threads,
       second = other.executor == Executor::Threads;
  if (!first && !second)
    return;
  if (!first || !second)
    std::tie(a, b) = first ? std::pair(a, b) : std::pair(b, a);
  z3::expr rule = first && second ? turns(a, b, one.clocks, other.clocks)
                                  : outside(runOf(graph, a), b);
  solver.add(
      z3::implies(label("warpgroups"),
                  z3::implies(together(*one.cluster, *other.cluster), rule)));
}

/// Lets all issues of a role in an iteration be within as many intervals as the
/// role may have stages.
void Rules::addStages(unsigned a, unsigned b) {
  const LoopOp &one = graph.ops[a], &other = graph.ops[b];
  if (one.cluster.has_value() != other.cluster.has_value() ||
      (!one.cluster && one.role != other.role))
    return;
  int64_t most = options.roleStages * interval - 1;
  z3::expr within = difference(issues[a], issues[b], -most) &&
                    difference(issues[b], issues[a], -most);
  z3::expr isOne = one.cluster ? together(*one.cluster, *other.cluster)
                               : context.bool_val(true);
  solver.add(z3::implies(label("stages"), z3::implies(isOne, within)));
}

/// Returns that `b` follows `a` within an interval, with none of `others` in
/// between.
z3::expr Rules::inOneRun(unsigned a, unsigned b,
                         const std::vector<unsigned> &others) {
  int64_t most = options.stages;
  z3::expr_vector any(context);
  for (int64_t k = -most; k <= most; ++k) {
    z3::expr_vector all(context);
    all.push_back(difference(starts[a], starts[b], -k * interval));
    all.push_back(difference(starts[b], starts[a], (k - 1) * interval));
    for (unsigned other : others) {
      z3::expr_vector outside(context);
      for (int64_t n = -most; n <= most; ++n)
        outside.push_back(
            difference(starts[b], starts[other], (k - n) * interval) &&
            difference(starts[other], starts[a], (n - 1) * interval));
      all.push_back(z3::mk_or(outside));
    }
    any.push_back(z3::mk_and(all));
  }
  return z3::mk_or(any);
}

/// Ops of a role under one condition follow each other, because passes keep
/// them in one branch.
void Rules::addBranches() {
  for (unsigned b = 0; b < graph.ops.size(); ++b)
    for (unsigned a = 0; a < b; ++a) {
      const LoopOp &one = graph.ops[a], &other = graph.ops[b];
      if (one.cluster || other.cluster || !one.branch ||
          one.branch != other.branch || one.role != other.role)
        continue;
      std::vector<unsigned> others = outsideBranch(graph, a);
      if (others.size() > 1)
        solver.add(z3::implies(label("branches"), inOneRun(a, b, others) ||
                                                      inOneRun(b, a, others)));
    }
}

/// Lets the first product of each kind in the program be the first one in the
/// schedule.
void Rules::addSymmetry() {
  std::vector<unsigned> kinds = kindsOf(graph);
  for (unsigned b = 0; b < graph.ops.size(); ++b)
    for (unsigned a = 0; a < b; ++a)
      if (graph.ops[a].executor == Executor::Mma && kinds[a] == kinds[b] &&
          graph.ops[a].cluster == graph.ops[b].cluster)
        solver.add(difference(starts[a], starts[b], 0));
}

void Rules::addLength() {
  auto isLoad = [](const LoopOp &op) { return op.executor == Executor::Tma; };
  for (unsigned a = 0; a < graph.ops.size(); ++a)
    for (unsigned b = 0; b < graph.ops.size(); ++b)
      if (a != b && !isLoad(graph.ops[a]) && !isLoad(graph.ops[b]))
        solver.add(difference(starts[b], starts[a],
                              int64_t(graph.ops[b].clocks) - wanted.length));
}

static uint64_t stepsOf(const z3::solver &solver) {
  z3::stats statistics = solver.statistics();
  for (unsigned n = 0; n < statistics.size(); ++n)
    if (statistics.key(n) == "rlimit count")
      return statistics.uint_value(n);
  return 0;
}

/// Steps are a limit that depends on neither the machine nor its load. 0 would
/// be none.
Answer Rules::solve(uint64_t &left) {
  constexpr uint64_t most = 4'000'000'000;
  z3::params params(context);
  params.set("rlimit", unsigned(std::clamp<uint64_t>(left, 1, most)));
  solver.set(params);
  z3::expr_vector rules(context);
  for (const auto &[name, rule] : labels)
    rules.push_back(rule);
  z3::check_result result = solver.check(rules);
  if (result == z3::sat)
    read(solver.get_model());
  if (result == z3::unsat)
    readReasons();
  left -= result == z3::unknown ? left : std::min(left, stepsOf(solver));
  return result == z3::sat     ? Answer::Yes
         : result == z3::unsat ? Answer::No
                               : Answer::Unknown;
}

void Rules::read(const z3::model &model) {
  auto timeOf = [&](const z3::expr &time) {
    return model.eval(time - starts.back(), true).get_numeral_int64();
  };
  found = {unsigned(interval), {}, {}, {}};
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    found.starts.push_back(timeOf(starts[op]));
    found.issues.push_back(timeOf(issues[op]));
  }
  for (size_t n = 0; n < partitions.size() && found.warpgroups.empty(); ++n)
    if (model.eval(chosen[n], true).is_true())
      found.warpgroups = partitions[n];
}

void Rules::readReasons() {
  z3::expr_vector rules = solver.unsat_core();
  std::set<std::string> names;
  for (unsigned n = 0; n < rules.size(); ++n)
    names.insert(rules[int(n)].decl().name().str());
  reasons.clear();
  for (const std::string &name : names)
    reasons += (reasons.empty() ? "" : ", ") + name;
}

namespace {

/// The steps of Z3 that a millisecond of processor time is counted as.
constexpr uint64_t stepsPerMillisecond = 1000;

/// Bisects the interval, then the slack, then the length of an iteration.
class Search {
public:
  Search(const LoopGraph &graph, const SolverOptions &options)
      : graph(graph), options(options), begun(std::clock()),
        left(options.milliseconds * stepsPerMillisecond) {}
  Solution run();

private:
  unsigned elapsed() const;
  Answer ask(const Wanted &what);
  bool findAny(unsigned least);
  void bisect();
  void balance();
  void loosen();
  void shorten();
  int64_t lengthOf(const ModuloSchedule &schedule) const;

  const LoopGraph &graph;
  const SolverOptions &options;
  std::clock_t begun;
  /// Steps of Z3 that are left.
  uint64_t left;
  Solution solution;
  Wanted wanted = {0};
};

} // namespace

/// Returns milliseconds of processor time, for the report: no result depends on
/// it.
unsigned Search::elapsed() const {
  return unsigned(1000 * double(std::clock() - begun) / CLOCKS_PER_SEC);
}

/// Whether No says that there is no schedule with this interval.
static bool isProof(const Wanted &what) {
  return !what.slack && !what.partition && what.length == Wanted{0}.length;
}

Answer Search::ask(const Wanted &what) {
  if (!left)
    return Answer::Unknown;
  // Dependences alone exclude many schedules, in much less time.
  std::optional<int64_t> least = leastLength(graph, what.interval, what.slack);
  if (!isProof(what) && (!least || *least > what.length))
    return Answer::No;
  Rules rules(graph, options, what);
  Answer answer = rules.solve(left);
  if (answer == Answer::Yes) {
    if (auto wrong = verify(graph, rules.schedule(), options.roleStages)) {
      solution.wrong = *wrong;
      left = 0;
      return Answer::Unknown;
    }
    solution.schedule = rules.schedule();
    wanted = what;
  }
  if (answer == Answer::No && isProof(what) &&
      what.interval >= solution.bound) {
    solution.bound = what.interval + 1;
    solution.binding = rules.core();
  }
  return answer;
}

/// Searches for a schedule from the interval `least` on, in growing steps.
bool Search::findAny(unsigned least) {
  unsigned most = 1;
  for (const LoopOp &op : graph.ops)
    most += op.clocks;
  for (const Dependence &edge : graph.dependences)
    most += edge.latency + edge.crossing;
  for (unsigned interval = std::max(least, 1u);;
       interval = std::min(interval + interval / 8 + 1, most)) {
    if (ask({interval}) == Answer::Yes)
      return true;
    if (interval >= most || !left)
      return false;
  }
}

void Search::bisect() {
  while (wanted.interval > solution.bound) {
    unsigned low = solution.bound;
    if (ask({low + (wanted.interval - low) / 2}) == Answer::Unknown)
      return;
  }
}

/// Takes the partition whose busiest warpgroup has the least work, since it has
/// time to spare if a condition holds more often than expected.
void Search::balance() {
  size_t count = warpgroupsOf(graph).size();
  for (size_t n = 0; n < count; ++n)
    if (ask({wanted.interval, 0, n}) != Answer::No)
      return;
}

/// Slack and length matter less than the interval: to this part of it.
static constexpr unsigned precision = 64;

/// Hands over as early as possible, so that a late product or a slow warp
/// delays nothing.
void Search::loosen() {
  unsigned low = 0, high = wanted.interval;
  while (low + wanted.interval / precision < high) {
    unsigned middle = high - (high - low) / 2;
    Answer answer = ask({wanted.interval, middle, wanted.partition});
    if (answer == Answer::Unknown)
      return;
    if (answer == Answer::Yes)
      low = middle;
    else
      high = middle - 1;
  }
}

/// Returns the clocks from the first start to the last end, loads not counted.
int64_t Search::lengthOf(const ModuloSchedule &schedule) const {
  int64_t first = Wanted{0}.length, last = 0;
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (graph.ops[op].executor != Executor::Tma) {
      first = std::min(first, schedule.starts[op]);
      last = std::max(last, schedule.starts[op] + graph.ops[op].clocks);
    }
  return std::max<int64_t>(last - first, 0);
}

/// Finds the shortest iteration: values live as briefly as possible.
void Search::shorten() {
  int64_t low = 0, high = lengthOf(*solution.schedule);
  while (low + wanted.interval / precision < high) {
    Wanted shorter = wanted;
    shorter.length = low + (high - low) / 2;
    Answer answer = ask(shorter);
    if (answer == Answer::Unknown)
      return;
    if (answer == Answer::Yes)
      high = std::min(shorter.length, lengthOf(*solution.schedule));
    else
      low = shorter.length + 1;
  }
}

Solution Search::run() {
  std::vector<Bound> bounds = boundsOf(graph);
  if (warpgroupsOf(graph).empty()) {
    solution.binding = "registers";
    return solution;
  }
  if (!bounds.empty()) {
    solution.bound = bounds.front().clocks;
    solution.binding = bounds.front().what;
  }
  // An interval takes a clock even if no op does.
  solution.bound = std::max(solution.bound, 1u);
  if (findAny(solution.bound)) {
    bisect();
    balance();
    loosen();
    shorten();
    solution.slack = wanted.slack;
  }
  solution.milliseconds = elapsed();
  return solution;
}

Solution fmha::schedule::modulo::solve(const LoopGraph &graph,
                                       const SolverOptions &options) {
  return Search(graph, options).run();
}

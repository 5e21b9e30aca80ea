//===- Gantt.cpp - A modulo schedule over time ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

#include "Model/Text.h"
#include "Report/Svg.h"

#include <algorithm>
#include <map>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

namespace {

/// A unit or a role, and its ops.
struct Lane {
  std::string name;
  std::vector<unsigned> ops;
};

/// Two intervals of the steady state.
struct Window {
  const LoopGraph &graph;
  const ModuloSchedule &schedule;

  static constexpr unsigned intervals = 2;

  unsigned clocks() const { return intervals * schedule.interval; }
  std::vector<Lane> lanes() const;
  /// Calls `draw` with begin and end of each run of `op` inside the window.
  template <typename DrawT> void forEachRun(unsigned op, DrawT draw) const;
};

} // namespace

/// Returns the units, then the roles of threads.
std::vector<Lane> Window::lanes() const {
  std::map<std::string, std::vector<unsigned>> units, roles;
  std::vector<Place> places = arrange(graph, schedule);
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].executor == Executor::Threads)
      roles[places[op].role].push_back(op);
    else if (std::optional<Unit> unit = graph.ops[op].exclusiveUnit())
      units[std::string(stringify(*unit))].push_back(op);
  }
  std::vector<Lane> lanes;
  for (auto *named : {&units, &roles})
    for (auto &[name, ops] : *named)
      lanes.push_back({name, std::move(ops)});
  return lanes;
}

template <typename DrawT>
void Window::forEachRun(unsigned op, DrawT draw) const {
  int64_t interval = schedule.interval;
  int64_t begin = (schedule.starts[op] % interval + interval) % interval;
  for (int64_t at = begin - interval; at < int64_t(clocks()); at += interval) {
    int64_t first = std::max<int64_t>(at, 0);
    int64_t last = std::min<int64_t>(at + graph.ops[op].clocks, clocks());
    if (first < last)
      draw(first, last);
  }
}

/// Stands for an op in a line.
static char letterOf(unsigned op) {
  constexpr std::string_view letters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return op < letters.size() ? letters[op] : '#';
}

std::string fmha::schedule::modulo::gantt(const LoopGraph &graph,
                                          const ModuloSchedule &schedule,
                                          unsigned columns) {
  Window window{graph, schedule};
  auto columnOf = [&](int64_t clock) {
    return size_t(clock) * columns / window.clocks();
  };
  size_t widest = 0;
  std::vector<Lane> lanes = window.lanes();
  for (const Lane &lane : lanes)
    widest = std::max(widest, lane.name.size());
  std::string text;
  for (const Lane &lane : lanes) {
    std::string line(columns, '.');
    for (unsigned op : lane.ops)
      window.forEachRun(op, [&](int64_t first, int64_t last) {
        for (size_t at = columnOf(first); at < columnOf(last); ++at)
          line[at] = letterOf(op);
      });
    text += padRight(lane.name, widest) + " |" +
            line.insert(columns / Window::intervals, "|") + "|\n";
  }
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    text +=
        std::string(op ? ", " : "") + letterOf(op) + " " + graph.ops[op].name;
  return text + "\n";
}

std::string fmha::schedule::modulo::ganttSvg(const LoopGraph &graph,
                                             const ModuloSchedule &schedule) {
  constexpr double left = 110, top = 58, width = 1000, height = 34, gap = 8;
  Window window{graph, schedule};
  std::vector<Lane> lanes = window.lanes();
  std::vector<unsigned> kinds = kindsOf(graph);
  double bottom = top + double(lanes.size()) * (height + gap);
  Svg svg(left + width + 20, bottom + 50,
          "Two intervals of " + str(schedule.interval) + " clocks (modeled)");
  svg.words(16, 42, graph.title);
  auto atClock = [&](int64_t clock) {
    return left + double(clock) / window.clocks() * width;
  };
  for (unsigned n = 0; n < lanes.size(); ++n) {
    double y = top + n * (height + gap);
    svg.box(left, y, width, height, "#f4f4f4");
    svg.words(left - 8, y + height / 2 + 4, lanes[n].name, Anchor::End, 13);
    for (unsigned op : lanes[n].ops)
      window.forEachRun(op, [&](int64_t first, int64_t last) {
        double x = atClock(first), wide = atClock(last) - x;
        svg.box(x, y, wide, height, color(kinds[op]), graph.ops[op].name);
        svg.label(x, y, wide, height, graph.ops[op].name);
      });
  }
  for (unsigned n = 0; n <= Window::intervals; ++n) {
    double x = atClock(int64_t(n) * schedule.interval);
    svg.line(x, top - 6, x, bottom);
    svg.words(x, bottom + 18, str(uint64_t(n) * schedule.interval),
              Anchor::Middle, 11);
  }
  return svg.finish();
}

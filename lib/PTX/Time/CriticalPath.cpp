//===- CriticalPath.cpp - What bounds a kernel ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/CriticalPath.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ptxsim::timing {
namespace {

/// A point on the path: the end of a step or its issue.
struct Point {
  StepId step;
  bool atEnd = true;
};

/// Follows causes backwards.
class Walk {
public:
  Walk(const Recording &recording, const Schedule &schedule)
      : recording(recording), schedule(schedule) {}
  std::vector<Segment> run();

private:
  std::string_view labelOf(StepId id) const {
    const WarpRecord &warp = recording.warps[id.warp];
    return recording.codes[warp.steps[id.step].code].of->label;
  }
  double timeOf(const Point &point) const {
    const Timed &timed = schedule.at(point.step);
    return point.atEnd ? timed.end : timed.issue;
  }
  Point before(const Point &point) const;
  std::string_view labelOf(const Point &point, const Point &from) const;
  const Recording &recording;
  const Schedule &schedule;
};

/// Returns the latest predecessor; an invalid step at the start.
Point Walk::before(const Point &point) const {
  const Timed &timed = schedule.at(point.step);
  const Cause &cause = point.atEnd ? timed.endCause : timed.issueCause;
  if (cause.why == Why::Latency)
    return {point.step, false};
  if (!cause.by.valid())
    return {};
  // A unit that was busy with the work of another step ended that.
  bool atEnd = cause.afterEnd || (cause.why == Why::Busy && point.atEnd);
  Point other{cause.by, atEnd};
  if (timeOf(other) > timeOf(point))
    return point.atEnd ? Point{point.step, false} : Point{cause.by, false};
  return other;
}

/// Returns what the clocks from one point to the next are spent on.
std::string_view Walk::labelOf(const Point &point, const Point &from) const {
  if (point.atEnd)
    return labelOf(point.step);
  const Cause &cause = schedule.at(point.step).issueCause;
  if (cause.why == Why::Slot)
    return "issue slots";
  return cause.why == Why::Program ? "program order" : labelOf(from.step);
}

std::vector<Segment> Walk::run() {
  std::vector<Segment> path;
  Point point{schedule.last, true};
  size_t left = 16;
  for (const auto &steps : schedule.steps)
    left += 2 * steps.size();
  while (point.step.valid() && left--) {
    Point from = before(point);
    if (!from.step.valid())
      break;
    double clocks = timeOf(point) - timeOf(from);
    std::string_view label = labelOf(point, from);
    StepId of = point.atEnd || from.step == point.step ? point.step : from.step;
    bool joins = !path.empty() && path.back().label == label &&
                 path.back().step.warp == of.warp;
    if (joins)
      path.back().clocks += clocks;
    else if (clocks > 0)
      path.push_back({of, label, clocks});
    point = from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

uint32_t codeOf(const Recording &recording, const Segment &segment) {
  return recording.warps[segment.step.warp].steps[segment.step.step].code;
}

double sumOf(const std::vector<Segment> &path) {
  double sum = 0;
  for (const Segment &segment : path)
    sum += segment.clocks;
  return sum;
}

/// Returns the segment in which half of the clocks have passed. The number of
/// segments says little: many short ones are before the loop and after it.
size_t middleOf(const std::vector<Segment> &path) {
  double left = sumOf(path) / 2;
  size_t middle = 0;
  while (middle + 1 < path.size() && (left -= path[middle].clocks) > 0)
    ++middle;
  return middle;
}

/// Returns the part of the path between two visits of the same place, from its
/// middle on: one round of the kernel's loop. Without one, the whole.
std::vector<Segment> roundOf(const Recording &recording,
                             const std::vector<Segment> &path) {
  for (size_t first = middleOf(path); first < path.size(); ++first)
    for (size_t next = first + 2; next < path.size(); ++next) {
      const Segment &a = path[first], &b = path[next];
      if (a.step.warp == b.step.warp && a.label == b.label &&
          codeOf(recording, a) == codeOf(recording, b))
        return {path.begin() + ptrdiff_t(first),
                path.begin() + ptrdiff_t(next)};
    }
  return path;
}

std::string nameOf(const Recording &recording, uint32_t warp) {
  const WarpRecord &record = recording.warps[warp];
  bool several = false;
  for (const WarpRecord &other : recording.warps)
    several |= other.cluster != record.cluster || other.rank != record.rank;
  std::string name = "warp " + std::to_string(record.warp);
  if (several)
    name += " of CTA " + std::to_string(record.cluster) + "." +
            std::to_string(record.rank);
  return name;
}

/// Returns the segments of at least so many clocks. Neighbors of one label are
/// joined if they are of one warp, or of any.
std::vector<Segment> joined(const std::vector<Segment> &path, double least,
                            bool ofAnyWarp) {
  std::vector<Segment> shown;
  for (const Segment &segment : path) {
    if (segment.clocks < least)
      continue;
    bool joins = !shown.empty() && shown.back().label == segment.label &&
                 (ofAnyWarp || shown.back().step.warp == segment.step.warp);
    if (joins)
      shown.back().clocks += segment.clocks;
    else
      shown.push_back(segment);
  }
  return shown;
}

/// Returns the largest parts of the path in their order, at most about a dozen:
/// the smallest are left out and their neighbors joined, again and again. Warps
/// that take turns at one unit count as one.
std::vector<Segment> largest(const std::vector<Segment> &path) {
  constexpr size_t kShown = 12;
  std::vector<Segment> shown = joined(path, 0, false);
  for (bool ofAnyWarp : {false, true})
    for (double least = sumOf(path) / 1000; shown.size() > kShown;
         least *= 1.2) {
      std::vector<Segment> fewer = joined(shown, least, ofAnyWarp);
      if (fewer.empty())
        break;
      shown = std::move(fewer);
    }
  return shown;
}

} // namespace

std::vector<Segment> criticalPath(const Recording &recording,
                                  const Schedule &schedule) {
  return schedule.last.valid() ? Walk(recording, schedule).run()
                               : std::vector<Segment>();
}

std::string describePath(const Recording &recording,
                         const std::vector<Segment> &path) {
  if (path.empty())
    return "nothing";
  std::string text;
  uint32_t warp = UINT32_MAX;
  for (const Segment &segment : largest(roundOf(recording, path))) {
    text += text.empty() ? "" : " → ";
    if (segment.step.warp != warp)
      text += nameOf(recording, segment.step.warp) + ": ";
    warp = segment.step.warp;
    text += std::string(segment.label);
  }
  std::map<std::string_view, double> shares;
  for (const Segment &segment : path)
    shares[segment.label] += segment.clocks;
  std::vector<std::pair<double, std::string_view>> sorted;
  for (const auto &[label, clocks] : shares)
    sorted.push_back({100 * clocks / sumOf(path), label});
  std::sort(sorted.rbegin(), sorted.rend());
  std::string list;
  for (const auto &[share, label] : sorted)
    if (share >= 3)
      list += (list.empty() ? "" : ", ") + std::string(label) + " " +
              std::to_string(std::lround(share)) + " %";
  return text + " (" + list + ")";
}

} // namespace ptxsim::timing

//===- Timeline.cpp - A schedule as a picture -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Timeline.h"

#include <algorithm>
#include <cmath>

namespace ptxsim::timing {
namespace {

/// A protocol buffers message that is being written.
class Message {
public:
  Message &number(unsigned field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message &text(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  Message &message(unsigned field, const Message &value) {
    return text(field, value.bytes);
  }
  std::string bytes;

private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      bytes += char(value | 128);
    bytes += char(value);
  }
};

/// Field numbers of perfetto/trace/trace.proto and of the files that it
/// includes, stable by the rules of protocol buffers.
enum TraceField { Packet = 1 };
enum PacketField { Timestamp = 8, Sequence = 10, Event = 11, Descriptor = 60 };
enum DescriptorField { Uuid = 1, TrackName = 2 };
enum EventField { Type = 9, TrackUuid = 11, EventName = 23 };
enum EventType { SliceBegin = 1, SliceEnd = 2 };

class Trace {
public:
  /// Returns the number of a new track.
  uint64_t track(const std::string &name) {
    Message descriptor, packet;
    descriptor.number(Uuid, ++tracks).text(TrackName, name);
    packet.number(Sequence, 1).message(Descriptor, descriptor);
    trace.message(Packet, packet);
    return tracks;
  }
  void slice(uint64_t track, double begin, double end, std::string_view name) {
    uint64_t from = uint64_t(std::llround(begin));
    uint64_t to = uint64_t(std::llround(end));
    if (from >= to)
      return;
    event(track, from, SliceBegin, name);
    event(track, to, SliceEnd, {});
  }
  std::string take() { return std::move(trace.bytes); }

private:
  void event(uint64_t track, uint64_t time, EventType type,
             std::string_view name) {
    Message of, packet;
    of.number(Type, type).number(TrackUuid, track);
    if (!name.empty())
      of.text(EventName, name);
    packet.number(Timestamp, time).number(Sequence, 1).message(Event, of);
    trace.message(Packet, packet);
  }
  Message trace;
  uint64_t tracks = 0;
};

/// Steps of one label that a warp issues one after the other.
struct Run {
  std::string_view label;
  double begin = 0, end = 0;
};

/// Steps further apart than this are not drawn as one.
constexpr double kGap = 16;

/// Draws what a warp issues, and the waits during which it issues nothing.
void drawWarp(Trace &trace, const Recording &recording, const WarpRecord &warp,
              const std::vector<Timed> &steps) {
  uint64_t track = trace.track("modeled: CTA " + std::to_string(warp.cluster) +
                               "." + std::to_string(warp.rank) + " warp " +
                               std::to_string(warp.warp));
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < steps.size(); ++i)
    if (recording.codes[warp.steps[i].code].of->slots)
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(steps[a].issue, a) < std::pair(steps[b].issue, b);
  });
  Run run;
  for (uint32_t i : order) {
    const CostClass &of = *recording.codes[warp.steps[i].code].of;
    bool waits = of.order == Order::Last || of.name == "Wait" ||
                 of.action == Action::Meet;
    double begin = steps[i].issue, end = waits ? steps[i].end : begin + 1;
    if (of.label == run.label && begin <= run.end + kGap) {
      run.end = std::max(run.end, end);
      continue;
    }
    trace.slice(track, run.begin, std::min(run.end, begin), run.label);
    run = {of.label, begin, end};
  }
  trace.slice(track, run.begin, run.end, run.label);
}

} // namespace

std::string timelineOf(const Recording &recording, const Schedule &schedule) {
  Trace trace;
  for (size_t i = 0; i < recording.warps.size(); ++i)
    drawWarp(trace, recording, recording.warps[i], schedule.steps[i]);
  std::vector<uint64_t> tracks(schedule.units.size());
  for (const Work &work : schedule.work) {
    uint64_t &track = tracks[work.unit];
    if (!track)
      track = trace.track("modeled: " + schedule.units[work.unit]);
    const WarpRecord &warp = recording.warps[work.step.warp];
    const Code &code = recording.codes[warp.steps[work.step.step].code];
    trace.slice(track, work.begin, work.end,
                std::string(code.of->label) + ", line " +
                    std::to_string(code.line));
  }
  return trace.take();
}

} // namespace ptxsim::timing

//===- TraceRunner.cpp - Run a kernel's synchronization ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTrace.h"

#include "fmha/Layout/Tmem.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using schedule::sync::Action;
using schedule::sync::allStrips;
using schedule::sync::Event;
using schedule::sync::Memory;
using schedule::sync::Program;
using schedule::sync::stripBytes;
using schedule::sync::stripRowBytes;
using schedule::sync::Strips;
using schedule::sync::Unit;

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

namespace fmha::tile {

/// A set of members: bit m is member m.
using Mask = uint64_t;

class TraceRunner {
public:
  TraceRunner(const TracedKernel &trace, const Scenario &scenario,
              std::vector<Interval> &frame)
      : trace(trace), scenario(scenario), width(trace.members.size()),
        frame(frame), tilesTaken(width) {
    frame.resize(size_t(trace.values) * width, unknown);
    program.barriers = trace.declared.barriers;
    program.channels = trace.declared.channels;
  }

  FailureOr<Program> run() {
    runBody(0, width == 64 ? ~Mask(0) : (Mask(1) << width) - 1);
    if (lost)
      return failure();
    makeAgents();
    return std::move(program);
  }

private:
  template <typename Function> void each(Mask mask, Function function) {
    for (; mask; mask &= mask - 1)
      function(unsigned(std::countr_zero(mask)));
  }
  Interval &at(uint32_t value, unsigned member) {
    return frame[size_t(value) * width + member];
  }
  /// Returns the hull of a value over all members of `mask`.
  Interval over(uint32_t value, Mask mask) {
    Interval all = at(value, std::countr_zero(mask));
    each(mask, [&](unsigned m) { all = hull(all, at(value, m)); });
    return all;
  }

  void runBody(uint32_t body, Mask mask);
  void runStep(const Step &step, Mask mask);
  void runIf(const Step &step, Mask mask);
  void runFor(const Step &step, Mask mask);
  void runWhile(const Step &step, Mask mask);
  Interval valueOf(const Step &step, unsigned member);
  Interval tripsOf(const Step &step, unsigned member);

  void emit(const TracedEffect &effect, uint32_t source, Mask mask);
  bool place(const TracedEffect &effect, Event &event, Mask mask);
  void placeStrips(const TracedEffect &effect, Interval &start, Event &event,
                   Mask mask);
  void emitOnBarrier(const TracedEffect &effect, Event event, Mask mask);
  void push(const Event &event, Mask mask);
  void giveUp(uint32_t source, const char *what);
  void makeAgents();

  const TracedKernel &trace;
  const Scenario &scenario;
  size_t width;
  std::vector<Interval> &frame;
  /// How often each member has requested the next tile.
  std::vector<int64_t> tilesTaken;
  Program program;
  /// The members that execute each event.
  std::vector<Mask> masks;
  bool lost = false;
};

} // namespace fmha::tile

void TraceRunner::giveUp(uint32_t source, const char *what) {
  if (!lost)
    trace.ops[source]->emitError()
        << "tile-verify-sync cannot determine " << what
        << ": expected one that follows from lengths, loop counters and the "
           "thread index";
  lost = true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void TraceRunner::runBody(uint32_t body, Mask mask) {
  for (const Step &step : trace.bodies[body]) {
    if (lost)
      return;
    runStep(step, mask);
  }
}

/// Returns the warpgroup of a member.
static int groupOf(const Member &member) {
  constexpr int groupWarps = 4;
  return member.warps ? std::countr_zero(member.warps) / groupWarps : 0;
}

/// Returns the number of iterations that a role computes, or skips, for any
/// `wanted`. In scenarios whose conditions on data hold, a role computes one
/// less than the role of the next warpgroup, and the last role computes all; in
/// others each role computes all. An unknown number of all iterations is that
/// of other loops with unknown bounds.
Interval TraceRunner::tripsOf(const Step &step, unsigned member) {
  Interval all = at(step.b, member);
  int64_t count = all.isExact() ? all.lo : scenario.trips, computed = count;
  if (scenario.oracle) {
    int last = 0;
    for (const Member &one : trace.members)
      last = std::max(last, groupOf(one));
    int64_t wanted = count - (last - groupOf(trace.members[member]));
    computed = std::min(std::max<int64_t>(wanted, 1), count);
  }
  bool isComputed = step.code == StepCode::ComputedTrips;
  int64_t trips = isComputed ? computed : count - computed;
  return {trips, trips};
}

Interval TraceRunner::valueOf(const Step &step, unsigned member) {
  switch (step.code) {
  case StepCode::Constant:
    return {step.constant, step.constant};
  case StepCode::Copy:
    return at(step.a, member);
  case StepCode::Not:
    return {1 - at(step.a, member).hi, 1 - at(step.a, member).lo};
  case StepCode::Arithmetic:
    return apply(step.arithmetic, at(step.a, member), at(step.b, member));
  case StepCode::Select: {
    Interval condition = at(step.a, member);
    if (condition.isExact())
      return at(condition.lo ? step.b : step.c, member);
    return hull(at(step.b, member), at(step.c, member));
  }
  case StepCode::Thread:
    return trace.members[member].thread;
  case StepCode::Leader:
    return {trace.members[member].leader, trace.members[member].leader};
  case StepCode::QueryLength:
    return {scenario.queryLength, scenario.queryLength};
  case StepCode::NextTile:
    if (++tilesTaken[member] < scenario.tiles)
      return {0, 0};
    return {-1, -1};
  case StepCode::TileCount:
    return {scenario.tiles, scenario.tiles};
  case StepCode::KeyLength: {
    int64_t length = step.constant ? scenario.keyLength2 : scenario.keyLength;
    return {length, length};
  }
  case StepCode::Oracle:
    return {scenario.oracle, scenario.oracle};
  case StepCode::ComputedTrips:
  case StepCode::SkippedTrips:
    return tripsOf(step, member);
  default:
    return unknown;
  }
}

void TraceRunner::runStep(const Step &step, Mask mask) {
  switch (step.code) {
  case StepCode::If:
    return runIf(step, mask);
  case StepCode::For:
    return runFor(step, mask);
  case StepCode::While:
    return runWhile(step, mask);
  case StepCode::Role:
    return runBody(step.body, ((Mask(1) << step.a) - 1) << step.constant);
  case StepCode::Effect:
    return emit(trace.effects[step.constant], step.source, mask);
  default:
    each(mask, [&](unsigned m) { at(step.result, m) = valueOf(step, m); });
  }
}

/// if a { body } else { otherwise }
void TraceRunner::runIf(const Step &step, Mask mask) {
  Mask taken = 0;
  each(mask, [&](unsigned m) {
    Interval condition = at(step.a, m);
    if (condition.isExact() ? condition.lo != 0 : scenario.oracle)
      taken |= Mask(1) << m;
  });
  if (taken)
    runBody(step.body, taken);
  if (mask & ~taken)
    runBody(step.otherwise, mask & ~taken);
}

/// for result = a to b step c { body }; steps copy the carried values.
/// Returns the trips of a loop, or nullopt for more than `most`, which count as
/// unknown.
static std::optional<int64_t> tripsBetween(int64_t first, int64_t last,
                                           int64_t stride) {
  constexpr uint64_t most = 512;
  if (last <= first)
    return 0;
  // The difference of two signed numbers may need all 64 bits.
  uint64_t extent = uint64_t(last) - uint64_t(first);
  if (extent / uint64_t(stride) > most)
    return std::nullopt;
  return int64_t((extent - 1) / uint64_t(stride) + 1);
}

void TraceRunner::runFor(const Step &step, Mask mask) {
  Interval first = over(step.a, mask), last = over(step.b, mask),
           stride = over(step.c, mask);
  if (!first.isExact() || !stride.isExact() || stride.lo <= 0)
    return giveUp(step.source, "the trips of this loop");
  std::optional<int64_t> known =
      last.isExact() ? tripsBetween(first.lo, last.lo, stride.lo)
                     : std::nullopt;
  int64_t trips = known.value_or(scenario.trips);
  for (int64_t trip = 0; trip < trips && !lost; ++trip) {
    auto i = int64_t(uint64_t(first.lo) + uint64_t(trip) * uint64_t(stride.lo));
    each(mask, [&](unsigned m) { at(step.result, m) = {i, i}; });
    runBody(step.body, mask);
  }
}

/// do { body } while (a) { otherwise }
void TraceRunner::runWhile(const Step &step, Mask mask) {
  constexpr int64_t most = 64;
  for (int64_t trip = 0; mask && !lost; ++trip) {
    runBody(step.body, mask);
    if (lost)
      return;
    Interval more = over(step.a, mask);
    if (!more.isExact() || trip == most)
      return giveUp(step.source, "the trips of this loop");
    if (!more.lo)
      return;
    runBody(step.otherwise, mask);
  }
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void TraceRunner::push(const Event &event, Mask mask) {
  program.events.push_back(event);
  masks.push_back(mask);
}

/// Returns the start of the 128-byte row of a panel; a strip of K may begin
/// inside a row.
static int64_t toPanelRow(int64_t offset) {
  return offset / stripRowBytes * stripRowBytes;
}

static Strips stripAt(int64_t byte) {
  return 1 << byte % stripRowBytes / stripBytes;
}

/// Returns the strip of the start of a matrix descriptor.
static Strips stripOfOperand(Interval start) {
  bool known = start.isExact() || start.getUnit() % stripRowBytes == 0;
  return known && start.lo % stripBytes == 0 ? stripAt(start.lo) : allStrips;
}

/// Returns the strip of an access of 16 bytes; the swizzle is an XOR of address
/// bits 7 to 9 into bits 4 to 6.
static Strips stripOfChunk(Interval start, int64_t extent) {
  constexpr int64_t chunk = 16;
  if (start.getUnit() % chunk != 0 || extent > chunk)
    return allStrips;
  if (start.isExact())
    return stripAt(start.lo ^ (start.lo >> 3 & 0x70));
  return start.column >= 0 ? stripAt(start.column) : allStrips;
}

/// Sets the columns of an access to tensor memory, which must have one lane,
/// and the halves of the lanes.
static bool placeColumns(Interval &start, bool halfLanes, Event &event) {
  unsigned lane = layout::tmemLane(start.lo);
  if (lane != layout::tmemLane(start.hi))
    return false;
  if (halfLanes)
    event.halves = lane < layout::tmemHalfLanes ? 1 : 2;
  start = {layout::tmemColumn(start.lo), layout::tmemColumn(start.hi)};
  return true;
}

/// Sets the strips of an access to shared memory, and moves its start to the
/// start of a row.
void TraceRunner::placeStrips(const TracedEffect &effect, Interval &start,
                              Event &event, Mask mask) {
  if (effect.strip)
    event.strips = stripOfOperand(start);
  if (event.unit == Unit::Mma || event.unit == Unit::Wgmma)
    start = {toPanelRow(start.lo), toPanelRow(start.hi)};
  if (event.unit != Unit::Threads || effect.stride ||
      effect.address == TracedEffect::none)
    return;
  event.strips = 0;
  each(mask, [&](unsigned m) {
    event.strips |= stripOfChunk(at(effect.address, m), effect.extent);
  });
}

/// Returns the members of `mask` among the first `lanes` of their warps, whose
/// addresses count.
static Mask addressed(llvm::ArrayRef<Member> members, uint32_t lanes,
                      Mask mask) {
  Mask found = mask;
  for (auto [m, member] : llvm::enumerate(members))
    if (member.thread.lo % TracedEffect::allLanes >= lanes)
      found &= ~(Mask(1) << m);
  return found ? found : mask;
}

/// Sets the place of an access. Returns false if it is unknown.
bool TraceRunner::place(const TracedEffect &effect, Event &event, Mask mask) {
  mask = addressed(trace.members, effect.lanes, mask);
  Interval start{effect.offset, effect.offset};
  if (effect.address != TracedEffect::none) {
    Interval address = over(effect.address, mask);
    if (!isKnown(address))
      return false;
    // The address of a tile is its stage.
    if (effect.stride)
      address = apply(Arithmetic::Mul, address, {effect.stride, effect.stride});
    start = {start.lo + address.lo, start.hi + address.hi};
  }
  if (start.lo < 0)
    return false;
  if (event.memory == Memory::Shared)
    placeStrips(effect, start, event, mask);
  if (event.memory == Memory::Tensor &&
      !placeColumns(start, effect.halfLanes, event))
    return false;
  event.begin = uint32_t(start.lo);
  event.stop = uint32_t(start.hi + effect.extent);
  event.ownRows |= !start.isExact();
  return true;
}

/// Emits events on the barrier with the stage and phase of a message, or with
/// the given stage and parity.
void TraceRunner::emitOnBarrier(const TracedEffect &effect, Event event,
                                Mask mask) {
  Interval stage = effect.stage == TracedEffect::none
                       ? Interval{0, 0}
                       : over(effect.stage, mask);
  Interval phase = effect.phase == TracedEffect::none
                       ? Interval{event.amount, event.amount}
                       : over(effect.phase, mask);
  if (!stage.isExact() || !phase.isExact())
    return giveUp(event.source, "the stage or phase of this barrier");
  if (effect.depth) {
    phase.lo = stage.lo / effect.depth + effect.bias;
    stage.lo %= effect.depth;
  }
  if (stage.lo < 0 || stage.lo >= effect.stages)
    return giveUp(event.source, "a stage inside this barrier");
  event.barrier += uint32_t(stage.lo);
  if (event.action == Action::WaitParity || event.action == Action::WaitCount)
    event.amount = phase.lo;
  push(event, mask);
}

void TraceRunner::emit(const TracedEffect &effect, uint32_t source, Mask mask) {
  Event event = effect.event;
  event.source = source;
  switch (event.action) {
  case Action::Access:
    if (!place(effect, event, mask))
      return giveUp(source, "the place that this op touches");
    event.chain = effect.shape;
    if (effect.accumulator != TracedEffect::none)
      event.chain |= uint64_t(over(effect.accumulator, mask).lo) << 32;
    if (event.unit != Unit::TmaLoad)
      return push(event, mask);
    return emitOnBarrier(effect, event, mask);
  case Action::Init:
  case Action::Inval:
    for (uint32_t stage = 0; stage < effect.stages; ++stage) {
      push(event, mask);
      ++event.barrier;
    }
    return;
  case Action::ChannelEnd: {
    Interval message = over(effect.stage, mask);
    if (!message.isExact())
      return giveUp(source, "which message this is");
    event.amount = message.lo;
    return push(event, mask);
  }
  case Action::WaitParity:
  case Action::WaitCount:
  case Action::Arrive:
  case Action::ArriveExpect:
  case Action::Commit:
    return emitOnBarrier(effect, event, mask);
  default:
    return push(event, mask);
  }
}

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

/// Returns the members that may be one agent: all of them, or those of each
/// warp if threads wait for groups of copies, which are their own copies alone.
static llvm::SmallVector<Mask> firstClasses(const Program &program,
                                            llvm::ArrayRef<Member> members) {
  bool awaitsOwn = llvm::any_of(program.events, [](const Event &event) {
    return event.action == Action::CommitCopies;
  });
  llvm::MapVector<uint64_t, Mask> classes;
  for (auto [m, member] : llvm::enumerate(members))
    classes[awaitsOwn ? member.warps : 0] |= Mask(1) << m;
  return llvm::to_vector(llvm::make_second_range(classes));
}

/// Makes one agent of all members that take part in the same events.
void TraceRunner::makeAgents() {
  llvm::SmallVector<Mask> classes = firstClasses(program, trace.members);
  Mask previous = 0;
  for (Mask mask : masks) {
    if (mask == previous)
      continue;
    previous = mask;
    for (size_t i = 0, end = classes.size(); i < end; ++i)
      if (Mask rest = classes[i] & ~mask; rest && rest != classes[i]) {
        classes[i] &= mask;
        classes.push_back(rest);
      }
  }
  for (Mask mask : classes) {
    schedule::sync::Agent agent;
    agent.threads = 0;
    agent.rows = 0;
    agent.name = '"' + trace.members[std::countr_zero(mask)].name + '"';
    each(mask, [&](unsigned m) {
      const Member &member = trace.members[m];
      agent.threads += member.threads;
      agent.warps |= member.warps;
      agent.rows |= member.rows;
    });
    program.agents.push_back(std::move(agent));
  }
  // Most events belong to one or two classes, and consecutive events to the
  // same ones.
  llvm::SmallVector<schedule::sync::Agent *> sharers;
  previous = 0;
  for (uint32_t i = 0; i < masks.size(); ++i) {
    if (masks[i] != previous) {
      previous = masks[i];
      sharers.clear();
      for (auto [mask, agent] : llvm::zip(classes, program.agents))
        if (mask & previous)
          sharers.push_back(&agent);
    }
    for (schedule::sync::Agent *agent : sharers)
      agent->order.push_back(i);
  }
}

FailureOr<Program> KernelTrace::run(const Scenario &scenario) const {
  return TraceRunner(kernel, scenario, frame).run();
}

//===- Replay.h - The machine in time ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state while a recording is replayed: warps with windows of instructions,
// sub-partitions and SMs with units that work on one step after the other, and
// phases that end once all their signals have been given.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_TIME_REPLAY_H
#define FMHA_LIB_PTX_TIME_REPLAY_H

#include "fmha/PTX/Time/Stepper.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <ranges>
#include <span>

namespace ptxsim::timing {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A time and the step that determines it.
struct Moment {
  double time = 0;
  StepId by;
  void atLeast(const Moment &other) {
    if (other.time > time || !by.valid())
      *this = other;
  }
};

/// Groups of asynchronous work of a warp, as commit_group closes them.
struct Groups {
  Moment open, all;
  std::vector<Moment> committed;
  void add(const Moment &end) {
    open.atLeast(end);
    all.atLeast(end);
  }
  void commit() {
    committed.push_back(open);
    open = {};
  }
  /// Returns the end of all groups but the newest `left`.
  Moment allBut(size_t left) const {
    Moment end;
    for (size_t i = 0; i + left < committed.size(); ++i)
      if (committed[i].by.valid())
        end.atLeast(committed[i]);
    return end;
  }
};

/// A unit that works on one step after the other. `ownFreeAt` is when the warp
/// of the last step can have it, if that is later than for other warps.
struct Unit {
  double freeAt = 0;
  StepId last;
  double ownFreeAt = 0;
  /// Index into Schedule::units.
  uint32_t number = 0;
};

/// Returns when a warp can have the unit.
inline double freeAt(const Unit &unit, uint32_t warp) {
  return unit.last.warp == warp ? unit.ownFreeAt : unit.freeAt;
}

/// A step that has not issued, and the steps whose results it needs.
struct Entry {
  uint32_t step = 0;
  Order order = Order::Any;
  uint32_t firstFact = 0, facts = 0;
  /// Producers that had not issued when it was last looked at, and the latest
  /// result of the others.
  std::vector<uint32_t> pending;
  Moment ready;
};

/// A step that waits for phases whose ends are not all known, and the latest of
/// those that are. `latency` counts from that end, `least` from the step.
struct OpenWait {
  double at = 0, latency = 0, least = 0;
  unsigned open = 0;
  Moment until;
  bool afterEnd = true;
  /// The scoreboard of SASS that it sets; without one the warp stands still.
  uint8_t barrier = sass::kNoBarrier;
};

/// A scoreboard: when it is at zero, and the waits whose end is not known.
struct Scoreboard {
  Moment until;
  unsigned open = 0;
};

struct WarpState {
  const WarpRecord *record = nullptr;
  uint32_t index = 0, sm = 0, part = 0;
  /// Instructions from which the next to issue is chosen, and how many of them
  /// take slots. Nothing enters after one that nothing passes.
  std::deque<Entry> window;
  unsigned slots = 0;
  bool sealed = false;
  uint32_t next = 0, nextFact = 0;
  /// The order of each step, in program order, and the steps in the order of
  /// the compiler; the latter is empty if it is program order.
  std::vector<Order> orders;
  std::vector<uint32_t> compiled;
  /// Per row: one more than the last step that writes it.
  std::vector<uint32_t> writers;
  /// The earliest issue after a wait or a branch.
  Moment resume;
  /// Whether the warp is stalled until a wait ends.
  bool parked = false;
  /// By the index of the step.
  std::map<uint32_t, OpenWait> waits;
  std::array<Scoreboard, sass::kBarriers> scoreboards;
  /// The earliest clock at which a step can issue.
  double nextTry = 0;
  /// Ordered steps other than tcgen05.ld issue no earlier.
  Moment floor;
  Moment stores, tmemLoads, tmemStores, products;
  Groups copyReads, copies, cpAsync;
  StepId lastIssued;
  bool finished() const {
    return next == record->steps.size() && window.empty();
  }
};

/// One wgmma of a warp.
struct Product {
  StepId id;
  std::span<const Fact> facts;
  double begin = 0, end = 0;
  /// The part of the port of shared memory that its operands take.
  double port = 0;
};

/// The tensor core of a sub-partition with the products that it has not ended.
/// Their accumulators are in registers, so other instructions that read
/// registers hold them up.
struct TensorCore {
  std::deque<Product> products;
  /// By how many clocks products are late in reading registers, at a moment;
  /// less than zero if they are ahead.
  double lag = 0, lagAt = 0;
  /// Index into Schedule::units.
  uint32_t number = 0;
};

/// The warps of one CTA on a sub-partition, which take turns.
struct Turns {
  uint64_t cluster = 0;
  std::vector<uint32_t> warps;
  /// The place in `warps` of the warp that issued last.
  size_t last = 0;
  /// Issues until the youngest warp that can is next.
  double untilYoungest = 0;
};

/// One quarter of an SM: a scheduler, its pipes, and its part of tensor memory.
struct SubPartition {
  /// CTAs from the oldest to the youngest, or one entry for all of them if
  /// older CTAs are not preferred.
  std::vector<Turns> ctas;
  /// The warp that issued last, and how often in a row.
  uint32_t last = 0, inRow = 0;
  Unit slot, tmem;
  TensorCore tensor;
  std::array<Unit, kPipes> pipes;
  /// When each bank of registers has been read.
  std::array<double, 2> banks = {};
};

/// Units that the sub-partitions of an SM share. `link` leads to L2.
struct Sm {
  Unit port, link, tma, tensor;
};

/// A phase of an object: complete once all its signals have been given.
struct Phase {
  uint32_t missing = 0;
  Moment end;
  /// Whether the last signal is the end of its step or its issue.
  bool afterEnd = true;
  std::vector<StepId> waiting;
};

/// All of this, at one moment.
struct State {
  const Recording &recording;
  Figures figures;
  bool keepsWork = false;
  /// Draws latencies of copies, if there is one.
  std::optional<std::mt19937> dice;
  double now = 0;
  std::vector<WarpState> warps;
  std::vector<SubPartition> parts;
  std::vector<Sm> sms;
  std::vector<Phase> phases;
  Schedule result;
  SubPartition &partOf(const WarpState &warp) {
    return parts[warp.sm * 4 + warp.part];
  }
};

/// A step that issues now.
struct Doing {
  State &state;
  WarpState &warp;
  const Step &step;
  const Code &code;
  Timed &timed;
  const StepId id;
  const std::span<const Fact> facts;
  /// When the step has read its registers.
  double readAt = 0;
  double now() const { return state.now; }
  double figure(Figure of) const { return state.figures[of]; }
  Sm &sm() const { return state.sms[warp.sm]; }
  SubPartition &part() const { return state.partOf(warp); }
};

/// Returns which steps pass each other. What signals or waits keeps its order.
std::vector<Order> ordersOf(const Recording &recording, const WarpRecord &warp);

/// The order in which a compiler lets the warps of a recording issue.
class CompiledOrder {
public:
  CompiledOrder(const Recording &recording, const Figures &figures)
      : recording(recording), figures(figures) {}
  /// Returns the steps of a warp in that order. Nothing passes a step whose
  /// order is Last.
  std::vector<uint32_t> of(const WarpRecord &warp,
                           const std::vector<Order> &orders);

private:
  const std::vector<uint32_t> &block(const WarpRecord &warp,
                                     const std::vector<Order> &orders,
                                     uint32_t first, uint32_t last);
  const Recording &recording;
  const Figures &figures;
  /// Results by straight-line code, which loops repeat.
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> known;
};

/// Does what the step does beyond taking its slot and its pipe: sets its end,
/// gives its signals.
void act(Doing &doing);

/// Queues the product of a step on the tensor core of its sub-partition. `port`
/// is the part of the port of shared memory that its operands take.
void startProduct(Doing &doing, double clocks, double port);
/// Delays what the tensor core runs, and what it runs after that.
void holdProducts(TensorCore &tensor, double clocks);
/// Gives the signals of the products that have ended by now.
void endProducts(State &state, SubPartition &part);
/// Returns when the tensor core can take another product, and the one that has
/// to end before.
Moment roomForProduct(const State &state, const SubPartition &part);
/// Returns the clocks for which an access of rows of banks has the port of
/// shared memory, once the port is free. Products that run come first; some
/// accesses delay them.
double accessClocks(Doing &doing, double rows);
/// Returns the clocks for which a wgmma waits besides the interval after the
/// one before it of its warp: descriptors that differ are computed between the
/// two.
double descriptorClocks(const State &state, const WarpState &warp,
                        const Code &code, const Unit &pipe);
/// Lets the step have the pipe, and holds products up that need the registers
/// at the same time.
void takePipe(const Doing &doing, Unit &pipe);

/// Gives a signal of a phase. The last one ends the phase at the latest moment
/// of all. `afterEnd` is whether the moment is the end of the step or its
/// issue.
void signal(State &state, const Fact &fact, const Moment &moment,
            bool afterEnd);
/// Gives all signals of the step.
void signalAll(Doing &doing, double time, bool afterEnd);
/// Makes the warp, or the scoreboard that the step sets, wait until all phases
/// that the step waits for have ended. The last signal of those whose end is
/// not known yet resumes it.
void waitForAll(Doing &doing);
/// Lets the step end no earlier than the moment, and its latency later.
void waitUntil(Doing &doing, const Moment &moment, Figure latency);

} // namespace ptxsim::timing

#endif // FMHA_LIB_PTX_TIME_REPLAY_H

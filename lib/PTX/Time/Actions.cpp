//===- Actions.cpp - What steps do ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include <iterator>

namespace ptxsim::timing {
namespace {

/// Lets a unit work for the step, not before `earliest`. Returns the end, which
/// the step has as its own. A step of several copies does not wait for itself.
double occupy(Doing &doing, Unit &unit, double earliest, double clocks) {
  if (unit.freeAt > earliest && unit.last.valid() && unit.last != doing.id)
    doing.timed.endCause = {unit.last, Why::Busy, false};
  unit.freeAt = std::max(unit.freeAt, earliest) + clocks;
  unit.last = doing.id;
  if (doing.state.keepsWork)
    doing.state.result.work.push_back(
        {unit.number, unit.freeAt - clocks, unit.freeAt, doing.id});
  return doing.timed.end = unit.freeAt;
}

void plain(Doing &doing) { signalAll(doing, doing.timed.end, true); }

/// A branch that no lane takes costs its slot.
void branch(Doing &doing) {
  if (!doing.step.amount)
    doing.timed.end = doing.now() + 1;
}

// --- memory ---

void load(Doing &doing) {
  Sm &sm = doing.sm();
  double rows = doing.step.amount;
  switch (doing.step.reached) {
  case Reached::Nothing:
    doing.timed.end = doing.now() + doing.figure(Figure::AluLatency);
    break;
  case Reached::Shared:
    // A row of banks takes one clock of the port; the latency is that of the
    // first.
    doing.timed.end =
        occupy(doing, sm.port, doing.now(), accessClocks(doing, rows)) - 1 +
        doing.figure(Figure::SharedLatency);
    break;
  case Reached::Global:
  case Reached::FirstTouch:
    bool isFirst = doing.step.reached == Reached::FirstTouch;
    doing.timed.end =
        occupy(doing, sm.link, doing.now(),
               rows * 32 / doing.figure(Figure::TmaBytes)) +
        doing.figure(isFirst ? Figure::DramLatency : Figure::L2Latency);
  }
  signalAll(doing, doing.timed.end, true);
}

void store(Doing &doing) {
  Sm &sm = doing.sm();
  bool isShared = doing.step.reached == Reached::Shared;
  double rows = doing.step.amount;
  double free =
      isShared ? occupy(doing, sm.port, doing.now(), accessClocks(doing, rows))
               : occupy(doing, sm.link, doing.now(),
                        rows * 32 / doing.figure(Figure::TmaBytes));
  doing.readAt = free;
  doing.timed.end = free + doing.figure(Figure::SharedStoreLatency);
  doing.warp.stores.atLeast({doing.timed.end, doing.id});
  signalAll(doing, doing.timed.end, true);
}

/// A shuffle goes through the port of shared memory as one row of banks.
void shuffle(Doing &doing) {
  double sent =
      occupy(doing, doing.sm().port, doing.now(), accessClocks(doing, 1));
  doing.timed.end = sent - 1 + doing.figure(doing.code.of->latency);
  signalAll(doing, doing.timed.end, true);
}

void atomic(Doing &doing) {
  load(doing);
  doing.timed.end += doing.figure(Figure::AtomicLatency);
}

// --- synchronization ---

/// An arrival goes through the port of shared memory, after earlier stores.
void arrive(Doing &doing) {
  double sent = occupy(doing, doing.sm().port, doing.now(), 1);
  doing.timed.end = sent - 1 + doing.figure(doing.code.of->latency);
  signalAll(doing, doing.timed.end, true);
}

/// A barrier adds its latency to the wait, not to the arrival. A warp that only
/// arrives at a barrier of its CTA continues after an interval.
void meet(Doing &doing) {
  signalAll(doing, doing.now(), false);
  auto isWait = [](const Fact &fact) { return fact.kind == Fact::Kind::Wait; };
  if (doing.code.of->latency == Figure::BarrierLatency &&
      std::ranges::none_of(doing.facts, isWait))
    doing.warp.resume.atLeast(
        {doing.now() + doing.figure(Figure::BarrierArriveInterval), doing.id});
}

void fence(Doing &doing) {
  waitUntil(doing, doing.warp.stores, doing.code.of->latency);
  doing.readAt = doing.timed.end;
  doing.warp.floor.atLeast({doing.timed.end, doing.id});
}

// --- copies ---

/// Returns the latency of a copy from L2, whose parts are at different
/// distances.
double latencyFromL2(Doing &doing) {
  double nearest = doing.figure(Figure::TmaL2Latency);
  if (!doing.state.dice)
    return nearest;
  std::mt19937 &dice = *doing.state.dice;
  return nearest +
         doing.figure(Figure::TmaL2Spread) * dice() / double(dice.max());
}

/// Clocks of a copy from L2: for a line, for a row that is narrower than a
/// line, and for each extra line that a wide or a narrow row touches.
struct LineClocks {
  double line, narrowRow, extraLine, extraNarrowLine;
};

/// Returns the clocks of lines on the SM of the step. SMs with one CTA each are
/// taken to load the same rows at the same time, so that L2 merges their
/// requests; several CTAs of an SM drift apart.
LineClocks lineClocks(const Doing &doing) {
  double extra = doing.figure(Figure::TmaExtraLine);
  if (doing.part().ctas.size() <= 1 || !doing.figure(Figure::TmaApartLine))
    return {double(kLineBytes) / doing.figure(Figure::TmaBytes),
            doing.figure(Figure::TmaNarrowRow), extra, extra};
  return {doing.figure(Figure::TmaApartLine),
          doing.figure(Figure::TmaApartNarrowRow),
          doing.figure(Figure::TmaApartExtraLine),
          doing.figure(Figure::TmaApartExtraNarrowLine)};
}

/// Returns the clocks for which a copy occupies the link to L2.
double linkClocks(const Doing &doing, const Fact &fact) {
  if (fact.direction == CopyDirection::BetweenCtas)
    return fact.value / doing.figure(Figure::ExchangeBytes);
  if (fact.direction == CopyDirection::ToGlobal)
    return fact.value / doing.figure(Figure::TmaBytes);
  LineClocks clocks = lineClocks(doing);
  double lines = double(fact.value) / kLineBytes;
  if (lines >= fact.partialRows)
    return lines * clocks.line + fact.extraLines * clocks.extraLine;
  return std::max(lines * clocks.line, fact.partialRows * clocks.narrowRow) +
         fact.extraLines * clocks.extraNarrowLine;
}

/// Returns the end of one copy.
double copyOne(Doing &doing, const Fact &fact) {
  Sm &sm = doing.sm();
  bool between = fact.direction == CopyDirection::BetweenCtas;
  double earliest = doing.now() + doing.figure(Figure::TmaIssue);
  double started =
      occupy(doing, sm.tma, earliest, doing.figure(Figure::TmaInterval)) -
      doing.figure(Figure::TmaInterval);
  double moved = occupy(doing, sm.link, started, linkClocks(doing, fact));
  if (between)
    return moved + doing.figure(Figure::ExchangeLatency);
  if (fact.direction == CopyDirection::FromGlobal)
    return moved + (fact.isFirstTouch ? doing.figure(Figure::TmaDramLatency)
                                      : latencyFromL2(doing));
  doing.warp.copyReads.add(
      {moved + doing.figure(Figure::StoreReadLatency), doing.id});
  doing.warp.copies.add({moved + doing.figure(Figure::StoreLatency), doing.id});
  return moved + doing.figure(Figure::StoreLatency);
}

void copy(Doing &doing) {
  double end = doing.now(), latest = doing.now();
  for (const Fact &fact : doing.facts) {
    if (fact.kind == Fact::Kind::Copy)
      end = copyOne(doing, fact);
    else if (fact.kind == Fact::Kind::Signal)
      signal(doing.state, fact, {end, doing.id}, true);
    latest = std::max(latest, end);
  }
  doing.timed.end = latest;
}

void copyCommit(Doing &doing) {
  doing.warp.copyReads.commit();
  doing.warp.copies.commit();
}

void copyWait(Doing &doing) {
  waitUntil(doing, doing.warp.copies.allBut(size_t(doing.code.amount)),
            Figure::WaitLatency);
}

void copyWaitRead(Doing &doing) {
  waitUntil(doing, doing.warp.copyReads.allBut(size_t(doing.code.amount)),
            Figure::WaitLatency);
}

/// The bytes wait in a queue for the port of shared memory. The warp stands
/// still while the queue is full.
void cpAsync(Doing &doing) {
  Sm &sm = doing.sm();
  double rows = doing.step.amount;
  double written = occupy(doing, sm.port, doing.now(),
                          rows * 128 / doing.figure(Figure::SharedBytes));
  doing.warp.resume.atLeast(
      {written - doing.figure(Figure::CpAsyncQueue), doing.id});
  double moved = occupy(doing, sm.link, doing.now(),
                        rows * 128 / doing.figure(Figure::TmaBytes));
  doing.timed.end = moved + doing.figure(Figure::L2Latency);
  doing.warp.cpAsync.add({doing.timed.end, doing.id});
}

void cpCommit(Doing &doing) { doing.warp.cpAsync.commit(); }

void cpWait(Doing &doing) {
  bool all = doing.code.opcode.starts_with("cp.async.wait_all");
  const Groups &groups = doing.warp.cpAsync;
  waitUntil(doing, all ? groups.all : groups.allBut(size_t(doing.code.amount)),
            Figure::WaitLatency);
}

void cpArrive(Doing &doing) {
  waitUntil(doing, doing.warp.cpAsync.all, Figure::ArriveLatency);
  signalAll(doing, doing.timed.end, true);
}

// --- tensor memory and products ---

/// Moves registers of 32 lanes to or from tensor memory.
double throughTmem(Doing &doing, Figure latency) {
  double clocks = doing.code.amount * 128 / doing.figure(Figure::TmemBytes);
  double moved = occupy(doing, doing.part().tmem, doing.now(), clocks);
  return doing.timed.end = moved + doing.figure(latency);
}

void tmemLoad(Doing &doing) {
  double end = throughTmem(doing, Figure::TmemLoadLatency);
  doing.warp.tmemLoads.atLeast({end, doing.id});
}

void tmemStore(Doing &doing) {
  double end = throughTmem(doing, Figure::TmemStoreLatency);
  doing.readAt = end - doing.figure(Figure::TmemStoreLatency);
  doing.warp.tmemStores.atLeast({end, doing.id});
}

/// ptxas lets each use wait for its own load, so only what is ordered waits.
void tmemWaitLoad(Doing &doing) {
  if (doing.warp.tmemLoads.by.valid())
    doing.warp.floor.atLeast(doing.warp.tmemLoads);
}

void tmemWaitStore(Doing &doing) {
  if (doing.code.control)
    return waitUntil(doing, doing.warp.tmemStores, Figure::NoLatency);
  if (doing.warp.tmemStores.by.valid())
    doing.warp.floor.atLeast(doing.warp.tmemStores);
}

void tmemCopy(Doing &doing) {
  double clocks = doing.code.amount / doing.figure(Figure::TmemCopyBytes);
  double end = occupy(doing, doing.sm().tensor,
                      doing.now() + doing.figure(Figure::MmaStart), clocks);
  doing.warp.products.atLeast({end, doing.id});
}

/// Returns the clocks of one tcgen05.mma: those of its columns, or of its
/// operands in shared memory. All kinds take the same for 32 bytes of K.
double productClocks(const Doing &doing, const ProductShape &shape) {
  double perCta = double(shape.m) / shape.ctas;
  double columns = shape.n / doing.figure(Figure::MmaColumns);
  // Two CTAs with 64 rows each share the columns.
  if (shape.ctas == 2 && perCta == 64)
    columns /= 2;
  double rows = (shape.aInTmem ? 0 : perCta) + double(shape.n) / shape.ctas;
  double operands = 32 * rows / doing.figure(Figure::SharedBytes);
  return std::max(columns, operands) + doing.figure(Figure::MmaExtra);
}

void multiply(Doing &doing, const ProductShape &shape) {
  double earliest =
      doing.now() +
      doing.figure(shape.aInTmem ? Figure::MmaStartTmem : Figure::MmaStart);
  double clocks = productClocks(doing, shape);
  std::vector<Sm> &sms = doing.state.sms;
  Sm &own = doing.sm();
  size_t peer = doing.warp.sm ^ 1u;
  bool isPair = shape.ctas == 2 && peer < sms.size();
  if (isPair)
    earliest = std::max(earliest, sms[peer].tensor.freeAt);
  double end = occupy(doing, own.tensor, earliest, clocks);
  if (isPair)
    occupy(doing, sms[peer].tensor, end - clocks, clocks);
  doing.state.result.mmaBusy += clocks * (isPair ? 2 : 1);
  doing.warp.products.atLeast({end, doing.id});
}

void product(Doing &doing) {
  for (const Fact &fact : doing.facts)
    if (fact.kind == Fact::Kind::Product)
      multiply(doing, fact.shape);
}

void productCommit(Doing &doing) {
  waitUntil(doing, doing.warp.products, Figure::MmaCommit);
  signalAll(doing, doing.timed.end, true);
}

/// The warp's quarter of the product, on the tensor core of its sub-partition:
/// the clocks of its columns, or of its operands in shared memory, which the
/// quarters read together. A row of 16 elements of K has 32 bytes.
void wgmma(Doing &doing) {
  double columns = doing.code.amount;
  double rows = columns + (doing.code.isAInSmem ? 64 : 0);
  double operands = 32 * rows / doing.figure(Figure::SharedBytes);
  double clocks = std::max({doing.figure(Figure::WgmmaLeast), operands,
                            columns / doing.figure(Figure::WgmmaColumns)});
  startProduct(doing, clocks + doing.figure(Figure::WgmmaExtra),
               operands / clocks);
}

void mmaSync(Doing &doing) {
  double clocks = doing.code.amount * doing.figure(Figure::MmaSyncInterval);
  Unit &pipe = doing.part().pipes[size_t(Pipe::Tensor)];
  // It has taken the clocks of one unit of work.
  pipe.freeAt += clocks - doing.figure(Figure::MmaSyncInterval);
  doing.state.result.mmaBusy += clocks / 4;
}

using Act = void (*)(Doing &);

/// In the order of Action.
constexpr Act table[] = {plain,      load,          store,         atomic,
                         arrive,     meet,          fence,         copy,
                         copyCommit, copyWait,      copyWaitRead,  cpAsync,
                         cpCommit,   cpWait,        cpArrive,      tmemLoad,
                         tmemStore,  tmemWaitLoad,  tmemWaitStore, tmemCopy,
                         product,    productCommit, wgmma,         plain,
                         plain,      mmaSync,       branch,        shuffle};
static_assert(std::size(table) == size_t(Action::Shuffle) + 1);

} // namespace

void act(Doing &doing) { table[size_t(doing.code.of->action)](doing); }

} // namespace ptxsim::timing

//===- Replay.cpp - Which step issues when --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <cmath>

namespace ptxsim::timing {
namespace {

/// Returns the warp of SASS that a scheduler tries i-th: the one that it issued
/// from, then the others in turns or from the youngest on.
size_t nextOf(const Turns &turns, size_t i, bool isYoungestFirst) {
  if (!isYoungestFirst)
    return (turns.last + i) % turns.warps.size();
  size_t youngest = turns.warps.size() - i;
  return i == 0 ? turns.last : youngest - (youngest <= turns.last);
}

/// Returns the turns of the CTA of the warp, or of all warps of the
/// sub-partition if older CTAs are not preferred.
Turns &turnsOf(SubPartition &part, const WarpRecord &record,
               const Figures &figures) {
  bool areAlike = figures[Figure::OldestCtaIssues] < 1;
  uint64_t cluster = areAlike ? 0 : record.cluster;
  auto at = std::ranges::lower_bound(part.ctas, cluster, {}, &Turns::cluster);
  if (at == part.ctas.end() || at->cluster != cluster)
    at = part.ctas.insert(
        at, Turns{cluster, {}, 0, figures[Figure::TurnsToYoungest]});
  return *at;
}

/// Returns when an instruction can issue so that it has read its registers at
/// the end of the window. Without a window it waits for all reads before it.
double readableAt(const SubPartition &part, const Code &code, double window) {
  double at = 0;
  for (size_t bank = 0; bank < part.banks.size(); ++bank)
    if (unsigned reads = code.bankReads[bank]; reads || window == 0)
      at = std::max(at, part.banks[bank] - std::max(window - reads, 0.0));
  return at;
}

/// Returns whether the step itself waits for groups of copies.
bool waitsForGroups(Action action) {
  return action == Action::CopyWait || action == Action::CopyWaitRead ||
         action == Action::CpWait;
}

/// Fails with the warps that wait for each other.
[[noreturn]] void failStuck(const State &state) {
  std::string text = "internal error: in time, warps wait for each other:";
  for (const WarpState &warp : state.warps)
    if (!warp.finished())
      text += " cluster " + std::to_string(warp.record->cluster) + " CTA " +
              std::to_string(warp.record->rank) + " warp " +
              std::to_string(warp.record->warp);
  throw Error(Error::Kind::Launch, text);
}

/// Chooses which step issues when.
class Replay {
public:
  Replay(const Recording &recording, const Figures &figures, bool keepsWork,
         uint32_t seed);
  Schedule run();

private:
  void place(uint32_t index);
  void nameUnits();
  double step();
  void drain();
  size_t nextInTurn(const SubPartition &part, const Turns &turns,
                    size_t i) const;
  bool issueOnce(SubPartition &part);
  bool turn(SubPartition &part, Turns &turns, const WarpState *resting);
  bool issueFrom(WarpState &warp);
  void fill(WarpState &warp);
  bool isWgmma(const WarpState &warp, uint32_t step) const;
  void addProducers(WarpState &warp, Entry &entry);
  void settle(const WarpState &warp, Entry &entry);
  bool takeScoreboards(const WarpState &warp, const sass::Control &control,
                       Moment &latest);
  Cause latestOf(WarpState &warp, Entry &entry, double &time);
  void issue(WarpState &warp, size_t at, Cause cause);
  void takeSlot(const Doing &doing);
  void finishInOrder(Doing &doing);
  void finish(Doing &doing, const Entry &entry);

  State state;
  const Recording &recording = state.recording;
  const bool isSass = !recording.codes.empty() && recording.codes[0].control;
  double &now = state.now;
  Schedule &result = state.result;
};

Replay::Replay(const Recording &recording, const Figures &figures,
               bool keepsWork, uint32_t seed)
    : state{recording, figures, keepsWork, {}, 0, {}, {}, {}, {}, {}} {
  if (seed)
    state.dice.emplace(seed);
  uint32_t count = 1;
  for (const WarpRecord &record : recording.warps)
    count = std::max(count, record.rank + 1);
  state.sms.resize(count);
  state.parts.resize(size_t(count) * 4);
  nameUnits();
  for (uint32_t missing : recording.signals)
    state.phases.emplace_back().missing = missing;
  state.warps.resize(recording.warps.size());
  CompiledOrder compiled(recording, state.figures);
  for (uint32_t i = 0; i < state.warps.size(); ++i) {
    place(i);
    WarpState &warp = state.warps[i];
    warp.orders = ordersOf(recording, *warp.record);
    if (!isSass && state.figures[Figure::CompilerReach] >= 1)
      warp.compiled = compiled.of(*warp.record, warp.orders);
  }
}

void Replay::nameUnits() {
  auto name = [&](Unit &unit, size_t sm, const std::string &text) {
    unit.number = uint32_t(result.units.size());
    result.units.push_back("SM " + std::to_string(sm) + " " + text);
  };
  for (size_t sm = 0; sm < state.sms.size(); ++sm) {
    name(state.sms[sm].tensor, sm, "tensor core");
    name(state.sms[sm].tma, sm, "TMA");
    name(state.sms[sm].link, sm, "link to L2");
    name(state.sms[sm].port, sm, "port of shared memory");
    for (size_t part = 0; part < 4; ++part) {
      SubPartition &of = state.parts[4 * sm + part];
      std::string number = std::to_string(part);
      Unit tensor;
      name(tensor, sm, "tensor core " + number);
      of.tensor.number = tensor.number;
      name(of.tmem, sm, "tensor memory " + number);
    }
  }
}

void Replay::place(uint32_t index) {
  const WarpRecord &record = recording.warps[index];
  WarpState &warp = state.warps[index];
  warp.record = &record;
  warp.index = index;
  warp.sm = record.rank;
  warp.part = record.warp % 4;
  turnsOf(state.partOf(warp), record, state.figures).warps.push_back(index);
  result.steps.emplace_back(record.steps.size());
}

Schedule Replay::run() {
  for (double next = 0; next != kNever;) {
    now = next;
    next = step();
  }
  drain();
  result.mmaBusy /= double(state.sms.size());
  return std::move(result);
}

/// Ends products that nothing waited for.
void Replay::drain() {
  for (SubPartition &part : state.parts)
    if (const auto &products = part.tensor.products; !products.empty()) {
      now = products.back().end;
      const StepId last = products.back().id;
      endProducts(state, part);
      if (now > result.clocks) {
        result.clocks = now;
        result.last = last;
      }
    }
}

/// Lets each sub-partition issue once. Returns the next clock at which one can,
/// or kNever after the last.
double Replay::step() {
  double next = kNever;
  bool live = false;
  for (SubPartition &part : state.parts)
    endProducts(state, part);
  for (SubPartition &part : state.parts) {
    bool issued = part.slot.freeAt <= now && issueOnce(part);
    if (const auto &products = part.tensor.products; !products.empty())
      next = std::min(next, std::ceil(products.front().end));
    for (const Turns &turns : part.ctas)
      for (uint32_t index : turns.warps)
        if (const WarpState &warp = state.warps[index]; !warp.finished()) {
          live = true;
          double at = std::max({warp.nextTry, part.slot.freeAt, now + issued});
          next = std::min(next, std::ceil(at));
        }
  }
  if (live && next == kNever)
    failStuck(state);
  return live ? std::max(next, now) : kNever;
}

/// Returns the warp of PTX that a scheduler tries i-th: they take turns, but
/// the products of a chain issue in a row, as measured
/// (results/h200-issue-order-2026-11-30.csv), and now and then the youngest is
/// first. So warps do not stay in step.
size_t Replay::nextInTurn(const SubPartition &part, const Turns &turns,
                          size_t i) const {
  if (turns.untilYoungest <= 0)
    return turns.warps.size() - 1 - i;
  const Unit &tensor = part.pipes[size_t(Pipe::Tensor)];
  const StepId last = tensor.last;
  auto first = turns.warps.end();
  if (last.valid() && tensor.freeAt >= now - 1 &&
      isWgmma(state.warps[last.warp], last.step))
    first = std::ranges::find(turns.warps, last.warp);
  size_t from = first == turns.warps.end()
                    ? turns.last + 1
                    : size_t(first - turns.warps.begin());
  return (from + i) % turns.warps.size();
}

/// Issues from the oldest CTA that can. Returns whether one did. With several
/// CTAs, a warp that has issued `OldestCtaIssues` times in a row lets the
/// others go first.
bool Replay::issueOnce(SubPartition &part) {
  auto issueFromAllBut = [&](const WarpState *resting) {
    return std::ranges::any_of(
        part.ctas, [&](Turns &turns) { return turn(part, turns, resting); });
  };
  bool rests = part.ctas.size() > 1 &&
               part.inRow >= state.figures[Figure::OldestCtaIssues];
  return (rests && issueFromAllBut(&state.warps[part.last])) ||
         issueFromAllBut(nullptr);
}

/// Issues from the next warp of a CTA that can, other than `resting`. Returns
/// whether one did. With SASS, the warp of the CTA that issued last issues if
/// it can, otherwise the next in turn, or the youngest that can.
bool Replay::turn(SubPartition &part, Turns &turns, const WarpState *resting) {
  bool isYoungestFirst = state.figures[Figure::YoungestFirst] >= 0.5;
  for (size_t i = 0; i < turns.warps.size(); ++i) {
    size_t at =
        isSass ? nextOf(turns, i, isYoungestFirst) : nextInTurn(part, turns, i);
    WarpState &warp = state.warps[turns.warps[at]];
    if (&warp == resting || warp.nextTry > now || !issueFrom(warp))
      continue;
    part.inRow = warp.index == part.last ? part.inRow + 1 : 1;
    part.last = warp.index;
    turns.last = at;
    turns.untilYoungest = turns.untilYoungest > 0
                              ? turns.untilYoungest - 1
                              : state.figures[Figure::TurnsToYoungest];
    return true;
  }
  return false;
}

/// Issues the first step of the window that can. Returns true if it took a
/// slot.
bool Replay::issueFrom(WarpState &warp) {
  bool isHeld = false;
  fill(warp);
  warp.nextTry = kNever;
  for (size_t i = 0; i < warp.window.size();) {
    Entry &entry = warp.window[i];
    if (entry.order == Order::Last && i)
      break;
    double at = kNever;
    bool waits = entry.order == Order::Ordered && isHeld;
    Cause cause = waits ? Cause() : latestOf(warp, entry, at);
    if (at > now) {
      warp.nextTry = std::min(warp.nextTry, at);
      isHeld |= entry.order != Order::Any;
      ++i;
      continue;
    }
    const Step &step = warp.record->steps[entry.step];
    bool takesSlot = recording.codes[step.code].of->slots && !step.isHelper;
    issue(warp, i, cause);
    if (warp.parked)
      warp.nextTry = kNever;
    else if (takesSlot || warp.resume.time > now)
      warp.nextTry = std::max(now, warp.resume.time);
    if (takesSlot || warp.parked || warp.resume.time > now)
      return takesSlot;
    fill(warp);
  }
  return false;
}

void Replay::fill(WarpState &warp) {
  const auto &facts = warp.record->facts;
  auto size = unsigned(std::lround(state.figures[Figure::Window]));
  while (!warp.sealed && warp.slots < size &&
         warp.next < warp.record->steps.size()) {
    Entry entry;
    uint32_t next = warp.next++;
    entry.step = warp.compiled.empty() ? next : warp.compiled[next];
    const Step &step = warp.record->steps[entry.step];
    const Code &code = recording.codes[step.code];
    entry.order = warp.orders[entry.step];
    entry.firstFact = warp.nextFact;
    while (warp.nextFact < facts.size() &&
           facts[warp.nextFact].step == entry.step)
      ++warp.nextFact, ++entry.facts;
    addProducers(warp, entry);
    warp.slots += step.isHelper ? 0 : code.of->slots;
    warp.sealed = entry.order == Order::Last;
    warp.window.push_back(std::move(entry));
  }
}

bool Replay::isWgmma(const WarpState &warp, uint32_t step) const {
  const Code &code = recording.codes[warp.record->steps[step].code];
  return code.of->action == Action::Wgmma;
}

void Replay::addProducers(WarpState &warp, Entry &entry) {
  const Step &step = warp.record->steps[entry.step];
  const Code &code = recording.codes[step.code];
  bool isProduct = code.of->action == Action::Wgmma;
  for (uint32_t row : code.reads) {
    size_t at = size_t(step.rowBase) + row;
    uint32_t writer = at < warp.writers.size() ? warp.writers[at] : 0;
    // The tensor core executes products in order, without waits between them.
    if (writer && isProduct && isWgmma(warp, writer - 1))
      continue;
    if (writer && (entry.pending.empty() || entry.pending.back() != writer - 1))
      entry.pending.push_back(writer - 1);
  }
  for (uint32_t row : code.writes) {
    size_t at = size_t(step.rowBase) + row;
    if (at >= warp.writers.size())
      warp.writers.resize(at + 1);
    warp.writers[at] = entry.step + 1;
  }
  settle(warp, entry);
}

/// Takes the results of producers that have issued.
void Replay::settle(const WarpState &warp, Entry &entry) {
  const std::vector<Timed> &steps = result.steps[warp.index];
  std::erase_if(entry.pending, [&](uint32_t step) {
    if (steps[step].issued())
      entry.ready.atLeast({steps[step].end, {warp.index, step}});
    return steps[step].issued();
  });
}

/// Sets `latest` to the last end of the scoreboards that an instruction of SASS
/// waits for. Returns false if one is not known yet.
bool Replay::takeScoreboards(const WarpState &warp,
                             const sass::Control &control, Moment &latest) {
  for (unsigned i = 0; i < sass::kBarriers; ++i) {
    if (!(control.waits >> i & 1))
      continue;
    const Scoreboard &scoreboard = warp.scoreboards[i];
    if (scoreboard.open)
      return false;
    if (scoreboard.until.by.valid()) {
      Moment until = scoreboard.until;
      until.time += state.figures[Figure::ScoreboardLatency];
      latest.atLeast(until);
    }
  }
  return true;
}

/// Returns what holds the entry up the longest, and until when.
Cause Replay::latestOf(WarpState &warp, Entry &entry, double &time) {
  settle(warp, entry);
  if (!entry.pending.empty())
    return {};
  SubPartition &part = state.partOf(warp);
  const Step &step = warp.record->steps[entry.step];
  const CostClass &of = *recording.codes[step.code].of;
  Moment latest = entry.ready;
  latest.atLeast(warp.resume);
  const auto &control = recording.codes[step.code].control;
  if (control && !takeScoreboards(warp, *control, latest))
    return {};
  if (!control && entry.order != Order::Any && of.action != Action::TmemLoad)
    latest.atLeast(warp.floor);
  Cause cause{latest.by, latest.by.valid() ? Why::Result : Why::Start, true};
  const Unit &pipe = part.pipes[size_t(of.pipe)];
  double free = freeAt(pipe, warp.index);
  if (of.action == Action::Wgmma)
    free += descriptorClocks(state, warp, recording.codes[step.code], pipe);
  if (of.pipe != Pipe::None && free > latest.time) {
    latest.time = free;
    cause = {pipe.last, Why::Busy, false};
  }
  double window = state.figures[Figure::ReadWindow];
  if (double at = readableAt(part, recording.codes[step.code], window);
      at > latest.time) {
    latest.time = at;
    cause = {part.slot.last, Why::Slot, false};
  }
  Moment room;
  if (of.action == Action::Wgmma)
    room = roomForProduct(state, part);
  if (room.time > latest.time) {
    latest.time = room.time;
    cause = {room.by, Why::Busy, true};
  }
  time = latest.time;
  if (time > now - 1)
    return cause;
  // It could have issued before: another took the slot, or it was not in the
  // window yet.
  const StepId other = part.slot.last;
  if (other.valid() && result.at(other).issue >= now - 1)
    return {other, Why::Slot, false};
  return warp.lastIssued.valid() ? Cause{warp.lastIssued, Why::Program, false}
                                 : cause;
}

void Replay::issue(WarpState &warp, size_t at, Cause cause) {
  Entry entry = std::move(warp.window[at]);
  warp.window.erase(warp.window.begin() + ptrdiff_t(at));
  const Step &step = warp.record->steps[entry.step];
  const Code &code = recording.codes[step.code];
  StepId id{warp.index, entry.step};
  Timed &timed = result.steps[warp.index][entry.step];
  bool isFree = step.isHelper || !code.of->slots;
  bool floats = isFree && entry.order == Order::Any;
  timed.issue = floats ? std::max(entry.ready.time, warp.resume.time) : now;
  timed.issueCause = cause;
  double latency = step.isHelper ? 0 : state.figures[code.of->latency];
  timed.end = timed.issue + latency;
  timed.endCause = {id, Why::Latency, false};
  std::span<const Fact> facts(warp.record->facts);
  Doing doing{state,
              warp,
              step,
              code,
              timed,
              id,
              facts.subspan(entry.firstFact, entry.facts)};
  doing.readAt = now + state.figures[Figure::OperandLatency];
  if (!isFree)
    takeSlot(doing);
  if (!step.isHelper)
    act(doing);
  finish(doing, entry);
}

void Replay::takeSlot(const Doing &doing) {
  const CostClass &of = *doing.code.of;
  SubPartition &part = doing.part();
  part.slot = {now + of.slots, doing.id};
  for (size_t bank = 0; bank < part.banks.size(); ++bank)
    part.banks[bank] =
        std::max(part.banks[bank], now) + doing.code.bankReads[bank];
  doing.warp.slots -= of.slots;
  doing.warp.lastIssued = doing.id;
  if (of.pipe == Pipe::None)
    return;
  takePipe(doing, part.pipes[size_t(of.pipe)]);
}

/// Sets the scoreboards of the step, and holds the warp for its stall count.
void Replay::finishInOrder(Doing &doing) {
  WarpState &warp = doing.warp;
  const sass::Control &control = *doing.code.control;
  double stall = std::max<double>(control.stall, 1);
  bool jumps = doing.code.of->action == Action::Branch && doing.step.amount;
  if (jumps)
    stall = std::max(stall, doing.figure(doing.code.of->latency));
  warp.resume = {now + stall, doing.id};
  if (control.readBarrier != sass::kNoBarrier)
    warp.scoreboards[control.readBarrier].until.atLeast(
        {doing.readAt, doing.id});
  if (std::ranges::any_of(doing.facts, [](const Fact &fact) {
        return fact.kind == Fact::Kind::Wait;
      }))
    return waitForAll(doing);
  if (control.writeBarrier != sass::kNoBarrier)
    warp.scoreboards[control.writeBarrier].until.atLeast(
        {doing.timed.end, doing.id});
  else if (waitsForGroups(doing.code.of->action))
    warp.resume.atLeast({doing.timed.end, doing.id});
}

/// Lets the warp wait for what nothing passes, and counts the end.
void Replay::finish(Doing &doing, const Entry &entry) {
  WarpState &warp = doing.warp;
  warp.sealed &= entry.order != Order::Last;
  if (doing.code.control) {
    finishInOrder(doing);
  } else if (entry.order == Order::Last) {
    bool waits = std::ranges::any_of(doing.facts, [](const Fact &fact) {
      return fact.kind == Fact::Kind::Wait;
    });
    if (waits)
      waitForAll(doing);
    else
      warp.resume = {doing.timed.end, doing.id};
  }
  if (doing.timed.end > result.clocks || !result.last.valid()) {
    result.clocks = doing.timed.end;
    result.last = doing.id;
  }
}

} // namespace

Schedule schedule(const Recording &recording, const Figures &figures,
                  bool keepsWork, uint32_t seed) {
  return Replay(recording, figures, keepsWork, seed).run();
}

} // namespace ptxsim::timing

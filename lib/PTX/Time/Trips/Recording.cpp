//===- Recording.cpp - Fills a recording by trips -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Codes.h"
#include "Signals.h"
#include "Walk.h"

#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Time/Recorder.h"

#include <algorithm>

namespace ptxsim::timing {
namespace {

using sass::Instruction;

[[noreturn]] void fail(const std::string &what) {
  throw Error(Error::Kind::Launch, what);
}

/// What a warp has done with one barrier.
struct Turns {
  uint64_t waits = 0, arrivals = 0, bytes = 0;
};

/// The warp whose facts are added.
struct Current {
  const TripsRole *role = nullptr;
  WarpRecord *record = nullptr;
  std::map<std::string, Turns> turns;
  /// By instruction: how often the warp has executed it.
  std::map<uint32_t, uint64_t> times;
  /// Groups of wgmma before the open one, whether that has products, and how
  /// many groups precede the end of each committed one.
  uint64_t groups = 0;
  bool isOpen = false;
  std::vector<uint64_t> committed;
};

class TripsSource final : public SassSource {
public:
  TripsSource(const Trips &trips, const SassKernel &kernel, bool isL2Warm);
  void complete(const Instruction &inst, Code &code) override;
  std::vector<WarpRecord> warps() override;
  std::vector<uint32_t> pathOf(const WarpRecord &warp) override;
  void complete(WarpRecord &warp, Recording &result) override;
  /// Checks the phases, once all warps have their facts.
  void check(const Recording &result) const {
    signals.check(result, kernel.function);
  }

private:
  const TripsRole &roleOf(uint32_t warp) const;
  void addFacts(uint32_t step, Recording &result);
  void addCopy(uint32_t step, const StepRule &rule, Recording &result);
  void addTmemCopy(uint32_t step, const StepRule &rule, Code &code);
  void addWgmma(uint32_t step, const Code &code, Recording &result);
  void meet(uint32_t step, const StepRule &rule, Recording &result);
  void reach(Step &step, const StepRule &rule) const;
  void waitFor(uint32_t step, const StepRule &rule, Recording &result);
  void arrive(uint32_t step, const StepRule &rule, Recording &result);
  const StepRule &ruleOf(uint32_t instruction) const;
  const std::string &barrierOf(uint32_t instruction, const StepRule &rule);
  const BarrierRule &settingsOf(const std::string &barrier) const;
  [[noreturn]] void lack(uint32_t instruction, const std::string &what) const;
  const Instruction &inst(uint32_t index) const {
    return kernel.function.instructions[index];
  }

  const Trips &trips;
  const SassKernel &kernel;
  SassGraph graph;
  const bool isL2Warm;
  /// Warps of a CTA.
  uint32_t ctaWarps = 0;
  unsigned flushes = 0, commits = 0;
  std::map<const TripsRole *, std::vector<uint32_t>> paths;
  /// By instruction that copies to tensor memory.
  std::map<uint32_t, uint32_t> tmemBytes;
  Signals signals;
  Current now;
};

/// Returns the path of each role. The records of more instructions than
/// Recorder::kMostSteps, of all warps, would take gigabytes.
std::map<const TripsRole *, std::vector<uint32_t>>
pathsOf(const Trips &trips, const SassKernel &kernel, const SassGraph &graph) {
  std::map<const TripsRole *, std::vector<uint32_t>> paths;
  size_t left = Recorder::kMostSteps;
  for (const TripsRole &role : trips.roles) {
    size_t warps = role.warps.size() * trips.ctasPerSm;
    std::vector<uint32_t> path = walk(kernel, graph, trips, role, left / warps);
    for (uint32_t block : path)
      left -= warps * (kernel.blocks[block].end - kernel.blocks[block].first);
    paths.emplace(&role, std::move(path));
  }
  return paths;
}

TripsSource::TripsSource(const Trips &trips, const SassKernel &kernel,
                         bool isL2Warm)
    : trips(trips), kernel(kernel), graph(kernel), isL2Warm(isL2Warm) {
  for (const Instruction &of : kernel.function.instructions)
    for (uint8_t barrier : {of.control.readBarrier, of.control.writeBarrier}) {
      flushes |= of.root() == "UTMACMDFLUSH" ? 1u << barrier : 0;
      commits |= of.root() == "LDGDEPBAR" ? 1u << barrier : 0;
    }
  checkRules(trips, kernel, graph);
  for (const TripsRole &role : trips.roles)
    ctaWarps += uint32_t(role.warps.size());
  paths = pathsOf(trips, kernel, graph);
}

void TripsSource::lack(uint32_t instruction, const std::string &what) const {
  fail("trips of role '" + now.role->name + "': expected " + what + " for " +
       describe(inst(instruction)) + ", got none");
}

void TripsSource::complete(const Instruction &inst, Code &code) {
  settleClass(inst, flushes, commits, code);
}

std::vector<WarpRecord> TripsSource::warps() {
  std::vector<WarpRecord> result;
  for (uint32_t cta = 0; cta < trips.ctasPerSm; ++cta)
    for (const TripsRole &role : trips.roles)
      for (uint32_t warp : role.warps)
        result.push_back({cta, 0, warp, {}, {}});
  std::ranges::sort(result, {}, [](const WarpRecord &of) {
    return std::pair(of.cluster, of.warp);
  });
  return result;
}

const TripsRole &TripsSource::roleOf(uint32_t warp) const {
  return *std::ranges::find_if(trips.roles, [&](const TripsRole &role) {
    return std::ranges::find(role.warps, warp) != role.warps.end();
  });
}

std::vector<uint32_t> TripsSource::pathOf(const WarpRecord &warp) {
  return paths.at(&roleOf(warp.warp));
}

const StepRule &TripsSource::ruleOf(uint32_t instruction) const {
  static const StepRule none;
  for (const Rules *rules : {&now.role->rules, &trips.rules})
    if (auto found = rules->steps.find(inst(instruction).address);
        found != rules->steps.end())
      return found->second;
  return none;
}

const std::string &TripsSource::barrierOf(uint32_t instruction,
                                          const StepRule &rule) {
  if (rule.barriers.empty())
    lack(instruction, "a barrier");
  return rule.barriers[now.times[instruction] % rule.barriers.size()];
}

const BarrierRule &TripsSource::settingsOf(const std::string &barrier) const {
  static const BarrierRule usual;
  auto found = trips.barriers.find(barrier);
  return found == trips.barriers.end() ? usual : found->second;
}

void TripsSource::waitFor(uint32_t step, const StepRule &rule,
                          Recording &result) {
  uint32_t instruction = now.record->steps[step].code;
  const std::string &barrier = barrierOf(instruction, rule);
  Turns &turns = now.turns[barrier];
  if (rule.phase && !now.times[instruction])
    turns.waits = *rule.phase;
  if (!rule.isAgain || !turns.waits)
    ++turns.waits;
  uint32_t free = settingsOf(barrier).free;
  if (turns.waits > free)
    return signals.wait(*now.record, step, barrier, turns.waits - 1 - free, 0,
                        result);
  Fact fact;
  fact.step = step;
  fact.kind = Fact::Kind::Wait;
  fact.value = kNoPhase;
  now.record->facts.push_back(fact);
}

void TripsSource::arrive(uint32_t step, const StepRule &rule,
                         Recording &result) {
  uint32_t instruction = now.record->steps[step].code;
  const std::string &barrier = barrierOf(instruction, rule);
  Turns &turns = now.turns[barrier];
  uint32_t share = settingsOf(barrier).arrivals;
  if (rule.phase && !now.times[instruction])
    turns.arrivals = *rule.phase * share;
  signals.signal(*now.record, step, barrier, turns.arrivals++ / share, result);
}

/// Adds a barrier of threads. BAR.ARV does not wait; a warp counts its phases
/// apart from those that it waits for.
void TripsSource::meet(uint32_t step, const StepRule &rule, Recording &result) {
  uint32_t instruction = now.record->steps[step].code;
  const Instruction &of = inst(instruction);
  if (of.root() == "UCGABAR_ARV" || of.root() == "UCGABAR_WAIT") {
    Turns &turns = now.turns["cluster barrier"];
    if (of.root() == "UCGABAR_ARV")
      return signals.signal(*now.record, step, "cluster barrier",
                            turns.arrivals++, result);
    return signals.wait(*now.record, step, "cluster barrier", turns.waits++,
                        ctaWarps, result);
  }
  auto number = immediateOf(operandOf(of, 0));
  std::string barrier = rule.barriers.empty() && number
                            ? "BAR " + std::to_string(*number)
                            : barrierOf(instruction, rule);
  std::string_view count = operandOf(of, 1);
  auto threads = rule.threads ? rule.threads : immediateOf(count);
  if (!threads && !count.empty())
    lack(instruction, "threads");
  uint32_t warps = threads ? (*threads + 31) / 32 : ctaWarps;
  bool waits = !of.opcode.starts_with("BAR.ARV");
  Turns &turns = now.turns[barrier];
  uint64_t &turn = waits ? turns.waits : turns.arrivals;
  if (rule.phase && !now.times[instruction])
    turn = *rule.phase;
  uint64_t phase = turn++;
  signals.signal(*now.record, step, barrier, phase, result);
  if (waits)
    signals.wait(*now.record, step, barrier, phase, warps, result);
}

void TripsSource::addCopy(uint32_t step, const StepRule &rule,
                          Recording &result) {
  uint32_t instruction = now.record->steps[step].code;
  if (!rule.bytes)
    lack(instruction, "bytes");
  if (rule.extraLines && !rule.partialRows)
    lack(instruction, "partial_rows");
  Fact fact;
  fact.step = step;
  fact.kind = Fact::Kind::Copy;
  fact.direction = rule.direction.value_or(directionOf(inst(instruction)));
  fact.value = *rule.bytes;
  fact.partialRows = rule.partialRows.value_or(0);
  fact.extraLines = rule.extraLines.value_or(0);
  bool loads = fact.direction == CopyDirection::FromGlobal;
  bool isInL2 = isL2Warm || rule.reached == Reached::Global;
  fact.isFirstTouch = loads && !isInL2;
  result.readBytes += loads ? fact.value : 0;
  now.record->facts.push_back(fact);
  if (fact.direction == CopyDirection::ToGlobal)
    return;
  const std::string &barrier = barrierOf(instruction, rule);
  Turns &turns = now.turns[barrier];
  const BarrierRule &settings = settingsOf(barrier);
  if (!settings.bytes && !turns.arrivals)
    lack(instruction, "an arrival at '" + barrier +
                          "' by the same warp before it, or bytes of that "
                          "barrier,");
  uint64_t phase = settings.bytes ? turns.bytes / settings.bytes
                                  : (turns.arrivals - 1) / settings.arrivals;
  turns.bytes += *rule.bytes;
  signals.signal(*now.record, step, barrier, phase, result);
}

/// All warps share the bytes of an instruction that copies to tensor memory.
void TripsSource::addTmemCopy(uint32_t step, const StepRule &rule, Code &code) {
  uint32_t instruction = now.record->steps[step].code;
  if (!rule.bytes)
    lack(instruction, "bytes");
  auto [known, isNew] = tmemBytes.try_emplace(instruction, *rule.bytes);
  if (known->second != *rule.bytes)
    fail("trips of role '" + now.role->name + "': expected " +
         std::to_string(known->second) + " bytes, as other roles have, for " +
         describe(inst(instruction)) + ", got " + std::to_string(*rule.bytes));
  code.amount = *rule.bytes;
}

/// Products of wgmma belong to the four warps of a group, and gsb0 closes a
/// group of them.
void TripsSource::addWgmma(uint32_t step, const Code &code, Recording &result) {
  std::string barrier =
      "wgmma of warpgroup " + std::to_string(now.record->warp / 4);
  if (code.of->action == Action::Wgmma) {
    now.isOpen = true;
    signals.signal(*now.record, step, barrier, now.groups, result);
    if (inst(now.record->steps[step].code).operands.find("gsb") !=
        std::string::npos) {
      now.committed.push_back(++now.groups);
      now.isOpen = false;
    }
    return;
  }
  size_t left = size_t(code.amount), count = now.committed.size();
  if (count > left)
    signals.wait(*now.record, step, barrier,
                 now.committed[count - left - 1] - 1, 0, result);
}

void TripsSource::reach(Step &step, const StepRule &rule) const {
  Access access = accessOf(inst(step.code));
  step.reached = rule.reached.value_or(access.reached);
  if (!isL2Warm && !rule.reached && access.reached == Reached::Global)
    step.reached = Reached::FirstTouch;
  step.amount = uint16_t(rule.amount.value_or(access.amount));
}

/// Adds the facts of a step if its guard holds.
void TripsSource::addFacts(uint32_t step, Recording &result) {
  Step &of = now.record->steps[step];
  Code &code = result.codes[of.code];
  const StepRule &rule = ruleOf(of.code);
  if (rule.warps && !rule.warps->contains(now.record->warp)) {
    of.isIdle = true;
    return;
  }
  switch (code.of->action) {
  case Action::Load:
  case Action::Store:
  case Action::Atomic:
  case Action::CpAsync:
    return reach(of, rule);
  case Action::Signal:
  case Action::MmaCommit:
  case Action::CpArrive:
    return arrive(step, rule, result);
  case Action::Meet:
    return meet(step, rule, result);
  case Action::Copy:
    return addCopy(step, rule, result);
  case Action::TmemCopy:
    return addTmemCopy(step, rule, code);
  case Action::Mma: {
    if (!rule.shape)
      lack(of.code, "a shape");
    Fact fact;
    fact.step = step;
    fact.kind = Fact::Kind::Product;
    fact.shape = *rule.shape;
    fact.shape.aInTmem = operandOf(inst(of.code), 0).starts_with("tmem");
    now.record->facts.push_back(fact);
    return;
  }
  case Action::Wgmma:
  case Action::WgmmaWait:
    return addWgmma(step, code, result);
  default:
    if (code.of->name == "Wait" && !retries(inst(of.code)))
      waitFor(step, rule, result);
  }
}

void TripsSource::complete(WarpRecord &warp, Recording &result) {
  now = {};
  now.role = &roleOf(warp.warp);
  now.record = &warp;
  for (uint32_t step = 0; step < warp.steps.size(); ++step) {
    addFacts(step, result);
    ++now.times[warp.steps[step].code];
  }
}

} // namespace

Recording recordingOf(const Trips &trips, sass::Function function,
                      bool isL2Warm) {
  SassKernel kernel(std::move(function));
  if (kernel.blocks.empty())
    fail("expected instructions in the function " + kernel.function.name +
         ", got none");
  TripsSource source(trips, kernel, isL2Warm);
  Recording result;
  result.clusters = trips.ctasPerSm;
  result = recordingOf(kernel, source, std::move(result));
  source.check(result);
  return result;
}

} // namespace ptxsim::timing

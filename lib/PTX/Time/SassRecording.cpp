//===- SassRecording.cpp - A recording in SASS ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/SassRecording.h"

#include "SassSource.h"
#include "SassWalk.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>
#include <unordered_map>

namespace ptxsim::timing {
namespace {

/// Classes whose instructions ptxas neither duplicates nor drops: each of them
/// in SASS is one of PTX.
constexpr std::string_view kMatched[] = {
    "Arrive",   "Wait",       "Barrier",   "ClusterBarrier", "Request",
    "Copy",     "CopyCommit", "CopyWait",  "CpCommit",       "CpArrive",
    "TmemCopy", "Mma",        "MmaCommit", "Wgmma",          "WgmmaWait"};

/// Returns the name that matched instructions of SASS and PTX share; empty for
/// others. One instruction of SASS waits for all kinds of copies.
std::string_view keyOf(const CostClass &of) {
  bool waits = of.name == "CopyWaitRead" || of.name == "CpWait";
  std::string_view name = waits ? "CopyWait" : of.name;
  return std::ranges::find(kMatched, name) != std::end(kMatched)
             ? name
             : std::string_view();
}

bool accesses(Action action) {
  return action == Action::Load || action == Action::Store ||
         action == Action::Atomic || action == Action::CpAsync;
}

/// Takes everything from the PTX that ran.
class Translation final : public SassSource {
public:
  Translation(const Recording &recording, const SassKernel &kernel);
  void complete(const sass::Instruction &inst, Code &code) override;
  std::vector<WarpRecord> warps() override;
  std::vector<uint32_t> pathOf(const WarpRecord &warp) override;
  void complete(WarpRecord &warp, Recording &result) override;

private:
  struct Match {
    std::vector<uint32_t> ptx, sass;
  };

  void settleWait(const sass::Instruction &inst, Code &code);
  void match(WarpRecord &to, Recording &result);
  bool suits(uint32_t ptx, uint32_t sass, const sass::Instruction &inst) const;
  void pair(const WarpRecord &to, std::string_view key, Match &match);
  void moveFacts(WarpRecord &to, const std::vector<uint32_t> &places);
  void setReached(WarpRecord &to, const Recording &result);
  [[noreturn]] void fail(const std::string &why) const;

  const Recording &recording;
  const SassKernel &kernel;
  SassWalk walker;
  /// The PTX record of the warp for which pathOf() was last called.
  const WarpRecord *from = nullptr;
  size_t next = 0;
  /// The visit of each step of the warp.
  std::vector<SassWalk::Visit> visitOf;
  /// Codes of the PTX by line.
  std::multimap<uint32_t, const Code *> byLine;
};

Translation::Translation(const Recording &recording, const SassKernel &kernel)
    : recording(recording), kernel(kernel),
      walker(kernel.function, kernel.blocks, recording) {
  for (const Code &code : recording.codes)
    byLine.emplace(code.line, &code);
}

void Translation::fail(const std::string &why) const {
  throw Error(Error::Kind::Launch,
              "expected SASS of " + kernel.function.name +
                  " that matches the PTX that ran, got a difference in warp " +
                  std::to_string(from->warp) + ": " + why +
                  "; pass --time in place of --sass (PTXSIM_TIME=on) to "
                  "model the PTX");
}

/// Gives an instruction of SASS the class and the amount of its PTX.
void adopt(Code &code, const Code &of) {
  code.of = of.of;
  code.amount = of.amount;
  code.isAInSmem = of.isAInSmem;
}

void Translation::settleWait(const sass::Instruction &inst, Code &code) {
  auto [first, end] = byLine.equal_range(inst.line);
  bool waits = std::any_of(first, end, [](const auto &of) {
    return keyOf(*of.second->of) == "CopyWait";
  });
  if (!waits)
    waitForScoreboard(inst, code);
}

void Translation::complete(const sass::Instruction &inst, Code &code) {
  Action action = code.of->action;
  if (action == Action::CopyWait)
    settleWait(inst, code);
  auto [first, end] = byLine.equal_range(inst.line);
  // tcgen05.alloc of two CTAs has arrivals and waits of its own.
  if (std::any_of(
          first, end,
          [](const auto &of) { return of.second->of->name == "Resource"; }) &&
      !keyOf(*code.of).empty())
    code.of = &sassClassOf("NOP");
  for (auto it = first; action == Action::Fence && it != end; ++it)
    if (Action of = it->second->of->action;
        of == Action::Fence || of == Action::TmemWaitStore)
      adopt(code, *it->second);
}

std::vector<WarpRecord> Translation::warps() {
  std::vector<WarpRecord> warps;
  for (const WarpRecord &of : recording.warps) {
    WarpRecord &warp = warps.emplace_back();
    warp.cluster = of.cluster;
    warp.rank = of.rank;
    warp.warp = of.warp;
  }
  return warps;
}

std::vector<uint32_t> Translation::pathOf(const WarpRecord &) {
  from = &recording.warps[next++];
  visitOf.clear();
  std::vector<uint32_t> path;
  for (const SassWalk::Visit &visit : walker.walk(*from)) {
    const Block &block = kernel.blocks[visit.block];
    visitOf.insert(visitOf.end(), block.end - block.first, visit);
    path.push_back(visit.block);
  }
  if (path.empty())
    fail("no path of its branches reaches an exit");
  return path;
}

/// Returns whether a step of SASS with a guard can be the step of PTX: its line
/// is near, and the run is one of those of the block.
bool Translation::suits(uint32_t ptx, uint32_t sass,
                        const sass::Instruction &inst) const {
  const SassWalk::Visit &visit = visitOf[sass];
  uint32_t run = walker.runs()[ptx];
  uint32_t line = recording.codes[from->steps[ptx].code].line;
  constexpr uint32_t near = 8;
  return visit.firstRun <= run && run <= visit.lastRun &&
         line <= inst.line + near && inst.line <= line + near;
}

/// Drops steps that only PTX or only SASS has because a guard is false in all
/// lanes: ptxas turns branches into guards and guards into branches.
void Translation::pair(const WarpRecord &to, std::string_view key,
                       Match &match) {
  size_t inPtx = match.ptx.size(), inSass = match.sass.size();
  if (inPtx == inSass)
    return;
  std::erase_if(match.ptx,
                [&](uint32_t step) { return from->steps[step].isIdle; });
  size_t next = 0;
  if (match.ptx.size() != inSass)
    std::erase_if(match.sass, [&](uint32_t step) {
      const auto &inst = kernel.function.instructions[to.steps[step].code];
      bool isIdle =
          !inst.guard.empty() &&
          (next == match.ptx.size() || !suits(match.ptx[next], step, inst));
      next += !isIdle && next < match.ptx.size();
      return isIdle;
    });
  if (match.ptx.size() == match.sass.size())
    return;
  fail("PTX has " + std::to_string(inPtx) + " of '" + std::string(key) +
       "' and SASS has " + std::to_string(inSass));
}

void Translation::match(WarpRecord &to, Recording &result) {
  std::map<std::string_view, Match> matches;
  for (uint32_t i = 0; i < from->steps.size(); ++i)
    if (auto key = keyOf(*recording.codes[from->steps[i].code].of);
        !key.empty() && !from->steps[i].isHelper)
      matches[key].ptx.push_back(i);
  for (uint32_t i = 0; i < to.steps.size(); ++i)
    if (auto key = keyOf(*result.codes[to.steps[i].code].of); !key.empty())
      matches[key].sass.push_back(i);
  std::vector<uint32_t> places(from->steps.size(), UINT32_MAX);
  for (auto &[key, match] : matches) {
    pair(to, key, match);
    for (size_t i = 0; i < match.ptx.size(); ++i) {
      places[match.ptx[i]] = match.sass[i];
      adopt(result.codes[to.steps[match.sass[i]].code],
            recording.codes[from->steps[match.ptx[i]].code]);
    }
  }
  moveFacts(to, places);
}

void Translation::moveFacts(WarpRecord &to,
                            const std::vector<uint32_t> &places) {
  std::multimap<uint32_t, Fact> facts;
  for (Fact fact : from->facts) {
    const Code &code = recording.codes[from->steps[fact.step].code];
    fact.step = places[fact.step];
    if (fact.step == UINT32_MAX)
      fail("PTX has no instruction for '" + code.opcode + "' of line " +
           std::to_string(code.line));
    facts.emplace(fact.step, fact);
  }
  for (const auto &[step, fact] : facts)
    to.facts.push_back(fact);
}

/// Sets the memory that loads and stores reach to that of their line in PTX.
/// The n-th visit of the line in SASS is assumed to be the n-th visit in PTX.
void Translation::setReached(WarpRecord &to, const Recording &result) {
  std::unordered_map<uint32_t, std::vector<const Step *>> seen;
  for (const Step &step : from->steps) {
    const Code &code = recording.codes[step.code];
    if (accesses(code.of->action) && !step.isIdle && !step.isHelper)
      seen[code.line].push_back(&step);
  }
  std::unordered_map<uint64_t, size_t> times;
  for (Step &step : to.steps) {
    const Code &code = result.codes[step.code];
    if (!accesses(code.of->action))
      continue;
    const auto &of = seen[code.line];
    size_t time = times[step.code]++;
    step.reached = Reached::Shared;
    step.amount = 1;
    if (of.empty())
      continue;
    const Step &ptx = *of[std::min(time, of.size() - 1)];
    step.reached = ptx.reached;
    step.amount = ptx.amount;
  }
}

void Translation::complete(WarpRecord &warp, Recording &result) {
  match(warp, result);
  setReached(warp, result);
}

} // namespace

Recording inSass(const Recording &recording, sass::Function function) {
  SassKernel kernel(std::move(function));
  Translation source(recording, kernel);
  Recording result;
  result.signals = recording.signals;
  result.clusters = recording.clusters;
  result.copiedBytes = recording.copiedBytes;
  result.loadedBytes = recording.loadedBytes;
  result.readBytes = recording.readBytes;
  return recordingOf(kernel, source, std::move(result));
}

} // namespace ptxsim::timing

//===- SassRecording.cpp - A recording in SASS ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/SassRecording.h"

#include "Places.h"
#include "SassWalk.h"

#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>
#include <charconv>
#include <set>
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

/// Returns the operations of HMMA.16816, in units of 4096.
double productOf(std::string_view opcode) {
  size_t dot = opcode.find('.');
  std::string_view digits = opcode.substr(std::min(dot + 1, opcode.size()));
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  uint32_t k = 16;
  if (digits.size() > 3)
    std::from_chars(digits.data() + 3, digits.data() + digits.size(), k);
  double bits =
      opcode.starts_with("IMMA") || opcode.starts_with("QMMA") ? 8 : 16;
  return 2.0 * 16 * 8 * k / 4096 * bits / 16;
}

/// Returns the registers of LDTM.x32.
double columnsOfTmem(std::string_view opcode) {
  size_t x = opcode.rfind(".x");
  uint32_t count = 1;
  if (x != opcode.npos)
    std::from_chars(opcode.data() + x + 2, opcode.data() + opcode.size(),
                    count);
  return count;
}

/// Returns the registers that an instruction keeps in the reuse cache.
std::vector<uint16_t> reusedBy(const sass::Instruction &inst) {
  std::vector<uint16_t> reused;
  for (size_t at = inst.operands.find(".reuse"); at != std::string::npos;
       at = inst.operands.find(".reuse", at + 1)) {
    size_t first = inst.operands.rfind('R', at - 1);
    uint16_t number = 0;
    std::from_chars(inst.operands.data() + first + 1, inst.operands.data() + at,
                    number);
    reused.push_back(number);
  }
  return reused;
}

/// Returns how many registers an instruction reads from each of two banks,
/// without those that the instruction before it has kept. The measured interval
/// of instructions on pairs of registers includes their reads.
std::array<uint8_t, 2> bankReads(const sass::Instruction &inst,
                                 const sass::Instruction *before) {
  std::vector<uint16_t> kept;
  if (before)
    kept = reusedBy(*before);
  std::array<std::set<uint16_t>, 2> banks;
  for (const sass::Registers &of : inst.reads)
    if (of.file == sass::File::General && of.count == 1 &&
        std::ranges::find(kept, of.first) == kept.end())
      banks[of.first % 2].insert(of.first);
  return {uint8_t(banks[0].size()), uint8_t(banks[1].size())};
}

class Translation {
public:
  Translation(const Recording &recording, sass::Function function);
  Recording run();

private:
  struct Match {
    std::vector<uint32_t> ptx, sass;
  };

  void addCodes();
  void settleWait(const sass::Instruction &inst, Code &code);
  void adopt(uint32_t index, const Code &of);
  void addSteps(const WarpRecord &from, WarpRecord &to);
  void match(const WarpRecord &from, WarpRecord &to);
  bool suits(const WarpRecord &from, uint32_t ptx, uint32_t sass,
             const sass::Instruction &inst) const;
  void pair(const WarpRecord &from, const WarpRecord &to, std::string_view key,
            Match &match);
  void moveFacts(const WarpRecord &from, WarpRecord &to,
                 const std::vector<uint32_t> &places);
  void setReached(const WarpRecord &from, WarpRecord &to);
  [[noreturn]] void fail(const WarpRecord &warp, const std::string &why) const;

  const Recording &recording;
  sass::Function function;
  std::vector<Block> blocks;
  SassWalk walker;
  Recording result;
  /// The visit of each step of the warp.
  std::vector<SassWalk::Visit> visitOf;
  /// Codes of the PTX by line.
  std::multimap<uint32_t, const Code *> byLine;
};

Translation::Translation(const Recording &recording, sass::Function given)
    : recording(recording), function(std::move(given)),
      blocks(blocksOf(function)), walker(function, blocks, recording) {
  result.signals = recording.signals;
  result.clusters = recording.clusters;
  result.copiedBytes = recording.copiedBytes;
  result.loadedBytes = recording.loadedBytes;
  result.readBytes = recording.readBytes;
  for (const Code &code : recording.codes)
    byLine.emplace(code.line, &code);
  addCodes();
}

void Translation::fail(const WarpRecord &warp, const std::string &why) const {
  throw Error(Error::Kind::Launch,
              "expected SASS of " + function.name +
                  " that matches the PTX that ran, got a difference in warp " +
                  std::to_string(warp.warp) + ": " + why +
                  "; pass --time in place of --sass (PTXSIM_TIME=on) to "
                  "model the PTX");
}

/// Gives an instruction of SASS the class and the amount of its PTX.
void Translation::adopt(uint32_t index, const Code &of) {
  Code &code = result.codes[index];
  code.of = of.of;
  code.amount = of.amount;
  code.isAInSmem = of.isAInSmem;
}

/// Makes a DEPBAR that waits for no copies wait for its scoreboard.
void Translation::settleWait(const sass::Instruction &inst, Code &code) {
  auto [first, end] = byLine.equal_range(inst.line);
  bool waits = std::any_of(first, end, [](const auto &of) {
    return keyOf(*of.second->of) == "CopyWait";
  });
  size_t at = inst.operands.find("SB");
  if (waits || at == std::string::npos || at + 2 >= inst.operands.size())
    return;
  code.of = &sassClassOf("NOP");
  code.control->waits |= 1u << (inst.operands[at + 2] - '0') & 63;
}

void Translation::addCodes() {
  const sass::Instruction *before = nullptr;
  for (const sass::Instruction &inst : function.instructions) {
    Code code;
    code.of = &sassClassOf(inst.opcode);
    code.opcode = inst.opcode;
    code.line = inst.line;
    code.control = inst.control;
    Action action = code.of->action;
    if (action == Action::Plain)
      code.bankReads = bankReads(inst, before);
    before = &inst;
    if (action == Action::CopyWait)
      settleWait(inst, code);
    auto [first, end] = byLine.equal_range(inst.line);
    // tcgen05.alloc of two CTAs has arrivals and waits of its own.
    if (std::any_of(
            first, end,
            [](const auto &of) { return of.second->of->name == "Resource"; }) &&
        !keyOf(*code.of).empty())
      code.of = &sassClassOf("NOP");
    if (action == Action::MmaSync)
      code.amount = productOf(inst.opcode);
    if (action == Action::TmemLoad || action == Action::TmemStore)
      code.amount = columnsOfTmem(inst.opcode);
    result.codes.push_back(std::move(code));
    for (auto it = first; action == Action::Fence && it != end; ++it)
      if (Action of = it->second->of->action;
          of == Action::Fence || of == Action::TmemWaitStore)
        adopt(uint32_t(result.codes.size() - 1), *it->second);
  }
}

void Translation::addSteps(const WarpRecord &from, WarpRecord &to) {
  std::vector<SassWalk::Visit> path = walker.walk(from);
  if (path.empty())
    fail(from, "no path of its branches reaches an exit");
  visitOf.clear();
  for (size_t visit = 0; visit < path.size(); ++visit) {
    const Block &block = blocks[path[visit].block];
    for (uint32_t i = block.first; i < block.end; ++i) {
      to.steps.push_back({i, 0, 0, Reached::Nothing, false, false});
      visitOf.push_back(path[visit]);
    }
    bool jumps = visit + 1 < path.size() &&
                 blocks[path[visit + 1].block].first != block.end;
    to.steps.back().amount = jumps;
  }
}

/// Returns whether a step of SASS with a guard can be the step of PTX: its line
/// is near, and the run is one of those of the block.
bool Translation::suits(const WarpRecord &from, uint32_t ptx, uint32_t sass,
                        const sass::Instruction &inst) const {
  const SassWalk::Visit &visit = visitOf[sass];
  uint32_t run = walker.runs()[ptx];
  uint32_t line = recording.codes[from.steps[ptx].code].line;
  constexpr uint32_t near = 8;
  return visit.firstRun <= run && run <= visit.lastRun &&
         line <= inst.line + near && inst.line <= line + near;
}

/// Drops steps that only PTX or only SASS has because a guard is false in all
/// lanes: ptxas turns branches into guards and guards into branches.
void Translation::pair(const WarpRecord &from, const WarpRecord &to,
                       std::string_view key, Match &match) {
  size_t inPtx = match.ptx.size(), inSass = match.sass.size();
  if (inPtx == inSass)
    return;
  std::erase_if(match.ptx,
                [&](uint32_t step) { return from.steps[step].isIdle; });
  size_t next = 0;
  if (match.ptx.size() != inSass)
    std::erase_if(match.sass, [&](uint32_t step) {
      const auto &inst = function.instructions[to.steps[step].code];
      bool isIdle =
          !inst.guard.empty() && (next == match.ptx.size() ||
                                  !suits(from, match.ptx[next], step, inst));
      next += !isIdle && next < match.ptx.size();
      return isIdle;
    });
  if (match.ptx.size() == match.sass.size())
    return;
  fail(from, "PTX has " + std::to_string(inPtx) + " of '" + std::string(key) +
                 "' and SASS has " + std::to_string(inSass));
}

void Translation::match(const WarpRecord &from, WarpRecord &to) {
  std::map<std::string_view, Match> matches;
  for (uint32_t i = 0; i < from.steps.size(); ++i)
    if (auto key = keyOf(*recording.codes[from.steps[i].code].of);
        !key.empty() && !from.steps[i].isHelper)
      matches[key].ptx.push_back(i);
  for (uint32_t i = 0; i < to.steps.size(); ++i)
    if (auto key = keyOf(*result.codes[to.steps[i].code].of); !key.empty())
      matches[key].sass.push_back(i);
  std::vector<uint32_t> places(from.steps.size(), UINT32_MAX);
  for (auto &[key, match] : matches) {
    pair(from, to, key, match);
    for (size_t i = 0; i < match.ptx.size(); ++i) {
      places[match.ptx[i]] = match.sass[i];
      adopt(to.steps[match.sass[i]].code,
            recording.codes[from.steps[match.ptx[i]].code]);
    }
  }
  moveFacts(from, to, places);
}

void Translation::moveFacts(const WarpRecord &from, WarpRecord &to,
                            const std::vector<uint32_t> &places) {
  std::multimap<uint32_t, Fact> facts;
  for (Fact fact : from.facts) {
    const Code &code = recording.codes[from.steps[fact.step].code];
    fact.step = places[fact.step];
    if (fact.step == UINT32_MAX)
      fail(from, "PTX has no instruction for '" + code.opcode + "' of line " +
                     std::to_string(code.line));
    facts.emplace(fact.step, fact);
  }
  for (const auto &[step, fact] : facts)
    to.facts.push_back(fact);
}

/// Sets the memory that loads and stores reach to that of their line in PTX.
/// The n-th visit of the line in SASS is assumed to be the n-th visit in PTX.
void Translation::setReached(const WarpRecord &from, WarpRecord &to) {
  std::unordered_map<uint32_t, std::vector<const Step *>> seen;
  for (const Step &step : from.steps) {
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

Recording Translation::run() {
  for (const WarpRecord &from : recording.warps) {
    WarpRecord &to = result.warps.emplace_back();
    to.cluster = from.cluster;
    to.rank = from.rank;
    to.warp = from.warp;
    addSteps(from, to);
    match(from, to);
    setReached(from, to);
  }
  return std::move(result);
}

} // namespace

Recording inSass(const Recording &recording, sass::Function function) {
  return Translation(recording, std::move(function)).run();
}

} // namespace ptxsim::timing

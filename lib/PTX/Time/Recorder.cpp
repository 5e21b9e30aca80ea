//===- Recorder.cpp - Records what warps execute --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Recorder.h"

#include "Places.h"

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <algorithm>
#include <charconv>

namespace ptxsim::timing {
namespace {

bool isWarp(const WarpRecord &record, const Warp &warp) {
  return record.cluster == warp.cluster.number &&
         record.rank == warp.cta.rank && record.warp == warp.index;
}

/// Returns the first number in the text; 0 if there is none.
double firstNumber(std::string_view text) {
  size_t first = std::min(text.find_first_of("0123456789"), text.size());
  uint32_t number = 0;
  std::from_chars(text.data() + first, text.data() + text.size(), number);
  return number;
}

/// Returns the operands of an instruction, up to its end; empty if it is not in
/// the text.
std::string_view textFrom(const Warp &warp, const Instruction &inst) {
  std::string_view text = warp.machine.program.module->text;
  const char *begin = inst.opcode.data();
  if (begin < text.data() || begin >= text.data() + text.size())
    return {};
  size_t at = size_t(begin - text.data()) + inst.opcode.size();
  return text.substr(at, text.find(';', at) - at);
}

/// Returns the groups that a wait leaves open.
double openGroups(const Warp &warp, const Instruction &inst) {
  return firstNumber(textFrom(warp, inst));
}

double amountOf(const Warp &warp, const Instruction &inst, Action action) {
  switch (action) {
  case Action::CopyWait:
  case Action::CopyWaitRead:
  case Action::CpWait:
  case Action::WgmmaWait:
    return openGroups(warp, inst);
  case Action::TmemLoad:
    return double(inst.dst.size());
  case Action::TmemStore:
    return double(inst.src.size());
  case Action::MmaSync:
    return productSize(inst.opcode);
  case Action::Wgmma:
    return columnsOf(inst.opcode);
  case Action::TmemCopy:
    return copiedBytes(inst.opcode);
  default:
    return 0;
  }
}

/// Returns whether the first operand of a wgmma after its accumulators is a
/// descriptor: "wgmma… {%f1, …}, %rd1, …" in place of "{%f1, …}, {%r1, …}, …".
bool readsAFromSmem(const Warp &warp, const Instruction &inst, Action action) {
  if (action != Action::Wgmma)
    return false;
  std::string_view text = textFrom(warp, inst);
  size_t end = text.find('}');
  size_t next = text.find_first_not_of("}, \t\r\n", end);
  return end != text.npos && next != text.npos && text[next] != '{';
}

/// Returns true if the decoder inserted `inst` before an instruction of the
/// text, to compute one of its operands.
bool isHelper(const Warp &warp, const Instruction &inst) {
  const std::vector<Instruction> &code = warp.frame().code->instructions;
  size_t next = size_t(&inst - code.data()) + 1;
  return next < code.size() && code[next].opcode.data() == inst.opcode.data();
}

/// Returns the number of lines that the bytes touch beyond the fewest that can
/// hold them.
uint32_t extraLinesOf(uint64_t address, uint64_t bytes) {
  uint64_t fewest = (bytes + kLineBytes - 1) / kLineBytes;
  uint64_t touched =
      (address % kLineBytes + bytes + kLineBytes - 1) / kLineBytes;
  return uint32_t(touched - fewest);
}

} // namespace

bool Recorder::watches(const Cluster &cluster) {
  if (cluster.machine.options.policy != Policy::Eager)
    throw Error(Error::Kind::Launch,
                "expected policy eager to record for the modeled time, got "
                "another one");
  if (cluster.number < clusters.first)
    return false;
  uint64_t after = cluster.number - clusters.first;
  uint64_t index = after / clusters.stride;
  if (after % clusters.stride != 0 || index >= clusters.count)
    return false;
  result.clusters = std::max(result.clusters, index + 1);
  return true;
}

size_t Recorder::indexOf(const Warp &warp) {
  auto found = indices.find(&warp);
  if (found != indices.end() && isWarp(result.warps[found->second], warp))
    return found->second;
  WarpRecord record;
  record.cluster = warp.cluster.number;
  record.rank = warp.cta.rank;
  record.warp = warp.index;
  result.warps.push_back(std::move(record));
  missed.emplace_back();
  wgmmas.emplace_back();
  return indices[&warp] = result.warps.size() - 1;
}

/// Returns true for what ptxas emits nothing for (Classes.def).
bool Recorder::isFree(const Warp &warp, const Instruction &inst) {
  const Instruction *first = warp.frame().code->instructions.data();
  if (inst.opcode.starts_with("bra"))
    return !inst.guard.valid() && inst.target > size_t(&inst - first);
  bool isHigh = false, isShift = inst.opcode == "shl.b64";
  auto rowOf = [&](Operand operand) {
    return std::pair<const void *, uint32_t>(warp.frame().code,
                                             operand.index());
  };
  for (Operand operand : inst.src)
    isHigh |= operand.isConstant() ? isShift && warp.row(operand)[0] == 32
                                   : inst.opcode == "or.b64" &&
                                         highHalves.contains(rowOf(operand));
  for (Operand operand : inst.dst)
    if (operand.valid() && !operand.isConstant())
      highHalves.erase(rowOf(operand));
  if (isHigh && isShift)
    highHalves.insert(rowOf(inst.dst[0]));
  return isHigh;
}

uint32_t Recorder::codeOf(const Warp &warp, const Instruction &inst) {
  auto [place, isNew] = codes.try_emplace(&inst, result.codes.size());
  if (!isNew)
    return place->second;
  const ptxsim::Code &function = *warp.frame().code;
  size_t at = size_t(&inst - function.instructions.data());
  Code code;
  code.of = isFree(warp, inst) ? &freeClass() : &classOf(inst.opcode);
  code.opcode = inst.opcode;
  code.function = &function;
  code.line = inst.line;
  code.amount = amountOf(warp, inst, code.of->action);
  code.isAInSmem = readsAFromSmem(warp, inst, code.of->action);
  for (Operand operand : function.reads[at])
    code.reads.push_back(operand.index());
  for (Operand operand : inst.dst)
    if (operand.valid() && !operand.isConstant())
      code.writes.push_back(operand.index());
  // wgmma may also read D.
  if (code.of->action == Action::Wgmma)
    code.reads.insert(code.reads.end(), code.writes.begin(), code.writes.end());
  result.codes.push_back(std::move(code));
  return place->second;
}

void Recorder::begin(const Warp &warp, const Instruction &inst,
                     LaneMask active) {
  size_t index = indexOf(warp);
  WarpRecord &record = result.warps[index];
  if (Missed &last = missed[index];
      last.inst == &inst && last.facts == record.facts.size()) {
    record.steps.resize(last.step);
    last = {};
  }
  if (++count > mostSteps)
    throw Error(Error::Kind::Launch,
                "expected at most " + std::to_string(mostSteps) +
                    " warp instructions of the first CTAs to model their "
                    "time, got more: launch a smaller problem");
  Step step;
  step.code = codeOf(warp, inst);
  step.rowBase = warp.frame().rowBase;
  step.isHelper = isHelper(warp, inst);
  step.isIdle = !active;
  notePlace(warp, inst, active, step);
  record.steps.push_back(step);
  copying = nullptr;
  current = &inst;
}

/// Products of wgmma belong to the four warps of a group: a wait is for all of
/// them. Their phases are the groups that have products.
void Recorder::noteWgmma(const Warp &warp, const Code &code) {
  Action action = code.of->action;
  Wgmmas &own = wgmmas[indexOf(warp)];
  // An odd address, as no object of the simulator has it.
  const void *object =
      reinterpret_cast<const char *>(&warp.cta) + 1 + 2 * (warp.index / 4);
  if (action == Action::Wgmma) {
    own.isOpen = true;
    signals(warp, object, own.groups);
  } else if (action == Action::WgmmaCommit) {
    own.groups += own.isOpen;
    own.isOpen = false;
    own.committed.push_back(own.groups);
  } else if (action == Action::WgmmaWait) {
    size_t left = size_t(code.amount), count = own.committed.size();
    passes(warp, object, count > left ? own.committed[count - left - 1] : 0);
  }
}

void Recorder::end(const Warp &warp, const Instruction &inst, Outcome outcome) {
  if (outcome != Outcome::Retry)
    return noteWgmma(warp, result.codes[codeOf(warp, inst)]);
  WarpRecord &record = result.warps[indexOf(warp)];
  record.steps.pop_back();
  uint32_t size = uint32_t(record.steps.size());
  while (!record.facts.empty() && record.facts.back().step >= size)
    record.facts.pop_back();
}

void Recorder::notePlace(const Warp &warp, const Instruction &inst,
                         LaneMask active, Step &step) {
  Action action = result.codes[step.code].of->action;
  if (action == Action::Branch)
    step.amount = active != 0;
  bool accesses = action == Action::Load || action == Action::Store ||
                  action == Action::Atomic || action == Action::CpAsync;
  if (!accesses || !active)
    return;
  Place place = placeOf(warp, inst, active);
  step.amount = uint16_t(place.amount);
  step.reached = place.reached;
  if (place.reached != Reached::Global)
    return;
  bool isNew = false;
  for (uint64_t sector : place.sectors)
    isNew |= touch(sector, 1, result.loadedBytes, true);
  if (isNew)
    step.reached = Reached::FirstTouch;
}

/// Marks lines as read, and adds to `counter` the bytes of those that were not
/// yet. Returns true if a recorded cluster reads one of them for the first
/// time: other clusters run at the same time on a GPU, not before.
bool Recorder::touch(uint64_t address, uint64_t bytes, uint64_t &counter,
                     bool isRecorded) {
  bool isNew = false;
  if (isL2Warm)
    return false;
  for (uint64_t line = address / kLineBytes;
       line * kLineBytes < address + bytes; ++line) {
    if (lines.insert(line).second)
      counter += kLineBytes;
    if (isRecorded)
      isNew |= recordedLines.insert(line).second;
  }
  return isNew;
}

uint32_t Recorder::phaseOf(const Warp &warp, const void *object,
                           uint64_t phase) {
  Object &of = objects[{warp.cluster.number, object}];
  auto [place, isNew] =
      of.phases.try_emplace(phase, uint32_t(result.signals.size()));
  if (isNew)
    result.signals.push_back(0);
  return place->second;
}

void Recorder::add(const Warp &warp, Fact fact) {
  WarpRecord &record = result.warps[indexOf(warp)];
  fact.step = uint32_t(record.steps.size() - 1);
  record.facts.push_back(fact);
}

void Recorder::initializes(const Warp &warp, const void *object) {
  objects[{warp.cluster.number, object}].phases.clear();
}

void Recorder::signals(const Warp &warp, const void *object, uint64_t phase) {
  Fact fact;
  fact.value = phaseOf(warp, object, phase);
  // Lanes of a warp signal together.
  const WarpRecord &record = result.warps[indexOf(warp)];
  if (!record.facts.empty()) {
    const Fact &last = record.facts.back();
    if (last.step + 1 == record.steps.size() &&
        last.kind == Fact::Kind::Signal && last.value == fact.value)
      return;
  }
  ++result.signals[fact.value];
  add(warp, fact);
}

void Recorder::passes(const Warp &warp, const void *object, uint64_t phases) {
  Fact fact;
  fact.kind = Fact::Kind::Wait;
  fact.value = phases ? phaseOf(warp, object, phases - 1) : kNoPhase;
  add(warp, fact);
}

void Recorder::misses(const Warp &warp) {
  size_t index = indexOf(warp);
  const WarpRecord &record = result.warps[index];
  missed[index] = {current, record.steps.size() - 1, record.facts.size()};
}

void Recorder::multiplies(const Warp &warp, const ProductShape &shape) {
  Fact fact;
  fact.kind = Fact::Kind::Product;
  fact.shape = shape;
  add(warp, fact);
}

void Recorder::copies(const Warp &warp, CopyDirection direction,
                      uint32_t bytes) {
  copying = nullptr;
  if (!warp.observer)
    return;
  Fact fact;
  fact.kind = Fact::Kind::Copy;
  fact.direction = direction;
  fact.value = bytes;
  add(warp, fact);
  copying = &result.warps[indexOf(warp)].facts.back();
  copiedRows = rowBytes = 0;
}

void Recorder::reads(uint64_t address, uint64_t bytes) {
  result.readBytes += bytes;
  bool isPartial = address % kLineBytes != 0 || bytes % kLineBytes != 0;
  if (copying) {
    ++copiedRows;
    rowBytes += uint32_t(bytes);
    copying->extraLines += extraLinesOf(address, bytes);
    if (isPartial || copying->partialRows) {
      copying->partialRows = copiedRows;
      copying->value = rowBytes;
    }
  }
  if (touch(address, bytes, result.copiedBytes, copying != nullptr))
    copying->isFirstTouch = true;
}

} // namespace ptxsim::timing

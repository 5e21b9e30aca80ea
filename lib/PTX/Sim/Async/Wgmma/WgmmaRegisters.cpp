//===- WgmmaRegisters.cpp - Registers that wgmma uses ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaRegisters.h"

#include "fmha/PTX/Sim/Core/Program/Program.h"

#include <algorithm>

namespace ptxsim {
namespace {

bool isRegister(Operand operand) {
  return operand.valid() && !operand.isConstant();
}

const WgmmaForm &formOf(const Instruction &inst) {
  return inst.data<WgmmaOperands>().form;
}

bool isPractice(const Warp &warp) {
  return warp.machine.options.conformance == Conformance::Practice;
}

/// Returns true if two wgmma add to one accumulator, in order: they have the
/// same shape and exactly the same registers.
bool isChain(const Instruction &first, const Instruction &second) {
  auto same = [](Operand a, Operand b) { return a.code == b.code; };
  return formOf(first).chainsWith(formOf(second)) &&
         std::equal(first.dst.begin(), first.dst.end(), second.dst.begin(),
                    second.dst.end(), same);
}

std::string lineOf(const Instruction &inst) {
  return "line " + std::to_string(inst.line);
}

} // namespace

WgmmaTouches::WgmmaTouches(const Code &code) {
  std::vector<bool> used(code.rows);
  for (const Instruction &inst : code.instructions)
    if (isWgmma(inst))
      for (std::span<const Operand> operands : {inst.dst, inst.src})
        for (Operand operand : operands)
          if (isRegister(operand))
            used[operand.index()] = true;
  for (const Instruction &inst : code.instructions) {
    first.push_back(uint32_t(touches.size()));
    if (isWgmma(inst))
      continue;
    add(inst.address.base, false, used);
    for (Operand operand : inst.src)
      add(operand, false, used);
    for (Operand operand : inst.dst)
      add(operand, true, used);
  }
  first.push_back(uint32_t(touches.size()));
}

void WgmmaTouches::add(Operand operand, bool writes,
                       const std::vector<bool> &used) {
  if (isRegister(operand) && operand.index() < used.size() &&
      used[operand.index()])
    touches.push_back({operand.index(), writes});
}

const WgmmaTouches &WgmmaFunctions::of(const Code &code) {
  auto found = functions.find(&code);
  if (found == functions.end())
    found = functions.emplace(&code, WgmmaTouches(code)).first;
  return found->second;
}

WgmmaRegisters::Mark &WgmmaRegisters::markOf(uint32_t row) {
  if (row >= marks.size())
    marks.resize(row + 1);
  return marks[row];
}

void WgmmaRegisters::watch(Warp &warp, const Instruction &inst) {
  const Frame &frame = warp.frame();
  if (code != frame.code) {
    code = frame.code;
    touches = &warp.cluster.states.get<WgmmaFunctions>().of(*code);
  }
  size_t number = size_t(&inst - code->instructions.data());
  const Mark *flying = nullptr;
  for (WgmmaTouches::Touch touch : touches->of(number)) {
    Mark &mark = markOf(frame.rowBase + touch.row);
    mark.touched = &inst;
    mark.touchedAt = fences;
    // The manual also forbids reading A, which is harmless.
    bool harms =
        mark.writes || (mark.reads && (touch.writes || !isPractice(warp)));
    if (harms && !flying)
      flying = &mark;
  }
  if (!flying)
    return;
  warp.machine.report.add(
      FindingId::WgmmaRegister, warp.site(inst),
      std::string("a register of ") +
          (flying->writes ? "the accumulator" : "A") + " of the wgmma in " +
          lineOf(*flying->used) +
          ", expected wgmma.wait_group for its group in between",
      otherAt("used by", warp.site(*flying->used)));
}

/// Checks the uses since the last fence: an accumulator only by wgmma of one
/// chain, and a register of A only by wgmma that read it.
bool WgmmaRegisters::checkFence(const Site &site, const Mark &mark,
                                bool sameUse, bool asA) const {
  const Instruction *by = nullptr;
  if (mark.touched && mark.touchedAt == fences)
    by = mark.touched;
  else if (mark.used && mark.usedAt == fences && !sameUse)
    by = mark.used;
  if (!by)
    return true;
  site.warp->machine.report.add(FindingId::WgmmaMissingFence, site,
                                std::string("a register of ") +
                                    (asA ? "A" : "the accumulator") +
                                    " was touched in " + lineOf(*by) +
                                    ", expected wgmma.fence in between",
                                otherAt("touched by", site.warp->site(*by)));
  return false;
}

bool WgmmaRegisters::checkFlight(const Site &site, const Mark &mark,
                                 bool sameUse, bool asA) const {
  bool harms = (mark.writes && !sameUse) || (mark.reads && !asA);
  if (!harms)
    return true;
  site.warp->machine.report.add(
      FindingId::WgmmaRegister, site,
      std::string("a register of ") + (asA ? "A" : "the accumulator") +
          " belongs to the wgmma in " + lineOf(*mark.used) +
          ", which uses it otherwise; expected wgmma.wait_group in between",
      otherAt("used by", site.warp->site(*mark.used)));
  return false;
}

/// Returns true if the last wgmma that used the register used it in the same
/// way.
bool WgmmaRegisters::isSameUse(const Mark &mark, const Instruction &inst,
                               bool asA) {
  if (asA || mark.usedAsA)
    return asA && mark.usedAsA;
  // Adjacent registers usually have the same history.
  if (mark.used != compared.first || &inst != compared.second) {
    compared = {mark.used, &inst};
    comparedIsChain = mark.used && isChain(*mark.used, inst);
  }
  return comparedIsChain;
}

void WgmmaRegisters::begin(Warp &warp, const Instruction &inst) {
  Site site = warp.site(inst);
  if (!fences)
    warp.machine.report.add(FindingId::WgmmaMissingFence, site,
                            "the warp has executed no wgmma.fence before");
  bool clean = fences != 0;
  uint32_t base = warp.frame().rowBase;
  auto use = [&](std::span<const Operand> operands, bool asA) {
    for (Operand operand : operands) {
      if (!isRegister(operand))
        continue;
      Mark &mark = markOf(base + operand.index());
      // One finding per instruction is enough.
      bool sameUse = clean && isSameUse(mark, inst, asA);
      clean = clean && checkFlight(site, mark, sameUse, asA) &&
              checkFence(site, mark, sameUse, asA);
      mark.used = &inst;
      mark.usedAt = fences;
      mark.usedAsA = asA;
      ++(asA ? mark.reads : mark.writes);
    }
  };
  use(inst.src, true);
  use(inst.dst, false);
}

void WgmmaRegisters::end(const Instruction &inst, uint32_t rowBase) {
  for (Operand operand : inst.src)
    if (isRegister(operand))
      --markOf(rowBase + operand.index()).reads;
  for (Operand operand : inst.dst)
    --markOf(rowBase + operand.index()).writes;
}

} // namespace ptxsim

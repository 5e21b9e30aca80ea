//===- SassSource.cpp - Builds recordings in SASS -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SassSource.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace ptxsim::timing {
namespace {

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

/// Returns the code of an instruction, as far as SASS says it.
Code codeOf(const sass::Instruction &inst, const sass::Instruction *before) {
  Code code;
  code.of = &sassClassOf(inst.opcode);
  code.opcode = inst.opcode;
  code.line = inst.line;
  code.control = inst.control;
  Action action = code.of->action;
  if (action == Action::Plain || action == Action::Shuffle)
    code.bankReads = bankReads(inst, before);
  if (action == Action::MmaSync)
    code.amount = productOf(inst.opcode);
  if (action == Action::TmemLoad || action == Action::TmemStore)
    code.amount = columnsOfTmem(inst.opcode);
  return code;
}

/// Adds a step for each instruction of the path.
void addSteps(const std::vector<Block> &blocks,
              const std::vector<uint32_t> &path, WarpRecord &to) {
  for (size_t visit = 0; visit < path.size(); ++visit) {
    const Block &block = blocks[path[visit]];
    for (uint32_t i = block.first; i < block.end; ++i)
      to.steps.push_back({i, 0, 0, Reached::Nothing, false, false});
    bool jumps =
        visit + 1 < path.size() && blocks[path[visit + 1]].first != block.end;
    to.steps.back().amount = jumps;
  }
}

} // namespace

void waitForScoreboard(const sass::Instruction &inst, Code &code) {
  size_t at = inst.operands.find("SB");
  if (at == std::string::npos || at + 2 >= inst.operands.size())
    return;
  code.of = &sassClassOf("NOP");
  code.control->waits |= 1u << (inst.operands[at + 2] - '0') & 63;
}

Recording recordingOf(const SassKernel &kernel, SassSource &source,
                      Recording result) {
  const sass::Instruction *before = nullptr;
  for (const sass::Instruction &inst : kernel.function.instructions) {
    result.codes.push_back(codeOf(inst, before));
    source.complete(inst, result.codes.back());
    before = &inst;
  }
  for (WarpRecord &warp : source.warps()) {
    addSteps(kernel.blocks, source.pathOf(warp), warp);
    source.complete(warp, result);
    result.warps.push_back(std::move(warp));
  }
  return result;
}

} // namespace ptxsim::timing

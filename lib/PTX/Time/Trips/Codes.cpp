//===- Codes.cpp - What opcodes of SASS say -------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codes.h"

#include "SassSource.h"

#include <algorithm>
#include <charconv>
#include <ranges>

namespace ptxsim::timing {
namespace {

bool hasPart(std::string_view opcode, std::string_view part) {
  return std::ranges::any_of(std::views::split(opcode, '.'), [&](auto of) {
    return std::string_view(of.begin(), of.end()) == part;
  });
}

/// SASS of fences, and the PTX whose class has its cost.
struct FenceRow {
  std::string_view prefix, part, ptx;
};
constexpr FenceRow fences[] = {
    {"FENCE.VIEW.ASYNC", "T", "tcgen05.wait::st"},
    {"FENCE.VIEW.TENSORMAP", "", "fence.proxy.tensormap"},
    {"FENCE.VIEW", "", "fence.proxy.async"},
    {"MEMBAR", "GPU", "membar.gl"},
    {"MEMBAR", "SYS", "membar.sys"},
};

/// Returns the columns of HGMMA.64x176x16.
double columnsOfWgmma(std::string_view opcode) {
  size_t at = opcode.find("64x");
  uint32_t n = 0;
  if (at != opcode.npos)
    std::from_chars(opcode.data() + at + 3, opcode.data() + opcode.size(), n);
  return n;
}

/// Returns the scoreboard that DEPBAR.LE SB0, 0x1 names.
unsigned scoreboardOf(const sass::Instruction &inst) {
  size_t at = inst.operands.find("SB");
  return at == std::string::npos || at + 2 >= inst.operands.size()
             ? sass::kNoBarrier
             : unsigned(inst.operands[at + 2] - '0');
}

/// Returns the bytes that each lane accesses.
uint32_t bytesOf(const sass::Instruction &inst) {
  constexpr std::pair<std::string_view, uint32_t> widths[] = {
      {"128", 16}, {"64", 8},  {"U8", 1},  {"S8", 1},
      {"8", 1},    {"U16", 2}, {"S16", 2}, {"16", 2}};
  if (inst.root() == "LDSM" || inst.root() == "STSM")
    return hasPart(inst.opcode, "4") ? 16 : hasPart(inst.opcode, "2") ? 8 : 4;
  for (const auto &[part, bytes] : widths)
    if (hasPart(inst.opcode, part))
      return bytes;
  return 4;
}

} // namespace

std::string_view operandOf(const sass::Instruction &inst, size_t n) {
  std::string_view rest = inst.operands;
  for (size_t i = 0;; ++i) {
    size_t comma = std::min(rest.find(','), rest.size());
    if (i == n) {
      std::string_view operand = rest.substr(0, comma);
      size_t first = std::min(operand.find_first_not_of(' '), operand.size());
      return operand.substr(first);
    }
    if (comma == rest.size())
      return {};
    rest.remove_prefix(comma + 1);
  }
}

std::optional<uint32_t> immediateOf(std::string_view operand) {
  bool isHex = operand.starts_with("0x");
  operand.remove_prefix(isHex ? 2 : 0);
  uint32_t value = 0;
  const char *end = operand.data() + operand.size();
  auto [last, error] =
      std::from_chars(operand.data(), end, value, isHex ? 16 : 10);
  bool isWhole = error == std::errc() && last == end && !operand.empty();
  return isWhole ? std::optional(value) : std::nullopt;
}

bool retries(const sass::Instruction &inst) {
  return !inst.guard.empty() &&
         inst.guard == "@!" + std::string(operandOf(inst, 0));
}

void settleClass(const sass::Instruction &inst, unsigned flushes,
                 unsigned commits, Code &code) {
  switch (code.of->action) {
  case Action::Fence:
    for (const FenceRow &row : fences)
      if (inst.opcode.starts_with(row.prefix) &&
          (row.part.empty() || hasPart(inst.opcode, row.part))) {
        code.of = &classOf(row.ptx);
        break;
      }
    break;
  case Action::Wgmma:
    code.amount = columnsOfWgmma(inst.opcode);
    code.isAInSmem = operandOf(inst, 1).starts_with("gdesc");
    break;
  case Action::WgmmaWait:
    code.amount = immediateOf(operandOf(inst, 1)).value_or(0);
    break;
  case Action::CopyWait: {
    unsigned bit = 1u << scoreboardOf(inst);
    if (commits & bit)
      code.of = &classOf("cp.async.wait_group");
    else if (!(flushes & bit))
      return waitForScoreboard(inst, code);
    code.amount = immediateOf(operandOf(inst, 1)).value_or(0);
    break;
  }
  default:
    break;
  }
}

Access accessOf(const sass::Instruction &inst) {
  constexpr std::string_view global[] = {
      "LD", "LDG", "ST", "STG", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS"};
  uint32_t bytes = bytesOf(inst);
  // Sectors have 32 bytes, rows of banks 128; a warp has 32 lanes.
  if (std::ranges::find(global, inst.root()) != std::end(global))
    return {Reached::Global, bytes};
  return {Reached::Shared, std::max(bytes / 4, 1u)};
}

CopyDirection directionOf(const sass::Instruction &inst) {
  if (inst.opcode.starts_with("UBLKCP.S.S") || inst.root() == "STAS")
    return CopyDirection::BetweenCtas;
  bool loads = inst.root() == "UTMALDG" || inst.opcode.starts_with("UBLKCP.S");
  return loads ? CopyDirection::FromGlobal : CopyDirection::ToGlobal;
}

} // namespace ptxsim::timing

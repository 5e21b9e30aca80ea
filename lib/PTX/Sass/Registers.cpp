//===- Registers.cpp - What SASS instructions read and write --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sass/Program.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>

namespace ptxsim::sass {
namespace {

/// Instructions without a result in registers.
constexpr std::string_view kNoResult[] = {
    "ACQBULK",      "ARRIVES",     "BAR",          "BRA",      "BREAK",
    "BSSY",         "BSYNC",       "CALL",         "CCTL",     "DEPBAR",
    "ERRBAR",       "EXIT",        "FENCE",        "JMP",      "LDGDEPBAR",
    "LDGSTS",       "MEMBAR",      "NANOSLEEP",    "NOP",      "RED",
    "REDG",         "RET",         "ST",           "STAS",     "STG",
    "STL",          "STS",         "STSM",         "STTM",     "UBLKCP",
    "UBLKRED",      "UCGABAR_ARV", "UCGABAR_WAIT", "UTCBAR",   "UTCCP",
    "UTCHMMA",      "UTCIMMA",     "UTCOMMA",      "UTCQMMA",  "UTMACCTL",
    "UTMACMDFLUSH", "UTMALDG",     "UTMAPF",       "UTMAREDG", "UTMASTG",
    "WARPGROUP",    "WARPSYNC",    "YIELD"};

/// Instructions with a second result after a predicate.
constexpr std::string_view kTwoResults[] = {
    "DSETP", "ELECT", "FSETP",  "HSETP2", "ISETP",
    "PLOP3", "SHFL",  "UISETP", "UPLOP3", "UFSETP"};

bool isOneOf(std::string_view word, std::span<const std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

bool hasPart(std::string_view opcode, std::string_view part) {
  for (size_t at = opcode.find('.'); at != opcode.npos;) {
    size_t next = opcode.find('.', at + 1);
    if (opcode.substr(at + 1, next - at - 1) == part)
      return true;
    at = next;
  }
  return false;
}

uint16_t numberAt(std::string_view text, size_t at) {
  uint16_t number = 0;
  if (at < text.size())
    std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

/// Splits operands at commas outside of brackets.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t first = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !depth)) {
      std::string_view part = text.substr(first, i - first);
      part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
      if (!part.empty())
        parts.push_back(part);
      first = i + 1;
    } else {
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    }
  }
  return parts;
}

/// Returns the register that the text begins with; nullopt if it is none, or
/// one that is always zero or true.
std::optional<Registers> registerAt(std::string_view text) {
  constexpr std::pair<std::string_view, File> files[] = {
      {"UR", File::Uniform},
      {"UP", File::UniformPredicate},
      {"R", File::General},
      {"P", File::Predicate}};
  for (const auto &[prefix, file] : files)
    if (text.starts_with(prefix) && text.size() > prefix.size() &&
        std::isdigit(static_cast<unsigned char>(text[prefix.size()])))
      return Registers{file, numberAt(text, prefix.size()), 1};
  return std::nullopt;
}

/// Returns the registers of a product whose shape begins with "64xN".
uint16_t accumulators(std::string_view opcode) {
  size_t x = opcode.find("64x");
  uint16_t n = x == opcode.npos ? 2 : numberAt(opcode, x + 3);
  return std::max<uint16_t>(n / (hasPart(opcode, "F16") ? 4 : 2), 1);
}

/// Returns how many registers the operand has at `index`, of all `count`.
uint16_t widthOf(const Instruction &inst, size_t index, size_t count) {
  std::string_view root = inst.root(), opcode = inst.opcode;
  bool isResult = index == 0, isLast = index + 1 == count;
  if (root.ends_with("GMMA"))
    return isResult || isLast || index == 3 ? accumulators(opcode)
           : index == 1                     ? 4
                                            : 1;
  if (root == "LDTM" || root == "STTM") {
    size_t x = opcode.rfind(".x");
    return isResult == (root == "LDTM") && x != opcode.npos
               ? numberAt(opcode, x + 2)
               : 1;
  }
  if (root == "FFMA2" || root == "FADD2" || root == "FMUL2" || root == "DADD" ||
      root == "DMUL" || root == "DFMA")
    return 2;
  if (hasPart(opcode, "WIDE"))
    return isResult || isLast ? 2 : 1;
  bool isMatrix = root == "LDSM" || root == "STSM";
  bool moves = root.starts_with("LD") || root.starts_with("ST") ||
               root == "CS2R" || root == "ULDC" || root.ends_with("64");
  if (root == "CS2R" && !hasPart(opcode, "32"))
    return isResult ? 2 : 1;
  if (hasPart(opcode, "128") || (isMatrix && hasPart(opcode, "4")))
    return moves ? 4 : 1;
  if (hasPart(opcode, "64") || (isMatrix && hasPart(opcode, "2")))
    return moves || root == "UIADD3" || root == "UMOV" ? 2 : 1;
  return 1;
}

/// Adds the registers of an operand, also those inside of brackets.
void add(std::vector<Registers> &list, std::string_view operand,
         uint16_t width) {
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  bool isInside = false, isDescriptor = false;
  for (size_t i = 0; i < operand.size(); ++i) {
    isInside |= operand[i] == '[';
    isDescriptor |= operand.substr(i).starts_with("gdesc");
    if (i && isWord(operand[i - 1]))
      continue;
    auto found = registerAt(operand.substr(i));
    if (!found)
      continue;
    size_t dot = operand.find_first_of(".+]", i);
    bool isPair = dot != operand.npos && operand.substr(dot, 3) == ".64";
    found->count = isDescriptor ? 4 : isInside ? (isPair ? 2 : 1) : width;
    if (found->file == File::Predicate || found->file == File::UniformPredicate)
      found->count = 1;
    list.push_back(*found);
  }
}

/// Returns how many operands, from the first on, are results.
size_t resultsOf(const Instruction &inst,
                 const std::vector<std::string_view> &operands) {
  if (operands.empty() || isOneOf(inst.root(), kNoResult))
    return 0;
  size_t count = isOneOf(inst.root(), kTwoResults) ? 2 : 1;
  bool isPredicate =
      operands[0].starts_with('P') || operands[0].starts_with("UP");
  // Carries and comparisons follow the result of an addition or of a logical
  // operation.
  while (
      !isPredicate && count < operands.size() &&
      (operands[count].starts_with('P') || operands[count].starts_with("UP")))
    ++count;
  return std::min(count, operands.size());
}

} // namespace

void setRegisters(Instruction &inst) {
  inst.reads.clear();
  inst.writes.clear();
  if (!inst.guard.empty())
    add(inst.reads,
        std::string_view(inst.guard).substr(inst.guard.find_first_not_of("@!")),
        1);
  std::vector<std::string_view> operands = split(inst.operands);
  size_t results = resultsOf(inst, operands);
  for (size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].starts_with('`'))
      add(i < results ? inst.writes : inst.reads, operands[i],
          widthOf(inst, i, operands.size()));
}

} // namespace ptxsim::sass

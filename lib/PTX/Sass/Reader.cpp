//===- Reader.cpp - Reads the text of nvdisasm ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The text has a section for each function. An instruction takes two lines,
// with half of its encoding each:
//
//     .text.k:
//             //## File ".nv_debug_ptx_txt", line 50
//             /*0090*/   @P0 BRA `(.L_x_1) ;  /* 0x00000000008c0947 */
//                                             /* 0x000fea0003800000 */
//     .L_x_1:
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sass/Reader.h"

#include <charconv>
#include <map>

namespace ptxsim::sass {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Parses a whole number, nullopt if it is none.
std::optional<uint64_t> parse(std::string_view digits, int base) {
  uint64_t value = 0;
  const char *begin = digits.data(), *end = begin + digits.size();
  auto [last, error] = std::from_chars(begin, end, value, base);
  bool isWhole = error == std::errc() && last == end && !digits.empty();
  return isWhole ? std::optional(value) : std::nullopt;
}

class Reader {
public:
  explicit Reader(std::string_view text) : rest(text) {}
  std::vector<Function> run();

private:
  void readLine(std::string_view line);
  void readSource(std::string_view line);
  void readInstruction(std::string_view line);
  void readUpperHalf(std::string_view line);
  void addTargets(std::string_view operands);
  void readLabel(std::string_view name);
  uint64_t readWord(std::string_view line) const;
  void beginFunction(std::string_view name);
  void endFunction();
  [[noreturn]] void fail(const std::string &message) const {
    throw ReadError(number, message);
  }

  std::string_view rest;
  unsigned number = 0;
  std::vector<Function> functions;
  /// Instructions and lines of text that name labels, and where labels are.
  struct Use {
    size_t instruction;
    unsigned line;
    std::string label;
  };
  std::vector<Use> uses;
  std::map<std::string, uint32_t, std::less<>> labels;
  bool needsUpperHalf = false;
  uint32_t source = 0;
};

std::vector<Function> Reader::run() {
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    ++number;
    readLine(trimmed(rest.substr(0, end)));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  if (needsUpperHalf)
    fail("expected the upper half of the encoding of the last instruction, got "
         "the end of the text");
  endFunction();
  if (functions.empty())
    fail("expected a section .text.NAME as nvdisasm -c -hex prints it, got "
         "none");
  return std::move(functions);
}

void Reader::readLine(std::string_view line) {
  if (line.starts_with("//## File"))
    return readSource(line);
  if (line.starts_with("/*")) {
    if (functions.empty())
      fail("expected .text.NAME: before the first instruction, got '" +
           std::string(line.substr(0, 40)) + "'");
    return needsUpperHalf ? readUpperHalf(line) : readInstruction(line);
  }
  if (needsUpperHalf)
    fail("expected the upper half of the encoding, as nvdisasm -hex prints it, "
         "got '" +
         std::string(line.substr(0, 40)) + "'");
  if (!line.ends_with(":") || line.starts_with("//"))
    return;
  line.remove_suffix(1);
  if (line.starts_with(".text."))
    beginFunction(line.substr(6));
  else if (!functions.empty())
    readLabel(line);
}

/// Lines of other files, such as those of .loc, are not those of the PTX.
void Reader::readSource(std::string_view line) {
  if (!line.starts_with("//## File \".nv_debug_ptx_txt"))
    return;
  size_t at = line.find(", line ");
  std::string_view digits =
      at == line.npos ? line.substr(line.size()) : line.substr(at + 7);
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  auto value = parse(digits, 10);
  if (!value || *value > UINT32_MAX)
    fail("expected \", line N\", got '" + std::string(line) + "'");
  source = uint32_t(*value);
}

uint64_t Reader::readWord(std::string_view line) const {
  size_t at = line.rfind("/* 0x");
  if (at != line.npos && line.ends_with(" */"))
    if (auto word = parse(line.substr(at + 5, line.size() - at - 8), 16))
      return *word;
  fail("expected half of an encoding, /* 0x<16 digits> */ as nvdisasm -hex "
       "prints it, got '" +
       std::string(line.substr(0, 60)) + "'");
}

void Reader::readInstruction(std::string_view line) {
  size_t close = line.find("*/"), end = line.rfind(';');
  auto address =
      close == line.npos ? std::nullopt : parse(line.substr(2, close - 2), 16);
  if (!address || *address > UINT32_MAX)
    fail("expected an address, /*0000*/, got '" +
         std::string(line.substr(0, 40)) + "'");
  if (end == line.npos || end < close)
    fail("expected ';' at the end of the instruction, got '" +
         std::string(line.substr(0, 60)) + "'");
  readWord(line);
  std::string_view text = trimmed(line.substr(close + 2, end - close - 2));
  Instruction inst;
  inst.address = uint32_t(*address);
  inst.line = source;
  if (text.starts_with('@')) {
    size_t space = std::min(text.find(' '), text.size());
    inst.guard = text.substr(0, space);
    if (inst.guard.find_first_not_of("@!") == std::string::npos)
      fail("expected a predicate in the guard, @P0 or @!P0, got '" +
           inst.guard + "'");
    text = trimmed(text.substr(space));
  }
  size_t space = std::min(text.find(' '), text.size());
  inst.opcode = text.substr(0, space);
  inst.operands = trimmed(text.substr(space));
  if (inst.opcode.empty())
    fail("expected an opcode, got none");
  setRegisters(inst);
  auto &list = functions.back().instructions;
  if (size_t name = inst.operands.find("`("); name != std::string::npos) {
    size_t last = inst.operands.find(')', name);
    uses.push_back(
        {list.size(), number, inst.operands.substr(name + 2, last - name - 2)});
  }
  addTargets(inst.operands);
  list.push_back(std::move(inst));
  needsUpperHalf = true;
}

/// Takes the labels of BRX R4 -0xab0 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*).
void Reader::addTargets(std::string_view operands) {
  constexpr std::string_view kWord = "BRANCH_TARGETS ";
  size_t at = operands.find(kWord);
  if (at == operands.npos)
    return;
  operands.remove_prefix(at + kWord.size());
  operands = operands.substr(0, operands.find('"'));
  while (!operands.empty()) {
    size_t comma = std::min(operands.find(','), operands.size());
    uses.push_back({functions.back().instructions.size(), number,
                    std::string(trimmed(operands.substr(0, comma)))});
    operands.remove_prefix(std::min(comma + 1, operands.size()));
  }
}

void Reader::readUpperHalf(std::string_view line) {
  functions.back().instructions.back().control = controlOf(readWord(line));
  needsUpperHalf = false;
}

void Reader::readLabel(std::string_view name) {
  labels[std::string(name)] = uint32_t(functions.back().instructions.size());
}

void Reader::beginFunction(std::string_view name) {
  endFunction();
  functions.push_back({std::string(name), {}});
  source = 0;
}

/// Resolves the labels of the function.
void Reader::endFunction() {
  for (const Use &use : uses) {
    auto &list = functions.back().instructions;
    Instruction &inst = list[use.instruction];
    bool chooses = inst.root() == "BRX";
    bool jumps = chooses || inst.root() == "BRA" || inst.root() == "BSSY" ||
                 inst.root() == "CALL" || inst.root() == "JMP";
    auto label = labels.find(use.label);
    bool isFound = label != labels.end() && label->second < list.size();
    if (isFound && chooses)
      inst.targets.push_back(label->second);
    else if (isFound)
      inst.target = label->second;
    else if (jumps && inst.root() != "CALL")
      throw ReadError(use.line, "expected a label of the function, got '" +
                                    use.label + "'");
  }
  uses.clear();
  labels.clear();
}

} // namespace

Control controlOf(uint64_t high) {
  uint64_t word = high >> 41;
  Control control;
  control.stall = word & 15;
  control.yields = !(word >> 4 & 1);
  control.writeBarrier = word >> 5 & 7;
  control.readBarrier = word >> 8 & 7;
  control.waits = word >> 11 & 63;
  control.reuse = word >> 17 & 15;
  return control;
}

std::vector<Function> read(std::string_view text) { return Reader(text).run(); }

std::string targetOf(std::string_view text) {
  constexpr std::string_view kWord = ".target";
  size_t at = text.find(kWord);
  if (at == text.npos)
    return {};
  std::string_view line = text.substr(at + kWord.size());
  return std::string(trimmed(line.substr(0, line.find('\n'))));
}

} // namespace ptxsim::sass

//===- Rewrites.cpp - Mutants of an instruction ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rewrites.h"

using namespace ptxsim::syntax;

namespace ptxsim::mutate {
namespace {

/// Returns `words` with operand `index` replaced by `operation` of it and
/// `other`. The guard also applies to the arithmetic: a lane that skips the
/// instruction may not have written the operand.
Text compute(Words words, size_t index, std::string_view operation,
             const std::string &other) {
  if (!words.hasOperand(index))
    return std::nullopt;
  std::string type(operation.substr(operation.find('.') + 1));
  std::string prepare = words.guard + std::string(operation) + " %mutant, " +
                        words.operands[index] + ", " + other + ";";
  words.operands[index] = "%mutant";
  return "{ .reg ." + type + " %mutant; " + prepare + " " + words.text() + " }";
}

/// Returns `words` with the address in operand `index` moved by `bytes`.
Text moved(const RewriteInput &input, size_t index, int64_t bytes) {
  if (index >= input.instruction.operands.size())
    return std::nullopt;
  Text address = moveAddress(input.instruction.operands[index], bytes);
  if (!address)
    return std::nullopt;
  Words words(input.instruction);
  words.operands[index] = *address;
  return words.text();
}

std::string setPredicate(const Words &words, const std::string &predicate,
                         bool value) {
  return words.guard + "setp.eq.u32 " + predicate + ", 0, " +
         (value ? "0" : "1") + ";";
}

} // namespace

Text drop(const RewriteInput &) { return ""; }

Text twice(const RewriteInput &input) {
  std::string text = Words(input.instruction).text();
  return text + " " + text;
}

Text unguard(const RewriteInput &input) {
  Words words(input.instruction);
  if (words.guard.empty())
    return std::nullopt;
  words.guard.clear();
  return words.text();
}

Text narrowScope(const RewriteInput &input) {
  Words words(input.instruction);
  for (std::string_view scope : {"sys", "gpu", "gl", "cluster"})
    if (words.replaceModifier(scope, "cta"))
      return words.text();
  return std::nullopt;
}

Text relax(const RewriteInput &input) {
  Words words(input.instruction);
  if (input.facts.announcesCopy(input.instruction))
    return std::nullopt;
  for (std::string_view order : {"release", "acquire", "acq_rel"})
    if (words.replaceModifier(order, "relaxed"))
      return words.text();
  if (input.instruction.has("relaxed") ||
      input.instruction.parts[0] != "mbarrier")
    return std::nullopt;
  words.addModifierAfter(
      {"expect_tx", "parity", "arrive", "try_wait", "test_wait"},
      "relaxed.cta");
  return words.text();
}

Text passImmediately(const RewriteInput &input) {
  Words words(input.instruction);
  if (words.operands.empty())
    return std::nullopt;
  return setPredicate(words, words.operands[0], true);
}

Text flipParity(const RewriteInput &input) {
  return compute(Words(input.instruction), 2, "xor.b32", "1");
}

Text dropExpectation(const RewriteInput &input) {
  Words words(input.instruction);
  if (!input.instruction.has("arrive"))
    return "";
  words.opcode.erase(words.opcode.find(".expect_tx"),
                     std::string_view(".expect_tx").size());
  words.operands.pop_back();
  return words.text();
}

Text waitForOneLess(const RewriteInput &input) {
  Words words(input.instruction);
  if (words.operands.empty() ||
      input.instruction.operands[0].kind != Operand::Kind::Integer)
    return std::nullopt;
  words.operands[0] = std::to_string(input.instruction.operands[0].bits + 1);
  return words.text();
}

Text waitForReads(const RewriteInput &input) {
  Words words(input.instruction);
  words.addModifierAfter({"wait_group"}, "read");
  return words.text();
}

Text addRegisters(const RewriteInput &input) {
  // Register counts are multiples of 8, up to 256.
  constexpr uint64_t step = 8, most = 256;
  const std::vector<Operand> &operands = input.instruction.operands;
  if (operands.empty() || operands[0].kind != Operand::Kind::Integer ||
      operands[0].bits + step > most)
    return std::nullopt;
  Words words(input.instruction);
  words.operands[0] = std::to_string(operands[0].bits + step);
  return words.text();
}

Text halveColumns(const RewriteInput &input) {
  return compute(Words(input.instruction), 1, "shr.b32", "1");
}

template <int Amount> Text addToLast(const RewriteInput &input) {
  Words words(input.instruction);
  if (words.operands.empty())
    return std::nullopt;
  size_t last = words.operands.size() - 1;
  return compute(std::move(words), last, "add.s32", std::to_string(Amount));
}
template Text addToLast<16>(const RewriteInput &);
template Text addToLast<-16>(const RewriteInput &);
template Text addToLast<1>(const RewriteInput &);
template Text addToLast<-1>(const RewriteInput &);

template <int Bytes> Text moveBarrier(const RewriteInput &input) {
  return moved(input, barrierOperand(input.instruction), Bytes);
}
template Text moveBarrier<8>(const RewriteInput &);
template Text moveBarrier<-8>(const RewriteInput &);

Text moveBuffer(const RewriteInput &input) {
  bool stores = input.instruction.parts.size() > 1 &&
                !input.instruction.has("mbarrier::complete_tx::bytes") &&
                input.instruction.has("bulk");
  return moved(input, stores ? 1 : 0, int64_t(input.facts.stageBytes()));
}

template <unsigned Operand> Text moveDescriptor(const RewriteInput &input) {
  Words words(input.instruction);
  // A descriptor addresses shared memory in units of 16 bytes; [a] is tensor
  // memory, {a} are registers.
  if (!words.hasOperand(Operand) || words.operands[Operand][0] == '[' ||
      words.operands[Operand][0] == '{')
    return std::nullopt;
  return compute(std::move(words), Operand, "add.s64",
                 std::to_string(input.facts.largestStage() / 16));
}
template Text moveDescriptor<1>(const RewriteInput &);
template Text moveDescriptor<2>(const RewriteInput &);

Text electEveryLane(const RewriteInput &input) {
  Words words(input.instruction);
  size_t bar =
      words.operands.empty() ? std::string::npos : words.operands[0].find('|');
  if (bar == std::string::npos)
    return std::nullopt;
  std::string lane = words.operands[0].substr(0, bar);
  std::string text =
      setPredicate(words, words.operands[0].substr(bar + 1), true);
  return lane == "_" ? text
                     : text + " " + words.guard + "mov.b32 " + lane + ", 0;";
}

Text matchEveryThread(const RewriteInput &input) {
  const std::vector<Operand> &operands = input.instruction.operands;
  bool equal = input.instruction.has("eq");
  if (operands.size() != 3 || operands[0].kind != Operand::Kind::Name ||
      (!equal && !input.instruction.has("ne")) ||
      !input.facts.numbersThreads(operands[1]) ||
      input.facts.constant(operands[2]) != 0)
    return std::nullopt;
  Words words(input.instruction);
  return setPredicate(words, words.operands[0], equal);
}

} // namespace ptxsim::mutate

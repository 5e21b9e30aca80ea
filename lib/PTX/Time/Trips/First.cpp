//===- First.cpp - Writes a first trips file ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codes.h"
#include "Graph.h"
#include "Walk.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ptxsim::timing {
namespace {

using Json = nlohmann::ordered_json;
using sass::Instruction;

std::string textOf(const Instruction &inst) {
  return inst.guard + (inst.guard.empty() ? "" : " ") + inst.opcode +
         (inst.operands.empty() ? "" : " ") + inst.operands;
}

class Writer {
public:
  explicit Writer(sass::Function function)
      : kernel(std::move(function)), graph(kernel) {}
  std::string run(const std::string &target, unsigned warps);

private:
  void addBranch(uint32_t block);
  void addInstruction(uint32_t index);
  Json barrierOf(const Instruction &inst);
  Json bytesOf(uint32_t index) const;
  Json shapeOf(uint32_t index) const;
  std::optional<uint32_t> valueBefore(uint32_t index,
                                      std::string_view name) const;

  SassKernel kernel;
  SassGraph graph;
  Json branches = Json::object(), steps = Json::object();
  Json barriers = Json::object();
};

/// Returns the constant that the last instruction before `index` that writes
/// the register moves there; nullopt if that instruction does not move a
/// constant.
std::optional<uint32_t> Writer::valueBefore(uint32_t index,
                                            std::string_view name) const {
  for (uint32_t i = index; i-- > 0;) {
    const Instruction &inst = kernel.function.instructions[i];
    std::string_view root = inst.root();
    if (root == "EXIT" || root == "BRA")
      break;
    if (operandOf(inst, 0) != name)
      continue;
    bool isMove =
        root == "MOV" || root == "UMOV" || inst.opcode.starts_with("IMAD.MOV");
    size_t comma = inst.operands.rfind(',');
    if (!isMove || comma == std::string::npos || !inst.guard.empty())
      return std::nullopt;
    return immediateOf(std::string_view(inst.operands).substr(comma + 2));
  }
  return std::nullopt;
}

void Writer::addBranch(uint32_t block) {
  const Instruction &last = graph.lastOf(block);
  Ending ending = graph.endingOf(block);
  bool isOpen = ending == Ending::Table ||
                (ending == Ending::Chooses && !graph.takenAfterWait(block));
  if (!isOpen)
    return;
  Json &rule = branches[hex(last.address)];
  rule["text"] = textOf(last);
  const Loop *loop = graph.loopLeftBy(block);
  if (!loop) {
    rule["arm"] = nullptr;
    return;
  }
  const auto &list = kernel.function.instructions;
  uint32_t head = list[kernel.blocks[loop->head].first].address;
  rule["note"] = "leaves the loop that begins at " + hex(head);
  rule["trips"] = nullptr;
  // setmaxnreg is tried until there are registers.
  const Block &of = kernel.blocks[block];
  for (uint32_t i = of.first; i < of.end; ++i)
    if (list[i].root() == "USETMAXREG")
      rule["trips"] = 1;
}

/// Names a barrier by the constant part of its address.
Json Writer::barrierOf(const Instruction &inst) {
  size_t plus = inst.operands.rfind("+0x");
  if (plus == std::string::npos)
    return nullptr;
  std::string_view text = std::string_view(inst.operands).substr(plus + 1);
  std::string name = "mbarrier " + std::string(text.substr(0, text.find(']')));
  if (!barriers.contains(name))
    barriers[name] = {{"free", 0}};
  return name;
}

/// Guesses the bytes of a load: what the last arrival before it expects, over
/// the copies between that arrival and the next one.
Json Writer::bytesOf(uint32_t index) const {
  const auto &list = kernel.function.instructions;
  uint32_t first = index, copies = 0;
  while (first > 0 && !list[first].opcode.starts_with("SYNCS.ARRIVE"))
    --first;
  auto bytes = valueBefore(first, operandOf(list[first], 2));
  for (uint32_t i = first + 1; i < list.size(); ++i) {
    if (list[i].opcode.starts_with("SYNCS") || list[i].root() == "EXIT")
      break;
    copies += directionOf(list[i]) == CopyDirection::FromGlobal;
  }
  if (!bytes || !copies || *bytes % copies)
    return nullptr;
  return *bytes / copies;
}

/// Decodes the shape of an instruction descriptor that is a constant.
Json Writer::shapeOf(uint32_t index) const {
  const std::string &text = kernel.function.instructions[index].operands;
  size_t at = text.find("idesc[");
  if (at == std::string::npos)
    return nullptr;
  std::string_view name = std::string_view(text).substr(at + 6);
  auto idesc = valueBefore(index, name.substr(0, name.find(']')));
  if (!idesc)
    return nullptr;
  bool isPair = kernel.function.instructions[index].opcode.find(".2CTA") !=
                std::string::npos;
  return {{"m", (*idesc >> 24 & 31) * 16},
          {"n", (*idesc >> 17 & 63) * 8},
          {"ctas", isPair ? 2 : 1}};
}

void Writer::addInstruction(uint32_t index) {
  const Instruction &inst = kernel.function.instructions[index];
  const CostClass &of = sassClassOf(inst.opcode);
  Json rule;
  switch (of.action) {
  case Action::Signal:
  case Action::CpArrive:
    rule["barrier"] = barrierOf(inst);
    break;
  case Action::MmaCommit:
    rule["barrier"] = nullptr;
    break;
  case Action::Meet:
    if (immediateOf(operandOf(inst, 0)) && inst.guard.empty())
      return;
    if (inst.root() != "BAR")
      return;
    if (!immediateOf(operandOf(inst, 0)))
      rule["barrier"] = nullptr;
    break;
  case Action::Copy:
    if (directionOf(inst) != CopyDirection::ToGlobal)
      rule["barrier"] = nullptr;
    rule["bytes"] = directionOf(inst) == CopyDirection::FromGlobal
                        ? bytesOf(index)
                        : Json(nullptr);
    break;
  case Action::TmemCopy:
    rule["bytes"] = nullptr;
    break;
  case Action::Mma:
    rule["shape"] = shapeOf(index);
    break;
  default:
    if (of.name != "Wait" || retries(inst))
      return;
    rule["barrier"] = barrierOf(inst);
  }
  // SASS does not show in which warps a guard holds.
  if (!inst.guard.empty() && of.name != "Wait")
    rule["warps"] = nullptr;
  Json &place = steps[hex(inst.address)];
  place["text"] = textOf(inst);
  place.update(rule);
}

std::string Writer::run(const std::string &target, unsigned warps) {
  std::vector<bool> seen = graph.reachable();
  for (uint32_t block = 0; block < kernel.blocks.size(); ++block) {
    if (!seen[block])
      continue;
    for (uint32_t i = kernel.blocks[block].first; i < kernel.blocks[block].end;
         ++i)
      addInstruction(i);
    addBranch(block);
  }
  std::string last = std::to_string(std::max(warps, 1u) - 1);
  Json file;
  file["note"] = "Replace each null: branches of roles that differ, and what "
                 "SASS does not say. See docs/simulator.md.";
  file["kernel"] = kernel.function.name;
  file["target"] = target;
  file["ctas_per_sm"] = 1;
  file["parameters"] = Json::object();
  file["barriers"] = barriers;
  file["roles"] = Json::array(
      {{{"name", "all"}, {"warps", last == "0" ? "0" : "0-" + last}}});
  file["branches"] = branches;
  file["instructions"] = steps;
  return file.dump(1) + "\n";
}

} // namespace

std::string firstTrips(sass::Function function, const std::string &target,
                       unsigned warps) {
  return Writer(std::move(function)).run(target, warps);
}

} // namespace ptxsim::timing

//===- Decoder.cpp - From text operands to rows -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Program/Decoder.h"

#include <algorithm>
#include <optional>

using namespace ptxsim;

void InstructionForm::unsupported(const std::string &why) const {
  throw Error(Error::Kind::Unsupported,
              "line " + std::to_string(text().line) + ": '" +
                  std::string(text().opcode) + "' is not supported: " + why,
              text().line);
}

void InstructionForm::expectOperands(size_t low, size_t high) const {
  if (size() >= low && size() <= high)
    return;
  std::string wanted = std::to_string(low);
  if (high != low)
    wanted += " to " + std::to_string(high);
  unsupported("expected " + wanted + " operands, got " +
              std::to_string(size()));
}

race::Ordering InstructionForm::ordering(race::Ordering implied) const {
  using race::Scope;
  struct Word {
    std::string_view text;
    bool acquires, releases;
  };
  static constexpr Word kOrders[] = {
      {"relaxed", false, false}, {"volatile", false, false},
      {"mmio", false, false},    {"acquire", true, false},
      {"release", false, true},  {"acq_rel", true, true},
      {"sc", true, true}};
  static constexpr std::pair<std::string_view, Scope> kScopes[] = {
      {"cta", Scope::Cta},
      {"cluster", Scope::Cluster},
      {"gpu", Scope::Gpu},
      {"gl", Scope::Gpu},
      {"sys", Scope::Gpu}};
  std::optional<Scope> scope;
  for (std::string_view part : text().parts) {
    if (part == "v2" || part == "v4" || part == "v8")
      implied.elements = uint8_t(part[1] - '0');
    for (const Word &word : kOrders)
      if (word.text == part) {
        implied.acquires = word.acquires;
        implied.releases = word.releases;
        if (implied.scope == Scope::Weak)
          implied.scope = Scope::Gpu;
      }
    for (const auto &[name, reach] : kScopes)
      if (name == part)
        scope = reach;
  }
  if (scope && implied.scope != Scope::Weak)
    implied.scope = *scope;
  return implied;
}

void InstructionForm::expectModifiers(
    std::initializer_list<std::string_view> known) const {
  for (size_t i = 1; i < text().parts.size(); ++i)
    if (std::find(known.begin(), known.end(), text().parts[i]) == known.end())
      unsupported("unknown modifier ." + std::string(text().parts[i]));
}

const syntax::Operand &InstructionForm::operand(size_t index) const {
  if (index >= size())
    unsupported("expected at least " + std::to_string(index + 1) +
                " operands, got " + std::to_string(size()));
  return text().operands[index];
}

bool InstructionForm::isImmediate(size_t index) const {
  return operand(index).kind == syntax::Operand::Kind::Integer ||
         operand(index).kind == syntax::Operand::Kind::Float;
}

uint64_t InstructionForm::immediate(size_t index) const {
  if (operand(index).kind != syntax::Operand::Kind::Integer)
    unsupported("expected an integer constant as operand " +
                std::to_string(index + 1));
  return operand(index).bits;
}

void Registry::add(std::string_view prefix, DecodeFunction decode) {
  table[std::string(prefix)] = decode;
}

DecodeFunction Registry::find(std::string_view opcode) const {
  for (;;) {
    auto found = table.find(opcode);
    if (found != table.end())
      return found->second;
    size_t dot = opcode.rfind('.');
    if (dot == std::string_view::npos)
      return nullptr;
    opcode = opcode.substr(0, dot);
  }
}

//===- Classes.cpp - Classes of PTX instructions --------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Classes.h"

#include <algorithm>
#include <ranges>

namespace ptxsim::timing {
namespace {

enum class ClassId : uint8_t {
#define CLASS(name, label, order, action, pipe, interval, latency, slots) name,
#include "fmha/PTX/Time/Classes.def"
};

constexpr CostClass classes[] = {
#define CLASS(name, label, order, action, pipe, interval, latency, slots)      \
  {#name,           label,      Order::order,                                  \
   Action::action,  Pipe::pipe, Figure::interval,                              \
   Figure::latency, slots},
#include "fmha/PTX/Time/Classes.def"
};

struct OpcodeRow {
  std::string_view prefix, parts;
  ClassId of;
};

constexpr OpcodeRow opcodes[] = {
#define OPCODE(prefix, parts, name) {prefix, parts, ClassId::name},
#include "fmha/PTX/Time/Classes.def"
};

constexpr OpcodeRow sassOpcodes[] = {
#define SASS(root, parts, name) {root, parts, ClassId::name},
#include "fmha/PTX/Time/SassClasses.def"
};

/// Returns whether the opcode has the part after its first one.
bool hasPart(std::string_view opcode, std::string_view part) {
  auto isPart = [&](auto other) {
    return std::string_view(other.begin(), other.end()) == part;
  };
  return std::ranges::any_of(
      std::views::split(opcode, '.') | std::views::drop(1), isPart);
}

bool hasParts(std::string_view opcode, std::string_view parts) {
  return std::ranges::all_of(std::views::split(parts, ' '), [&](auto part) {
    std::string_view name(part.begin(), part.end());
    return name.empty() || hasPart(opcode, name);
  });
}

bool suits(const OpcodeRow &row, std::string_view opcode) {
  size_t size = row.prefix.size();
  bool begins = opcode.starts_with(row.prefix) &&
                (opcode.size() == size || opcode[size] == '.');
  return begins && hasParts(opcode, row.parts);
}

} // namespace

const CostClass &classOf(std::string_view opcode) {
  for (const OpcodeRow &row : opcodes)
    if (suits(row, opcode))
      return classes[size_t(row.of)];
  return classes[size_t(ClassId::Alu)];
}

const CostClass &sassClassOf(std::string_view opcode) {
  for (const OpcodeRow &row : sassOpcodes)
    if (suits(row, opcode))
      return classes[size_t(row.of)];
  return classes[size_t(opcode.starts_with('U') ? ClassId::Uniform
                                                : ClassId::Alu)];
}

const CostClass &uniformClass() { return classes[size_t(ClassId::Uniform)]; }

const CostClass &freeClass() { return classes[size_t(ClassId::Move)]; }

} // namespace ptxsim::timing

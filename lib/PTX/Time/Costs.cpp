//===- Costs.cpp - Figures of each target ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Costs.h"

#include "fmha/PTX/Host/Target.h"

#include <iterator>

namespace ptxsim::timing {
namespace {

constexpr CostRow rows[] = {
#define COST(name, targets, low, middle, high, basis, source)                  \
  {Figure::name, #name, targets, low, middle, high, Basis::basis, source},
#include "fmha/PTX/Time/Costs.def"
};

constexpr std::string_view targets[] = {"sm_90a", "sm_100a", "sm_103a"};

/// Returns whether a list of words has the word.
bool hasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    size_t space = std::min(list.find(' '), list.size());
    if (list.substr(0, space) == word)
      return true;
    list.remove_prefix(std::min(space + 1, list.size()));
  }
  return false;
}

double valueOf(const CostRow &row, Level level) {
  return level == Level::Low      ? row.low
         : level == Level::Middle ? row.middle
                                  : row.high;
}

} // namespace

std::optional<Figures> figuresOf(std::string_view target, Level level) {
  auto name = TargetName::parse(target);
  if (!name)
    return std::nullopt;
  // PTX without a suffix, or of the family, runs on the same device.
  std::string known = "sm_" + std::to_string(name->cc) + "a";
  Figures figures;
  bool any = false;
  for (const CostRow &row : rows)
    if (hasWord(row.targets, known)) {
      figures[row.figure] = valueOf(row, level);
      any = true;
    }
  return any ? std::optional(figures) : std::nullopt;
}

std::string targetsWithFigures() {
  std::string text;
  size_t left = std::size(targets);
  for (std::string_view target : targets) {
    --left;
    text += std::string(target) + (left > 1 ? ", " : left ? " and " : "");
  }
  return text;
}

const CostRow *rowOf(Figure figure, std::string_view target) {
  for (const CostRow &row : rows)
    if (row.figure == figure && hasWord(row.targets, target))
      return &row;
  return nullptr;
}

} // namespace ptxsim::timing

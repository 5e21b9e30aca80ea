//===- Costs.cpp - Figures of each target ---------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Costs.h"

#include "fmha/PTX/Host/Target.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <ranges>
#include <vector>

namespace ptxsim::timing {
namespace {

constexpr CostRow rows[] = {
#define COST(name, targets, low, middle, high, basis, source)                  \
  {Figure::name, #name, targets, low, middle, high, Basis::basis, source},
#include "fmha/PTX/Time/Costs.def"
};

/// Returns the words of a list of targets.
std::vector<std::string_view> wordsOf(std::string_view list) {
  std::vector<std::string_view> words;
  for (auto word : std::views::split(list, ' '))
    words.emplace_back(word.begin(), word.end());
  return words;
}

bool hasWord(std::string_view list, std::string_view word) {
  std::vector<std::string_view> words = wordsOf(list);
  return std::ranges::find(words, word) != words.end();
}

double valueOf(const CostRow &row, Level level) {
  return level == Level::Low      ? row.low
         : level == Level::Middle ? row.middle
                                  : row.high;
}

/// Returns the figures of a target, each of which is the value of its row.
template <typename Value>
std::optional<Figures> figuresBy(std::string_view target, Value value) {
  auto name = TargetName::parse(target);
  if (!name)
    return std::nullopt;
  // PTX without a suffix, or of the family, runs on the same device.
  std::string known = "sm_" + std::to_string(name->cc) + "a";
  Figures figures;
  bool any = false;
  for (const CostRow &row : rows)
    if (hasWord(row.targets, known)) {
      figures[row.figure] = value(row);
      any = true;
    }
  return any ? std::optional(figures) : std::nullopt;
}

/// Returns the value at a share of the range, of which 0.5 is the middle.
double valueAt(const CostRow &row, double share) {
  return share < 0.5 ? row.low + (row.middle - row.low) * 2 * share
                     : row.middle + (row.high - row.middle) * (2 * share - 1);
}

/// Returns a number from 0 to 1.
double drawnShare(Figure figure, uint32_t seed) {
  std::seed_seq seeds{seed, uint32_t(figure)};
  std::mt19937 dice(seeds);
  return dice() / (double(dice.max()) + 1);
}

} // namespace

std::optional<Figures> figuresOf(std::string_view target, Level level) {
  return figuresBy(target,
                   [&](const CostRow &row) { return valueOf(row, level); });
}

std::optional<Figures> drawnFigures(std::string_view target, uint32_t seed) {
  return figuresBy(target, [&](const CostRow &row) {
    return valueAt(row, drawnShare(row.figure, seed));
  });
}

std::optional<Figures> figuresNear(std::string_view target, uint32_t seed,
                                   double share) {
  return figuresBy(target, [&](const CostRow &row) {
    double nearer = std::min(std::abs(row.high - row.middle),
                             std::abs(row.middle - row.low));
    return row.middle + share * nearer * (2 * drawnShare(row.figure, seed) - 1);
  });
}

std::string targetsWithFigures() {
  std::vector<std::string_view> targets;
  for (const CostRow &row : rows)
    for (std::string_view target : wordsOf(row.targets))
      if (std::ranges::find(targets, target) == targets.end())
        targets.push_back(target);
  std::string text;
  size_t left = targets.size();
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

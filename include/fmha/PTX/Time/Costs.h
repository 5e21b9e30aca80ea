//===- Costs.h - Figures of each target -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_COSTS_H
#define FMHA_PTX_TIME_COSTS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptxsim::timing {

enum class Figure : uint8_t {
#define FIGURE(name, unit) name,
#include "fmha/PTX/Time/Costs.def"
  Count
};

/// Which end of the range of each figure: Low makes a kernel fast.
enum class Level : uint8_t { Low, Middle, High };

/// The figures of one target at one level.
class Figures {
public:
  double operator[](Figure figure) const { return values[size_t(figure)]; }
  double &operator[](Figure figure) { return values[size_t(figure)]; }

private:
  std::array<double, size_t(Figure::Count)> values{};
};

/// How well a figure is known.
enum class Basis : uint8_t { Measured, Near, Read, Assumed };

/// One row of Costs.def.
struct CostRow {
  Figure figure;
  std::string_view name, targets;
  double low, middle, high;
  Basis basis;
  std::string_view source;
};

/// Returns the figures for a module's .target; nullopt if there are none for
/// its compute capability.
std::optional<Figures> figuresOf(std::string_view target, Level level);
/// Returns figures that are drawn independently, each as often below the middle
/// of its range as above. A seed draws the same share of each range for every
/// target. nullopt as from figuresOf().
std::optional<Figures> drawnFigures(std::string_view target, uint32_t seed);
/// Returns figures that are drawn as far below the middle as above it, by up to
/// `share` of the way to the nearer end of their range. nullopt as from
/// figuresOf().
std::optional<Figures> figuresNear(std::string_view target, uint32_t seed,
                                   double share);
/// Returns the targets that have figures: "sm_90a, sm_100a and sm_103a".
std::string targetsWithFigures();
/// Returns the row of a figure for a target of `targetsWithFigures`, or null if
/// the target has no such unit.
const CostRow *rowOf(Figure figure, std::string_view target);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_COSTS_H

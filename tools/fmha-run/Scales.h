//===- Scales.h - Scales of numbers of 8 bits -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_SCALES_H
#define FMHA_TOOLS_RUN_SCALES_H

#include "Inputs.h"

namespace fmha::tools {

/// What has a scale of its own.
enum class ScaleBy { Tensor, Head, Page };
ScaleBy scaleBy(const schedule::Problem &problem);

/// Sets --scale-per-head or --scale-per-page from the number of scales, unless
/// a flag or an input file says which it is. Fails if it may be either.
llvm::Error chooseGranularity(ProblemFlags &flags, const InputFiles &files);

/// Checks the number of scales, whose tensors are not allocated yet. Makes
/// those that are wanted random: 2^x with x from -3 to 3, from `seed`, and NaN
/// for pages that no sequence has.
llvm::Error chooseScales(HostProblem &problem, const schedule::Problem &spec,
                         uint64_t seed);

/// Returns the function of an array's scales; null without scales. `scales`
/// must not move.
ScaleAt scalesOf(const std::optional<std::vector<float>> &scales, ScaleBy by);

/// The scales of K and V as maps of the reference.
struct ScaleMaps {
  std::vector<float> k, v;
};
/// Sets those of `wanted`, whose data is in the result.
ScaleMaps addScales(const HostProblem &host, const schedule::Problem &spec,
                    reference::Problem &wanted);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_SCALES_H

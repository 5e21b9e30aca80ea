//===- Counts.cpp - Products of the cost model ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counts.h"

#include "fmha/Layout/SmemTile.h"

#include <algorithm>
#include <cmath>

using namespace fmha;
using namespace fmha::schedule;

Product fmha::schedule::productOf(const target::Target &gpu,
                                  const ProductShape &shape) {
  // 64 rows in a pair of CTAs make an instruction of 128, which uses both
  // halves of the data path; alone they leave half of it idle.
  double rate = gpu.mmaFlopsPerClock;
  double rowsDone = gpu.mmaRows;
  if (shape.ctaGroup == 2 && shape.rows * 2 == rowsDone)
    rowsDone = shape.rows;
  double instructionRows = std::min(shape.rows, double(gpu.mmaRows));
  double rowParts = std::ceil(shape.rows / gpu.mmaRows);
  double columnParts = std::ceil(shape.columns / mostColumns);
  double steps =
      std::ceil(shape.depth * shape.elementBytes / layout::kStepBytes);
  double width = shape.columns / columnParts;
  // The rate is that of 16-bit elements; a step takes as long for all types.
  double flops = 2 * rowsDone * width * (layout::kStepBytes / 2.0);
  double bytes = layout::kStepBytes * ((shape.aInSmem ? instructionRows : 0) +
                                       width / shape.ctaGroup);
  double instructions = rowParts * columnParts * steps;
  double clocks = std::max(flops / rate, bytes / gpu.smemBytesPerClock) +
                  gpu.mmaStartTenths / 10.0;
  return {instructions * clocks, instructions * bytes};
}

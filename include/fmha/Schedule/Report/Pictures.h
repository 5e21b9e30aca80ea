//===- Pictures.h - A plan in SVG -------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_REPORT_PICTURES_H
#define FMHA_SCHEDULE_REPORT_PICTURES_H

#include "fmha/Schedule/Model/Schedule.h"

namespace fmha::schedule {

/// A file name and an SVG 1.1 document.
struct Picture {
  std::string name, svg;
};

/// Draws tensor memory over time: columns downwards, modeled clocks to the
/// right, a box for each owner of a region.
Picture drawTmemOverTime(const Problem &problem, const Plan &plan);
/// Draws shared memory to scale, stage by stage, with the regions that overlap.
Picture drawSmemMap(const Plan &plan);
/// Draws eight rows of a 64-column panel before and after the 128-byte swizzle.
Picture drawSwizzle();

/// Returns all pictures. The plan's target must be known.
std::vector<Picture> drawPictures(const Problem &problem, const Plan &plan);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_REPORT_PICTURES_H

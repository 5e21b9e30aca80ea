//===- CheckedMaps.cpp - Memory maps of schedules -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckedMaps.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"

using namespace mlir;
using namespace fmha;

const schedule::CheckedMap &
FMHADialect::getMap(const schedule::Problem &problem, ScheduleAttr schedule) {
  // Hints and the outputs of the merge kernel do not matter.
  schedule::Problem kernel = schedule::kernelProblem(
      schedule::withoutHints(problem), schedule.getValue());
  auto attribute = ProblemAttr::get(getContext(), {kernel, std::nullopt});
  std::lock_guard<std::mutex> lock(maps->mutex);
  std::unique_ptr<const schedule::CheckedMap> &map =
      maps->of[{attribute, schedule}];
  if (!map)
    map = std::make_unique<const schedule::CheckedMap>(schedule::checkAndLayOut(
        kernel, schedule::withRoles(schedule.getValue())));
  return *map;
}

//===- Family.cpp - Kernels of plain threads --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families/Family.h"

#include "fmha/Schedule/Model/FmaThreads.h"

using namespace fmha;
using namespace fmha::schedule;

/// Returns the planner's threads. An SM has two or three CTAs at a time, so
/// that one loads while another waits at a barrier. The sums of four rows need
/// more registers than 128, with which ptxas 13.0 spills up to 140 bytes.
static std::vector<Role> rolesOf(const Schedule &schedule) {
  constexpr unsigned manyRows = 4;
  if (schedule.packHeads >= manyRows)
    return {{FmaThreads::role, 0, /*warps=*/4, /*registers=*/168}};
  return {{FmaThreads::role, 0, /*warps=*/8, /*registers=*/128}};
}

/// Returns queries, scores of two blocks, the maxima and sums of each warp, and
/// what one row of the output is summed up from, all in f32.
static std::vector<SmemRegion> regionsOf(const Problem &problem,
                                         const Schedule &schedule) {
  constexpr unsigned bytes = sizeof(float), alignment = 16;
  FmaThreads all(problem, schedule);
  return {
      {"Q", 0, all.rows * problem.headDim * bytes, 1, alignment, ""},
      {"S", 0, all.rows * schedule.kvBlock * bytes, 2, alignment, ""},
      {"stats", 0, all.rows * all.warps * bytes, 2, alignment, ""},
      {"out", 0, all.threads * all.vectorElements * bytes, 1, alignment, ""}};
}

constinit const Family fmha::schedule::fmaFamily = {
    .name = "fma",
    .kind = FamilyKind::Fma,
    .serves = [](const target::Target &) { return true; },
    .takes = [](const Problem &) { return true; },
    .kernel = {.accumulatesInTensorMemory = false,
               .announcesNextTile = false,
               .drawsTiles = false,
               .sectionBytes = nullptr,
               .runsAhead = nullptr,
               .outputStages = nullptr,
               .skipsEmptyTiles = false,
               .pairsTiles = false,
               .sortsTiles = nullptr,
               .columnsOfConsumer = 0,
               .usesAddresses = true,
               .readsNewKeys = true,
               .regions = regionsOf,
               .namedBarriers = [](const Schedule &) { return 0u; },
               .roles = rolesOf},
    .rules = fmaRules,
    .cost = fmaCost,
    .candidates = fmaCandidates};

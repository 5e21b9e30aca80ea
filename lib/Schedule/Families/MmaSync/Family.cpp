//===- Family.cpp - Kernels that multiply by mma.sync ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four warps have the rows of one query tile. They copy keys and values ahead
// by cp.async, multiply, and compute softmax, all in program order; other CTAs
// of the SM execute while they wait. No warp loads for others: setmaxnreg does
// not exist before sm_90, so that a loading warp would have as many registers
// as the others, which two CTAs of 128 threads and 248 registers do not leave.
//
//===----------------------------------------------------------------------===//

#include "MmaSyncRules.h"

using namespace fmha;
using namespace fmha::schedule;

static std::vector<Role> rolesOf(const Schedule &s) {
  return {{std::string(mmaSyncRole), 0, mmaSyncThreads / target::warpThreads,
           registersAtLaunch(mmaSyncThreads, s.ctasPerSm)}};
}

constinit const Family fmha::schedule::mmaSyncFamily = {
    .name = "mma_sync",
    .kind = FamilyKind::Mma,
    .serves =
        [](const target::Target &gpu) {
          constexpr unsigned rowsOfMmaSync = 16;
          return gpu.mmaRows == rowsOfMmaSync;
        },
    .takes =
        [](const Problem &problem) {
          bool isOut = problem.outF32 || problem.outDtype() == problem.dtype;
          return bytesOf(problem.dtype) == 2 && isOut && !problem.keyVectors &&
                 !problem.kvE4M3;
        },
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
               .readsNewKeys = false,
               .regions = nullptr,
               .namedBarriers = [](const Schedule &) { return 0u; },
               .roles = rolesOf},
    .rules = mmaSyncRules,
    .cost = mmaSyncCost,
    .candidates = mmaSyncCandidates};

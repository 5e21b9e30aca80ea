//===- PlannerSpeed.cpp - Time to plan a schedule -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One call of plan() for each head dim of the test grid, for multi-head latent
// attention, and for a request that cannot be planned and gets advice.
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Schedule.h"

#include "benchmark/benchmark.h"

using namespace fmha::schedule;

static void planHeadDim(benchmark::State &state) {
  Problem problem;
  problem.headDim = unsigned(state.range(0));
  problem.headDimV = unsigned(state.range(1));
  problem.vInK = problem.headDim > problem.headDimV;
  problem.qLenHint = problem.kvLenHint = 4096;
  problem.batchHint = 2;
  problem.qHeadsHint = problem.kvHeadsHint = 32;
  for (auto _ : state) {
    std::string error;
    benchmark::DoNotOptimize(plan(problem, "sm_100a", {}, error));
  }
}
BENCHMARK(planHeadDim)
    ->Args({64, 64})
    ->Args({128, 128})
    ->Args({192, 128})
    ->Args({256, 256})
    ->Args({512, 512})
    ->Args({576, 512})
    ->Unit(benchmark::kMicrosecond);

static void adviseDeepRing(benchmark::State &state) {
  Overrides overrides;
  overrides.kvStages = 40;
  for (auto _ : state) {
    std::string error;
    benchmark::DoNotOptimize(plan(Problem(), "sm_100a", overrides, error));
  }
}
BENCHMARK(adviseDeepRing)->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();

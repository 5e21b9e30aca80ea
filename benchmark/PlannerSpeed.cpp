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

#include "fmha/Schedule/Model/Schedule.h"

#include "benchmark/benchmark.h"

#include <string>
#include <utility>

using namespace fmha::schedule;

static Problem problemOf(const benchmark::State &state) {
  Problem problem;
  problem.headDim = unsigned(state.range(0));
  problem.headDimV = unsigned(state.range(1));
  problem.vInK = problem.headDim > problem.headDimV;
  problem.qLenHint = problem.kvLenHint = 4096;
  return problem;
}

static void planRepeatedly(benchmark::State &state, const char *target,
                           const Problem &problem) {
  for (auto _ : state) {
    std::string error;
    benchmark::DoNotOptimize(plan(problem, target, {}, error));
  }
}

static void planHeadDim(benchmark::State &state, const char *target) {
  Problem problem = problemOf(state);
  problem.batchHint = 2;
  problem.qHeadsHint = problem.kvHeadsHint = 32;
  planRepeatedly(state, target, problem);
}

/// One token of a sequence: heads may share tiles, and CTAs KV blocks.
static void planDecoding(benchmark::State &state, const char *target) {
  Problem problem = problemOf(state);
  problem.qLenHint = problem.batchHint = problem.kvHeadsHint = 1;
  problem.qHeadsHint = 128;
  planRepeatedly(state, target, problem);
}
static void useHeadDims(benchmark::internal::Benchmark *all) {
  for (auto [qk, pv] :
       {std::pair(64, 64), std::pair(128, 128), std::pair(192, 128),
        std::pair(256, 256), std::pair(512, 512), std::pair(576, 512)})
    all->Args({qk, pv});
  all->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(planHeadDim, sm_100a, "sm_100a")->Apply(useHeadDims);
BENCHMARK_CAPTURE(planHeadDim, sm_90a, "sm_90a")->Apply(useHeadDims);
BENCHMARK_CAPTURE(planDecoding, sm_100a, "sm_100a")->Apply(useHeadDims);
BENCHMARK_CAPTURE(planDecoding, sm_90a, "sm_90a")->Apply(useHeadDims);

static void adviseDeepRing(benchmark::State &state) {
  Overrides overrides;
  overrides.fix(Choice::KvStages, 40);
  for (auto _ : state) {
    std::string error;
    benchmark::DoNotOptimize(plan(Problem(), "sm_100a", overrides, error));
  }
}
BENCHMARK(adviseDeepRing)->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();

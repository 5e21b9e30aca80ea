//===- Compile.cpp - Time from text to PTX ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From MLIR text to PTX in process and warm, next to ptxas on that very PTX,
// and the cold command beside both. Each is the median of 10 runs on one core;
// the goal is text to PTX in at most 100 ms and no slower than ptxas.
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Compiler.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <sys/resource.h>

using namespace fmha;

static std::string moduleText() {
  KernelSpec spec;
  spec.problem.headDim = spec.problem.headDimV = 128;
  spec.problem.mask = schedule::Mask::Causal;
  return buildModule(spec);
}

/// Peak resident memory of this process, in bytes.
static double peakMemory(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return double(usage.ru_maxrss) * 1024;
}

static void textToPtx(benchmark::State &state) {
  const std::string text = moduleText();
  if (!compile(text, "warm-up", {}).ok)
    return state.SkipWithError("the kernel does not compile");
  for (auto _ : state)
    benchmark::DoNotOptimize(compile(text, "benchmark", {}));
  state.counters["peak_bytes"] = peakMemory(RUSAGE_SELF);
}

static void ptxas(benchmark::State &state) {
  const std::string ptx = compile(moduleText(), "benchmark", {}).ptx;
  using Status = AssembleResult::Status;
  if (assemble(ptx, "sm_100a").status != Status::Ok)
    return state.SkipWithError("no ptxas, or it refuses the kernel");
  for (auto _ : state)
    benchmark::DoNotOptimize(assemble(ptx, "sm_100a"));
  state.counters["peak_bytes"] = peakMemory(RUSAGE_CHILDREN);
}

/// The command as a person runs it, process start included.
static void coldCommand(benchmark::State &state) {
  auto tool = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
              "fmha-compile";
  const std::string command =
      "'" + tool.string() +
      "' --head-dim=128 --causal --emit=ptx -o - > /dev/null";
  if (std::system(command.c_str()) != 0)
    return state.SkipWithError("fmha-compile fails");
  for (auto _ : state)
    benchmark::DoNotOptimize(std::system(command.c_str()));
}

#define FMHA_MEDIAN_OF_TEN                                                     \
  Unit(benchmark::kMillisecond)                                                \
      ->UseRealTime()                                                          \
      ->Iterations(1)                                                          \
      ->Repetitions(10)                                                        \
      ->ReportAggregatesOnly()

BENCHMARK(textToPtx)->FMHA_MEDIAN_OF_TEN;
BENCHMARK(ptxas)->FMHA_MEDIAN_OF_TEN;
BENCHMARK(coldCommand)->FMHA_MEDIAN_OF_TEN;

BENCHMARK_MAIN();

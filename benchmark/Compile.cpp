//===- Compile.cpp - Time from text to PTX ----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times of text to PTX for either target, in process and warm, of ptxas on the
// same PTX, and of the cold command. Each is the median of 10 runs on one core;
// the goal is text to PTX in at most 100 ms and no slower than ptxas. The two
// take turns, so that a busy machine slows both.
//
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"
#include "fmha/Pipeline/Compiler.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace fmha;
using Words = std::vector<std::string>;

static std::string moduleText() {
  KernelSpec spec;
  spec.problem.headDim = spec.problem.headDimV = 128;
  spec.problem.mask = schedule::Mask::Causal;
  return buildModule(spec);
}

namespace {
/// The PTX of the kernel in a file of its own, which goes away at the end.
class PtxFile {
public:
  PtxFile(const std::string &ptx, const std::string &target)
      : target(target),
        path(std::filesystem::temp_directory_path() /
             ("fmha-benchmark-" + std::to_string(getpid()) + ".ptx")) {
    std::ofstream(path) << ptx;
  }
  ~PtxFile() { std::filesystem::remove(path); }
  Words ptxas() const {
    const char *named = std::getenv("FMHA_PTXAS");
    return {named ? named : "ptxas", "-arch=" + target, path.string(), "-o",
            "/dev/null"};
  }

private:
  std::string target;
  std::filesystem::path path;
};
} // namespace

static Words coldWords() {
  auto tool = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
              "fmha-compile";
  return {tool.string(), "--head-dim=128", "--causal", "--emit=ptx"};
}

static double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// The time is that of the compiler; `ptxas_ms` and `ratio` (compiler over
/// ptxas) are counters.
static void textToPtx(benchmark::State &state, const char *target) {
  const std::string text = moduleText();
  CompileOptions options;
  options.target = target;
  CompileResult warm = compile(text, "warm-up", options);
  if (!warm.ok)
    return state.SkipWithError("the kernel does not compile");
  PtxFile file(warm.ptx, target);
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(compile(text, "benchmark", options));
    double ours = secondsSince(begin);
    state.SetIterationTime(ours);
    std::optional<double> theirs = bench::timeOf(file.ptxas());
    if (!theirs)
      continue;
    state.counters["ptxas_ms"] = *theirs * 1e3;
    state.counters["ratio"] = ours / *theirs;
  }
  state.counters["peak_MB"] = bench::processMemory("self", "VmHWM:") / 1e6;
  if (auto peak = bench::peakMemoryOf(file.ptxas()))
    state.counters["ptxas_peak_MB"] = *peak / 1e6;
}

/// The command as a person runs it, process start included.
static void coldCommand(benchmark::State &state) {
  const Words command = coldWords();
  if (!bench::timeOf(command))
    return state.SkipWithError("fmha-compile fails");
  for (auto _ : state)
    state.SetIterationTime(bench::timeOf(command).value_or(0));
  state.counters["peak_MB"] = bench::peakMemoryOf(command).value_or(0) / 1e6;
}

#define FMHA_MEDIAN_OF_TEN                                                     \
  Unit(benchmark::kMillisecond)                                                \
      ->UseManualTime()                                                        \
      ->Iterations(1)                                                          \
      ->Repetitions(10)                                                        \
      ->ReportAggregatesOnly()

BENCHMARK_CAPTURE(textToPtx, sm_100a, "sm_100a")->FMHA_MEDIAN_OF_TEN;
BENCHMARK_CAPTURE(textToPtx, sm_90a, "sm_90a")->FMHA_MEDIAN_OF_TEN;
BENCHMARK(coldCommand)->FMHA_MEDIAN_OF_TEN;

int main(int argc, char **argv) {
  bench::useOneCore();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

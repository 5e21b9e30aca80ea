//===- AttentionSpeed.cpp - The simulator on a real kernel ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp instructions per second of the compiled attention kernel on one core,
// all of it: softmax, TMA copies, tensor core products, barriers. The goal is a
// million per second without checks. The time is that of the launch alone.
//
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"
#include "fmha/Pipeline/Compiler.h"
#include "fmha/Runtime/Attention.h"

#include <benchmark/benchmark.h>

#include <random>

using namespace fmha;
using namespace fmha::runtime;

namespace {

/// One batch of two query heads over one KV head.
class Problem {
public:
  explicit Problem(int64_t length) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    create(tensors.q, {1, length, 2, 128});
    create(tensors.k, {1, length, 1, 128});
    create(tensors.v, {1, length, 1, 128});
    for (std::vector<uint16_t> &buffer : buffers)
      for (uint16_t &bits : buffer)
        bits = toBFloat16(normal(random));
    create(tensors.o, {1, length, 2, 128});
  }
  AttentionTensors tensors;

private:
  void create(Tensor4 &tensor, std::array<int64_t, 4> dims) {
    buffers.emplace_back(dims[0] * dims[1] * dims[2] * dims[3]);
    tensor.host = buffers.back().data();
    tensor.dims = dims;
    tensor.strides = denseStrides(dims, Layout::BSHD);
  }
  std::vector<std::vector<uint16_t>> buffers;
};

/// Compiles the kernel, and skips the benchmark where that fails.
CompileResult compileKernel(schedule::Mask mask) {
  KernelSpec spec;
  spec.problem.headDim = spec.problem.headDimV = 128;
  spec.problem.mask = mask;
  return compile(buildModule(spec), "attention-speed", {});
}

void attention(benchmark::State &state, schedule::Mask mask,
               const char *checks) {
  CompileResult kernel = compileKernel(mask);
  auto manifest = parseManifest(kernel.manifest);
  auto device = Device::open({});
  if (!kernel.ok || !manifest || !device) {
    llvm::consumeError(manifest.takeError());
    llvm::consumeError(device.takeError());
    return state.SkipWithError("no kernel, or no libptxsim.so");
  }
  Problem problem(state.range(0));
  RunOptions options;
  options.checks = checks;
  double before = bench::processMemory("self", "VmRSS:");
  bench::resetPeakMemory();
  uint64_t instructions = 0;
  for (auto _ : state) {
    auto report =
        runAttention(*manifest, kernel.ptx, **device, problem.tensors, options);
    if (!report) {
      llvm::consumeError(report.takeError());
      return state.SkipWithError("the launch fails");
    }
    if (report->status != LaunchReport::Status::Ok)
      return state.SkipWithError("the kernel raised findings");
    state.SetIterationTime(report->seconds);
    instructions += report->warpInstructions.value_or(0);
  }
  state.counters["warp_instructions"] =
      benchmark::Counter(double(instructions), benchmark::Counter::kIsRate);
  state.counters["peak_MB"] = bench::processMemory("self", "VmHWM:") / 1e6;
  state.counters["added_MB"] =
      (bench::processMemory("self", "VmHWM:") - before) / 1e6;
}

#define FMHA_LENGTHS                                                           \
  Arg(512)->Arg(2048)->UseManualTime()->Unit(benchmark::kMillisecond)

BENCHMARK_CAPTURE(attention, full_unchecked, schedule::Mask::None, "none")
    ->FMHA_LENGTHS;
BENCHMARK_CAPTURE(attention, full_checked, schedule::Mask::None, "all")
    ->FMHA_LENGTHS;
BENCHMARK_CAPTURE(attention, causal_unchecked, schedule::Mask::Causal, "none")
    ->FMHA_LENGTHS;
BENCHMARK_CAPTURE(attention, causal_checked, schedule::Mask::Causal, "all")
    ->FMHA_LENGTHS;

} // namespace

int main(int argc, char **argv) {
  bench::useOneCore();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

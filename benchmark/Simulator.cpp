//===- Simulator.cpp - Warp instructions a second ---*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many warp instructions the simulator executes a second on one core, with
// and without its checks. The goal without checks is one million. The loop has
// the mix of a softmax: fused multiply-adds, exp2, maxima, a shared-memory
// round trip and a branch.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <sys/resource.h>

static const char *const loop = R"(
.version 8.8
.target sm_100a
.address_size 64
.visible .entry loop(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<4>;
  .shared .align 16 .b8 buffer[4096];
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [rounds];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, buffer;
  add.u32 %r3, %r3, %r2;
  cvt.rn.f32.u32 %f0, %r1;
  mov.f32 %f1, 0f3F000000;
  mov.f32 %f3, 0f00000000;
again:
  fma.rn.f32 %f2, %f0, %f1, %f1;
  ex2.approx.ftz.f32 %f2, %f2;
  add.f32 %f3, %f3, %f2;
  max.f32 %f4, %f3, %f2;
  fma.rn.f32 %f3, %f4, %f1, %f3;
  st.shared.f32 [%r3], %f3;
  ld.shared.f32 %f5, [%r3];
  mul.f32 %f3, %f5, %f1;
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra again;
  cvt.u64.u32 %rd1, %r2;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f32 [%rd2], %f3;
  ret;
}
)";

template <typename Value> static std::vector<uint8_t> bytesOf(Value value) {
  std::vector<uint8_t> bytes(sizeof(Value));
  std::memcpy(bytes.data(), &value, sizeof(Value));
  return bytes;
}

static void softmaxMix(benchmark::State &state, const char *checks) {
  ptxsim::Module module = ptxsim::Module::parse(loop, "loop.ptx");
  ptxsim::Device device;
  ptxsim::LaunchConfig config;
  config.entry = "loop";
  config.block.x = 256;
  config.parameters = {bytesOf(device.allocate(1024)),
                       bytesOf(uint32_t(state.range(0)))};
  ptxsim::Options options;
  options.checks = {checks};
  uint64_t instructions = 0;
  for (auto _ : state)
    instructions +=
        ptxsim::launch(device, module, config, options).warpInstructions;
  state.SetItemsProcessed(int64_t(instructions));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_bytes"] = double(usage.ru_maxrss) * 1024;
}

BENCHMARK_CAPTURE(softmaxMix, without_checks, "none")
    ->Arg(2000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmaxMix, with_checks, "all")
    ->Arg(2000)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();

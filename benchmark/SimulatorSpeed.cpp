//===- SimulatorSpeed.cpp - Warp instructions per second --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three loops, one core, with and without checks: arithmetic on registers, the
// inner part of a softmax (shared memory, fma, ex2, max), and a copy through
// global memory. The counter is warp instructions per second.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

using namespace ptxsim;

namespace {

const char *const kArithmetic =
    "fma.rn.f32 %f1, %f1, %f2, %f3; add.s32 %r3, %r3, %r4;\n"
    "xor.b32 %r4, %r3, %r1; max.f32 %f3, %f1, %f2;\n"
    "shl.b32 %r5, %r4, 2; mul.f32 %f2, %f2, %f4;\n";

const char *const kSoftmax =
    "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r6];\n"
    "fma.rn.f32 %f1, %f1, %f5, %f6; fma.rn.f32 %f2, %f2, %f5, %f6;\n"
    "max.f32 %f7, %f7, %f1; max.f32 %f7, %f7, %f2;\n"
    "ex2.approx.ftz.f32 %f1, %f1; ex2.approx.ftz.f32 %f2, %f2;\n"
    "add.f32 %f8, %f8, %f1; add.f32 %f8, %f8, %f2;\n"
    "cvt.rn.bf16x2.f32 %r7, %f1, %f2; st.shared.b32 [%r6], %r7;\n";

const char *const kCopy = "ld.global.v4.b32 {%r3, %r4, %r5, %r7}, [%rd1];\n"
                          "st.global.v4.b32 [%rd1], {%r3, %r4, %r5, %r7};\n";

std::string kernel(const char *loop) {
  return std::string(
             ".version 8.8\n.target sm_100a\n.address_size 64\n"
             ".visible .entry k(.param .u64 out)\n{\n"
             ".reg .pred %p<2>; .reg .b32 %r<9>; .reg .f32 %f<9>; "
             ".reg .b64 %rd<3>;\n.shared .align 16 .b8 s[8192];\n"
             "mov.u32 %r1, %tid.x; mov.u32 %r2, 0; ld.param.u64 %rd0, "
             "[out]; mul.wide.u32 %rd1, %r1, 16; add.u64 %rd1, %rd1, "
             "%rd0;\nmov.u32 %r6, s; shl.b32 %r5, %r1, 4; add.u32 %r6, "
             "%r6, %r5;\nmov.u32 %r3, 0; mov.u32 %r4, 1;\n"
             "st.shared.v4.b32 [%r6], {%r3, %r3, %r3, %r3};\n"
             "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 "
             "%f3, 0f00000000; mov.f32 %f4, 0f3F800000; mov.f32 %f5, "
             "0f3F000000; mov.f32 %f6, 0fBF800000; mov.f32 %f7, "
             "0f00000000; mov.f32 %f8, 0f00000000;\nLOOP:\n") +
         loop + loop + loop + loop +
         "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 500; @%p1 bra LOOP;\n"
         "ret;\n}\n";
}

void run(benchmark::State &state, const char *loop, const char *checks) {
  Module module = Module::parse(kernel(loop), "speed.ptx");
  Device device;
  uint64_t out = device.allocate(8192);
  device.fill(out, std::byte{0}, 8192);
  LaunchConfig config;
  config.entry = "k";
  config.block = {512, 1, 1};
  config.parameters = {std::vector<uint8_t>(8)};
  std::memcpy(config.parameters[0].data(), &out, 8);
  Options options;
  options.checks = {checks};
  uint64_t instructions = 0;
  for (auto _ : state) {
    LaunchResult result = launch(device, module, config, options);
    if (result.status != Status::Ok)
      state.SkipWithError("the kernel raised findings");
    instructions += result.warpInstructions;
  }
  state.counters["warp_instructions"] =
      benchmark::Counter(double(instructions), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(run, arithmetic_unchecked, kArithmetic, "none");
BENCHMARK_CAPTURE(run, arithmetic_checked, kArithmetic, "all");
BENCHMARK_CAPTURE(run, softmax_unchecked, kSoftmax, "none");
BENCHMARK_CAPTURE(run, softmax_checked, kSoftmax, "all");
BENCHMARK_CAPTURE(run, copy_unchecked, kCopy, "none");
BENCHMARK_CAPTURE(run, copy_checked, kCopy, "all");

} // namespace

BENCHMARK_MAIN();
